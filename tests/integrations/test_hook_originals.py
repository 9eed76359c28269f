"""What the hook keeps and finds: originals of shortened results, and the last message of a user."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from tersely_agents.memory.store import original_id
from tersely_hook import store
from tersely_hook.request import find_request
from tersely_hook.store import Originals
from tests.integrations.hook_inputs import make_transcript, say


def test_originals_are_private_and_limited(originals: Originals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_BYTES", 1000)
    texts = [f"{at:03d}" * 100 for at in range(9)]
    for at, text in enumerate(texts):
        originals.keep(original_id(text), text)
        os.utime(originals.path / original_id(text), (time.time() - 100 + at,) * 2)
    assert [originals.get(original_id(text)) is not None for text in texts] == [False] * 6 + [True] * 3
    assert originals.measure() == (3, 900)
    assert stat.S_IMODE(originals.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((originals.path / original_id(texts[-1])).stat().st_mode) == 0o600
    old = originals.path / original_id(texts[-1])
    os.utime(old, (time.time() - store.MAX_AGE_S - 10,) * 2)
    Originals(originals.path).keep(original_id("new"), "new")
    assert not old.exists()


def test_an_original_is_written_once(originals: Originals) -> None:
    key = original_id("text")
    originals.keep(key, "text")
    path = originals.path / key
    first = path.stat().st_ino
    os.utime(path, (100, 100))
    originals.keep(key, "text")
    assert path.stat().st_ino == first
    assert path.stat().st_mtime > time.time() - 60
    path.write_text("")  # lost in a crash of the system
    originals.keep(key, "text")
    assert originals.get(key) == "text"


def test_the_command_prints_an_original(
    originals: Originals, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    text = "caf\u00e9 \ud800\r\n\n"
    originals.keep(original_id(text), text)
    monkeypatch.setattr(sys, "argv", ["tersely_original", original_id(text)])
    assert store.main() == 0
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == text.encode("utf-8", "surrogatepass")
    for arguments in ([], ["../../etc/passwd"], ["0" * 12], ["0" * 12, "1"]):
        monkeypatch.setattr(sys, "argv", ["tersely_original", *arguments])
        assert store.main() == 2
    assert capfdbinary.readouterr().err.startswith(b"usage: tersely_original ID")


def test_the_request_is_the_last_message_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 300_000}
    path.write_text(
        make_transcript(
            say("Fix the login."),
            say("Now find the timeout.<system-reminder>Be nice.</system-reminder>"),
            {
                "type": "assistant",
                "message": {"role": "assistant", "content": [{"type": "text", "text": "user"}]},
            },
            {"type": "user", "message": {"role": "user", "content": [result]}},
            say("<command-name>/clear</command-name>"),
            say("From a subagent", isSidechain=True),
            say("Added by the agent", isMeta=True),
        )
        + "not JSON"
    )
    assert find_request(str(path)) == "Now find the timeout."


def test_a_subagent_has_a_request_of_its_own(tmp_path: Path) -> None:
    path, folder = tmp_path / "1d6c.jsonl", tmp_path / "1d6c" / "subagents"
    path.write_text(make_transcript(say("Fix the login.")))
    folder.mkdir(parents=True)
    own = say("Look at the log.", isSidechain=True, agentId="aba2a577fba76e8a0")
    (folder / "agent-aba2a577fba76e8a0.jsonl").write_text(make_transcript(own))
    assert find_request(str(path), "aba2a577fba76e8a0") == "Look at the log."
    for other in ("a0", None, "../x", ""):
        assert find_request(str(path), other) == "Fix the login."


def test_the_request_of_cursor_is_found(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    text = "<user_query>\nFind the timeout.\n</user_query>"
    path.write_text(
        make_transcript({"role": "user", "message": {"content": [{"type": "text", "text": text}]}})
    )
    assert find_request(str(path)) == "Find the timeout."


@pytest.mark.parametrize("path", [None, 7, "", "/nowhere", "/", "\0"])
def test_without_a_transcript_there_is_no_request(path: object) -> None:
    assert find_request(path) == ""
