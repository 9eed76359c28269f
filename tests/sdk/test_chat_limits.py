"""What a hostile server, a proxy or the environment can make the chat client do."""

from __future__ import annotations

import asyncio
import itertools
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from tersely import InvalidInputError, OfflineError
from tersely_agents.chat import ChatError, OpenAIChat, Reply
from tests.loopback import RawServer, Serve, serving
from tests.sdk.chat_cases import ASK, completion

pytest.importorskip("openai")

Call = Callable[[OpenAIChat], Reply]


async def _acall(model: OpenAIChat) -> Reply:
    try:
        return await model.acomplete(ASK)
    finally:
        await model.aclose()


CALLS: list[Call] = [lambda model: model.complete(ASK), lambda model: asyncio.run(_acall(model))]
both = pytest.mark.parametrize("call", CALLS, ids=["complete", "acomplete"])


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as start:
        yield start


@both
def test_a_redirect_carries_no_prompt_and_no_key_elsewhere(serve: Serve, call: Call) -> None:
    target = serve(lambda _: (200, completion()))
    for code in (301, 302, 307, 308):
        server = serve(lambda _, code=code: (code, {}))
        server.location = target.url
        with pytest.raises(ChatError, match="redirects, which is not followed"):
            call(OpenAIChat("small", base_url=server.url, api_key="secret-key", retries=0))
    assert not target.requests


@both
def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    serve: Serve, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(lambda _: (200, completion("from the proxy")))
    server = serve(lambda _: (200, completion()))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert call(OpenAIChat("small", base_url=server.url)).text == "Thursday."
    assert not proxy.requests


def test_an_empty_address_is_not_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="base_url is empty"):
        OpenAIChat("small", base_url="")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    with pytest.raises(InvalidInputError, match="OPENAI_BASE_URL is empty"):
        OpenAIChat("small")


@both
def test_a_client_from_before_offline_mode_is_refused(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    model = OpenAIChat("small", base_url="http://192.0.2.1/v1", timeout_s=1.0)
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    with pytest.raises(OfflineError, match="not this machine"):
        call(model)


@both
@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"]
)
def test_a_slow_trickle_ends_with_the_time_limit(call: Call, start: bytes) -> None:
    server = RawServer(lambda c: (c.sendall(start), server.send_slowly(c, itertools.repeat(b" "), 0.05))[1])
    began = time.monotonic()
    with pytest.raises(ChatError, match=r"did not answer within 0\.5 s"):
        call(OpenAIChat("small", base_url=server.url, timeout_s=0.5, retries=5))
    assert time.monotonic() - began < 4.0
    server.stop()
    assert server.requests == 1


@both
def test_an_endless_answer_ends_with_the_size_limit(call: Call) -> None:
    def send(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1500000000\r\n\r\n")
        while not server.stopped.is_set():
            connection.sendall(bytes(65536))

    server = RawServer(send)
    with pytest.raises(ChatError, match="more than 8388608 bytes"):
        call(OpenAIChat("small", base_url=server.url))
    server.stop()


@both
def test_deep_json_is_a_malformed_reply(serve: Serve, call: Call) -> None:
    server = serve(lambda _: (200, b"[" * 100_000))
    with pytest.raises(ChatError, match="not a chat completion"):
        call(OpenAIChat("small", base_url=server.url))


@both
def test_a_server_cannot_ask_for_a_long_pause(serve: Serve, call: Call) -> None:
    busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"
    server = RawServer(lambda connection: connection.sendall(busy))
    began = time.monotonic()
    with pytest.raises(ChatError, match="HTTP 503"):
        call(OpenAIChat("small", base_url=server.url, timeout_s=5.0))
    assert time.monotonic() - began < 4.0
    server.stop()


@both
def test_passwords_are_never_printed_but_sent(serve: Serve, call: Call) -> None:
    server = serve(lambda _: (400, {"error": {"message": "the key secret-key is wrong"}}))
    url = server.url.replace("http://", "http://user:hunter2@")
    with pytest.raises(ChatError, match=r"the key \[key\] is wrong") as failure:
        call(OpenAIChat("small", base_url=url, api_key="secret-key"))
    assert "hunter2" not in str(failure.value)
    assert server.requests[0][1] == "Basic dXNlcjpodW50ZXIy"
    down = OpenAIChat("small", base_url="http://user:hunter2@127.0.0.1:9/v1", retries=0)
    with pytest.raises(ChatError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
        call(down)


def test_a_key_with_a_line_break_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidInputError, match="line break") as refusal:
        OpenAIChat("small", base_url="http://127.0.0.1:9", api_key="secret\nX: y")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"retries": -1}], ids=str)
def test_unusable_limits_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        OpenAIChat("small", base_url="http://127.0.0.1:9", **options)


def test_a_request_that_is_not_json_is_an_error(serve: Serve) -> None:
    model = OpenAIChat("small", base_url=serve(lambda _: (200, completion())).url)
    request = [{"role": "user", "content": object()}]
    for call in (model.complete, lambda messages: asyncio.run(model.acomplete(messages))):
        with pytest.raises(ChatError, match="cannot be sent"):
            call(request)


def test_lone_surrogates_are_replaced(serve: Serve) -> None:
    server = serve(lambda _: (200, completion("a\ud800b")))
    assert OpenAIChat("small", base_url=server.url).complete(ASK).text == "a�b"
