"""The offline switch allows some addresses to some clients."""

from __future__ import annotations

import pytest

from tersely import InvalidInputError, OfflineError
from tersely.runtime.offline import check_address, client_settings, hide_credentials

LOCAL = [
    "http://localhost",
    "http://LOCALHOST:8000/v1",
    "http://127.0.0.1:8000/v1",
    "https://127.8.9.10/",
    "http://[::1]:8000/v1",
    "http://user:secret@127.0.0.1/v1",
]
ELSEWHERE = [
    "http://localhost.evil.example/", "http://127.0.0.1.evil.example/", "http://localhost./",
    "http://127.0.0.1./", "http://127.0.0.1@evil.example/", "http://127.0.0.1:80@evil.example/",
    "http://localhost%2eevil.example@evil.example/", "http://2130706433/", "http://0x7f000001/",
    "http://0177.0.0.1/", "http://127.1/", "http://0.0.0.0/", "http://0/", "http://[::]/",
    "http://[::ffff:10.0.0.1]/", "http://10.0.0.1/", "http://169.254.169.254/", "http://１２７.0.0.1/",
    "http://127。0。0。1/", "http://ⓛocalhost/",
]  # fmt: skip
MALFORMED = [
    "", " ", "127.0.0.1:8000", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http:///x",
    "http://127.0.0.1\\@evil.example/", "http://evil.example\\@127.0.0.1/",
    "http://a@127.0.0.1@evil.example/", "http://127.0.0.1\t.evil.example/",
    "http://127.0.0.1\r\nHost: evil.example/", " http://127.0.0.1/", "http://127.0.0.1:port/",
    "http://127.0.0.1:99999/", "http://[::1/", "http://::1/", "http://[::1]evil.example/",
    "http://127.0.0.1%00.evil.example/",
]  # fmt: skip


@pytest.mark.parametrize("url", LOCAL)
def test_this_machine_is_reached_offline_and_without_proxies(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not client_settings(check_address(url))["trust_env"]
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    assert check_address(url).is_local


@pytest.mark.parametrize("url", ELSEWHERE)
def test_addresses_elsewhere_are_refused_offline(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    with pytest.raises((OfflineError, InvalidInputError)):
        check_address(url)


@pytest.mark.parametrize("url", MALFORMED, ids=repr)
def test_ambiguous_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match="not an HTTP address"):
        check_address(url)


def test_user_password_and_query_are_not_shown() -> None:
    address = check_address("http://user:p%40ss@127.0.0.1:8000/v1?key=abc#x")
    assert (address.url, address.shown) == ("http://127.0.0.1:8000/v1?key=abc", "http://127.0.0.1:8000/v1")
    assert address.authorization == "Basic dXNlcjpwQHNz"
    for url in (
        "user:secret@host",
        "http:/user:secret@host",
        "http://a:secret@b:x/?k=secret",
        "x\n:secret@h",
    ):
        assert "secret" not in str(hide_credentials(url))
        with pytest.raises(InvalidInputError) as refusal:
            check_address(url)
        assert "secret" not in str(refusal.value)
