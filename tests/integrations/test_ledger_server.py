"""The ledger of `tersely serve`, and of the hook with its daemon."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx2

from tersely import Compressor
from tersely_ledger import Entry, Ledger, LedgerSettings
from tersely_ledger.store import SHADOW, SHORTENED
from tersely_server import ServerSettings, build_app
from tests.integrations.samples import HARBOUR, MUSEUM
from tests.integrations.test_gateway import CHAT, PAGE
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app, serve_command

QUESTION = "When is the museum free?"


@pytest.fixture(params=[False, True], ids=["plain", "shadow"])
def server(request: pytest.FixtureRequest, file: Path) -> Iterator[tuple[str, bool]]:
    settings = ServerSettings(ledger=LedgerSettings(path=file, shadow=request.param))
    with serve_app(build_app(Compressor(FakeScorer()), settings)) as url:
        yield url, request.param


def read(file: Path) -> list[Entry]:
    return Ledger(file).read()


def test_compressions_are_recorded(server: tuple[str, bool], file: Path) -> None:
    url, is_shadow = server
    body: dict[str, Any] = {"query": QUESTION, "documents": [MUSEUM, HARBOUR]}
    reply = httpx2.post(f"{url}/v1/compress", json={**body, "budget": 20}, timeout=60)
    lines = httpx2.post(f"{url}/v1/compress/batch", json={"requests": [body], "budget": 20}, timeout=60)
    texts = [document["text"] for document in reply.json()["documents"]]
    assert json.loads(lines.text)["text"] == reply.json()["text"]
    assert reply.headers.get("x-tersely-status") == (SHADOW if is_shadow else None)
    assert (texts == [MUSEUM.strip(), HARBOUR.strip()]) == is_shadow
    for entry in read(file):
        assert (entry.source, entry.arm) == ("server", SHADOW if is_shadow else SHORTENED)
        assert entry.tokens_after <= 20 < entry.tokens_before


def test_messages_are_recorded(server: tuple[str, bool], file: Path) -> None:
    url, is_shadow = server
    reply = httpx2.post(f"{url}/v1/compress", json={"messages": CHAT, "model": "m"}, timeout=60)
    other = httpx2.post(f"{url}/v1/messages/compress", json={"messages": CHAT, "budget": 400}, timeout=60)
    for answer in (reply, other):
        assert (answer.json()["messages"] == CHAT) == is_shadow
        assert answer.headers.get("x-tersely-status") == (SHADOW if is_shadow else None)
    assert reply.json()["ccr_hashes"] == [] or not is_shadow
    first, second = read(file)
    assert list(first.tools) == ["search"]
    assert first.tokens_after <= 1000 < first.tokens_before
    assert list(second.tools) == ["documents"]
    assert second.tokens_after <= 400 < second.tokens_before
    assert PAGE[:60].encode() not in file.read_bytes()


def test_the_command_starts_in_shadow(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    with serve_command("serve", "--shadow", env=env) as command:
        reply = httpx2.post(
            f"{command.url}/v1/compress",
            json={"query": QUESTION, "documents": [MUSEUM], "budget": 20},
            timeout=60,
        )
    assert reply.headers["x-tersely-status"] == SHADOW
    assert reply.json()["text"] == MUSEUM.strip()
    assert [entry.arm for entry in read(tmp_path / "tersely" / "ledger.db")] == [SHADOW]
