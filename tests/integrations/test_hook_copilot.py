"""The hook in GitHub Copilot CLI. Its inputs are as version 1.0.102 sends them, with made-up texts."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tersely.cli import main
from tersely_hook import copilot, settings
from tersely_hook.answers import Json
from tersely_hook.daemon import make_reply
from tersely_hook.records import make_record
from tersely_hook.shortening import KEEP, TextShortener
from tersely_hook.store import Originals
from tersely_ledger import Ledger
from tests.integrations.hook_inputs import MATCHES, NAMES, PROSE

SESSION = "2ec4213b-211c-4824-9943-3fbe8956df0c"
SUBAGENT = "dfc16d84-b351-4546-b91f-2f23d9cf9fa2"
STATUS = "\n<shellId: 0 completed with exit code 0>"
STORED = (
    "Output too large to read at once (20.2 KB). Saved to: /tmp/copilot-tool-output.txt\n"
    "Consider using tools like grep (for searching), head/tail (for viewing start/end), view with view_range "
    "(for specific sections), or jq (for JSON) to examine portions of the output.\n\n"
    f"Preview (first 500 chars):\n{MATCHES[:500]}{STATUS}"
)
CALLS: dict[str, tuple[Json, str]] = {
    "bash": ({"command": "python3 show.py", "description": "Print the log"}, MATCHES + STATUS),
    "powershell": ({"command": "Show-Log", "description": "Print the log"}, MATCHES + STATUS),
    "view": ({"path": "/home/dev/app/worker.log"}, MATCHES),
    "grep": (
        {"pattern": "lock", "paths": "/home/dev/app", "output_mode": "content"},
        f"[grep content: 300 matches across 1 file(s) under /home/dev/app]\n\n{PROSE}",
    ),
    "glob": (
        {"pattern": "**/*.py", "path": "/home/dev/app"},
        "\n".join(
            ["[glob: 300 path(s) under /home/dev/app; concrete paths]", *NAMES, "[extensions: .py=300]"]
        ),
    ),
    "docs-search": ({"query": "worker"}, PROSE),
}
"""The tool's arguments and the text of its result, by the tool's name."""


def make_input(tool: str, text: str | None = None, **fields: Any) -> Json:
    arguments, usual = copy.deepcopy(CALLS[tool])
    return {
        "sessionId": SESSION,
        "timestamp": 1795706830643,
        "cwd": "/home/dev/app",
        "toolName": tool,
        "toolArgs": arguments,
        "toolResult": {"resultType": "success", "textResultForLlm": usual if text is None else text},
    } | fields


def ask(shortener: TextShortener, payload: Json) -> Json:
    return json.loads(make_reply(json.dumps(payload).encode(), shortener))


def say(text: str, **fields: Any) -> str:
    """Return the event of a user's message."""
    return json.dumps({"type": "user.message", "data": {"content": text}, **fields}) + "\n"


def write_events(*events: str) -> None:
    path = copilot.home() / "session-state" / SESSION / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(events) + '{"type": "hook.start"}\n"user.message"\n')


@pytest.mark.parametrize("tool", CALLS)
def test_a_result_of_copilot_is_replaced_in_its_shape(
    tool: str, shortener: TextShortener, originals: Originals
) -> None:
    assert re.fullmatch(copilot.MATCHER, tool)
    payload = make_input(tool)
    payload["toolResult"]["sessionLog"] = "kept"
    reply = ask(shortener, payload)
    assert list(reply) == ["modifiedResult"]
    new = reply["modifiedResult"]
    text = payload["toolResult"]["textResultForLlm"]
    assert new == payload["toolResult"] | {"textResultForLlm": new["textResultForLlm"]}
    status = STATUS if tool in ("bash", "powershell") else ""
    body = new["textResultForLlm"].removesuffix(status)
    key = re.search(r"id of the original: ([0-9a-f]{12})\]", body)
    assert key is not None
    assert originals.get(key[1]) == text.removesuffix(status)
    assert body.endswith(f"{key[1]} prints the whole text]")
    assert "offset" not in body
    assert shortener.count(body) <= KEEP + 80


