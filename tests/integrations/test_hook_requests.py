"""The user's last message, as the hook finds it in transcripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tersely_hook.request import find_request
from tests.integrations.hook_inputs import make_transcript, say


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
