"""The ledger of the hook, whose daemon serves a real socket here."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("needs Unix sockets", allow_module_level=True)

from tersely_hook.client import SWITCH, UNCHANGED, folder, read_mode
from tersely_hook.daemon import _Server
from tersely_hook.records import read_spent
from tersely_ledger import Entry, Ledger, Usage, default_path
from tersely_ledger.store import HELD_OUT, SHADOW, SHORTENED
from tests.integrations.hook_inputs import LOG, make_input


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve the hook's socket from this process."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    monkeypatch.delenv(SWITCH, raising=False)
    Path(folder()).mkdir(parents=True, mode=0o700)
    with _Server(f"{folder()}/socket") as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield
        running.shutdown()
        thread.join()


def call(tool: str = "Bash", **fields: Any) -> bytes:
    request = json.dumps({**make_input(tool), **fields}).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{folder()}/socket")
        connection.sendall(read_mode() + request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 20), b""))


def read(count: int) -> list[Entry]:
    """Return the entries. They are written after the answer."""
    ledger = Ledger(default_path())
    while len(entries := ledger.read()) < count:
        pass
    ledger.close()
    assert len(entries) == count
    return entries


def write_transcript(path: Path, *calls: tuple[str, int]) -> None:
    """Write a session's messages, given by their ids and the tokens that their answers have in the end."""
    with path.open("a", encoding="utf-8") as file:
        for key, output in calls:
            for tokens in (1, output):  # a line for each part, the first before the answer is complete
                usage = {
                    "input_tokens": 5,
                    "cache_read_input_tokens": 1000,
                    "cache_creation_input_tokens": 50,
                }
                message = {"id": key, "model": "claude-x", "usage": {**usage, "output_tokens": tokens}}
                file.write(json.dumps({"type": "assistant", "message": message}) + "\n")
        file.write(json.dumps({"type": "user", "message": {"role": "user", "content": '"usage"'}}) + "\n")


def test_a_shortened_output_is_recorded(server: None) -> None:
    assert call() != UNCHANGED
    (entry,) = read(1)
    assert (entry.source, entry.arm, entry.share, entry.usage) == ("hook", SHORTENED, 0.0, None)
    count, before, after = entry.tools["Bash"]
    assert count == 1
    assert after < 2500 < before
    assert LOG[:40].encode() not in default_path().read_bytes()


def test_a_shadow_leaves_the_output(server: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "shadow")
    assert call() == UNCHANGED
    (entry,) = read(1)
    assert entry.arm == SHADOW
    assert entry.tokens_after < entry.tokens_before


@pytest.mark.parametrize(("share", "arm"), [("1", HELD_OUT), ("1e-9", SHORTENED)])
def test_sessions_are_held_out_and_their_usage_is_read(
    server: None, share: str, arm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SWITCH, f"holdout={share}")
    transcript = tmp_path / "t.jsonl"
    fields = {"session_id": "s", "transcript_path": str(transcript)}
    write_transcript(transcript, ("m1", 10))
    assert (call(**fields) == UNCHANGED) == (arm == HELD_OUT)
    read(1)
    write_transcript(transcript, ("m2", 20), ("m3", 30))
    call(**fields)
    one, two = read(2)
    assert one.conversation == two.conversation
    assert one.arm == two.arm == arm
    assert (one.usage, two.usage) == (Usage(5, 1000, 50, 10), Usage(10, 2000, 100, 50))
    assert two.model == "claude-x"


def test_calls_of_one_turn_are_counted_once(
    server: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SWITCH, "holdout=0.1")
    transcript = tmp_path / "t.jsonl"
    write_transcript(transcript, ("m1", 10))
    fields = {"session_id": "s", "transcript_path": str(transcript)}
    threads = [threading.Thread(target=call, kwargs=fields) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    usages = [entry.usage for entry in read(6)]
    assert sorted(usage.output for usage in usages if usage) == [0] * 5 + [10]


@pytest.mark.parametrize("mode", ["holdout=many", "holdout=7"])
def test_a_senseless_share_holds_nothing_out(
    server: None, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, mode)
    assert call() != UNCHANGED


def test_a_transcript_without_usage_is_free(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('{"message": {"id": 3, "usage": 4}}\n{"usage"\n[1, "usage"]\n')
    assert read_spent(str(tmp_path / "t")) == (Usage(0, 0, 0, 0), None)