@pytest.mark.parametrize("tool", ["task", "read_bash", "edit", "create", "sql", "skill", "web_fetch"])
def test_other_tools_are_left_alone(tool: str, shortener: TextShortener) -> None:
    assert re.fullmatch(copilot.MATCHER, tool) is None
    assert ask(shortener, make_input("bash", toolName=tool)) == {}


@pytest.mark.parametrize("result", [None, "text", {"resultType": "success", "textResultForLlm": None}])
def test_unknown_shapes_stay(result: Any, shortener: TextShortener) -> None:
    assert ask(shortener, make_input("bash", toolResult=result)) == {}
    for name in ("toolName", "toolArgs", "sessionId", "agentId"):
        assert ask(shortener, make_input("bash", "short", **{name: result})) == {}


def test_failures_and_results_in_files_stay(shortener: TextShortener) -> None:
    failure = {"resultType": "failure", "textResultForLlm": PROSE}
    assert ask(shortener, make_input("bash", toolResult=failure)) == {}
    assert ask(shortener, make_input("bash", STORED)) == {}


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/home/dev/app/worker.py"},
        {"path": "/home/dev/app/worker.log", "view_range": [1, 350]},
        {"path": "/home/dev/app/worker.log", "forceReadLargeFiles": True},
    ],
)
def test_files_that_may_be_edited_and_parts_of_files_stay(arguments: Json, shortener: TextShortener) -> None:
    assert ask(shortener, make_input("view", toolArgs=arguments)) == {}
    assert ask(shortener, make_input("bash", toolArgs={"command": "cat worker.py"})) == {}


def test_files_that_the_user_names_stay(shortener: TextShortener) -> None:
    write_events(say("Look at the log."), say("Remove the errors from worker.log"))
    assert ask(shortener, make_input("view")) == {}


def test_an_original_that_was_asked_for_stays(shortener: TextShortener) -> None:
    command = {"command": "tersely_original 0123456789ab"}
    assert ask(shortener, make_input("bash", toolArgs=command)) == {}


def test_the_request_is_that_of_the_session_or_of_the_subagent(
    originals: Originals, shortener: TextShortener
) -> None:
    write_events(
        say("Fix the login."),
        say("What may wait for table 17?"),
        say("What may wait for table 230?", agentId=SUBAGENT),
    )
    own = {"sessionId": SUBAGENT, "agentId": SUBAGENT, "parentAgentId": SESSION}
    assert copilot.find_request({"sessionId": SESSION}) == "What may wait for table 17?"
    assert copilot.find_request(own) == "What may wait for table 230?"
    for session in (None, 7, "", "other", f"../session-state/{SESSION}"):
        assert copilot.find_request({"sessionId": session}) == ""
    for fields, table in (({}, 17), (own, 230)):
        reply = ask(shortener, make_input("docs-search", **fields))
        assert f"the lock of table {table}." in reply["modifiedResult"]["textResultForLlm"]


def test_what_was_shortened_is_recorded(shortener: TextShortener, tmp_path: Path) -> None:
    request = json.dumps(make_input("bash")).encode()
    short = shortener.shorten(MATCHES, None)
    assert short is not None
    record = make_record(Ledger(tmp_path / "ledger.db"), "", request, [short])
    assert record is not None
    assert record.entry.tools["Bash"] == (1, short.tokens_before, short.tokens_after)
    assert record.entry.conversation is not None


def test_the_hook_is_a_file_of_its_own(originals: Originals, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hook", "install", "copilot"]) == 0
    printed = capsys.readouterr().out
    assert "at most 20 KB" in printed
    assert "--allow-tool 'shell(tersely_original:*)'" in printed
    path = copilot.home() / "hooks" / "tersely.json"
    assert json.loads(path.read_text()) == {
        "version": 1,
        "hooks": {
            "postToolUse": [
                {
                    "type": "command",
                    "command": settings.hook_command(),
                    "matcher": copilot.MATCHER,
                    "timeout": settings.TIMEOUT_S,
                }
            ]
        },
    }
