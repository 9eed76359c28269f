"""Answers of the hook for coding agents: shapes, queries, and what stays whole."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tersely_hook import store
from tersely_hook.answers import MATCHER, Json
from tersely_hook.daemon import make_reply
from tersely_hook.shortening import KEEP, TextShortener
from tersely_hook.store import Originals
from tests.integrations.hook_inputs import (
    LOG,
    NAMES,
    OUTPUTS,
    PERSISTED,
    PROSE,
    REQUEST,
    UNCHANGED_FILE,
    cut_texts,
    make_cursor_input,
    make_failure,
    make_input,
    make_transcript,
    say,
)

HEAD = re.compile(r"\[(?:shortened from )?\d+ tokens[^\]]*; id of the original: ([0-9a-f]{12})\]")
RANDOM_INPUTS = 1_500


def ask(shortener: TextShortener, payload: Any) -> Json:
    return json.loads(make_reply(json.dumps(payload).encode(), shortener))


def find_changes(old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts that differ; assert that nothing else does. The names of files are one text."""
    assert type(old) is type(new)
    if isinstance(old, dict):
        assert list(old) == list(new)
        for key in old:
            if key == "filenames" and old[key] != new[key]:
                assert all(isinstance(name, str) for name in new[key])
                yield "\n".join(old[key]), "\n".join(new[key])
            else:
                yield from find_changes(old[key], new[key])
    elif isinstance(old, list):
        assert len(old) == len(new)
        for one, other in zip(old, new, strict=True):
            yield from find_changes(one, other)
    elif isinstance(old, str):
        if old != new:
            yield old, new
    else:
        assert old == new


def check_texts(changes: list[tuple[str, str]], originals: Originals) -> None:
    for old, new in changes:
        head = HEAD.match(new)
        assert head is not None, new[:100]
        assert originals.get(head[1]) == old
        assert new.endswith(f"{head[1]} prints the whole text]")
        assert len(new) < len(old)


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_replaced_output_has_the_shape_of_the_tool(
    name: str, shortener: TextShortener, originals: Originals, tmp_path: Path
) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text(make_transcript(say(REQUEST)))
    payload = make_input(name, transcript_path=str(path))
    reply = ask(shortener, payload)
    assert list(reply) == ["hookSpecificOutput"]
    assert list(reply["hookSpecificOutput"]) == ["hookEventName", "updatedToolOutput"]
    assert reply["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    new = reply["hookSpecificOutput"]["updatedToolOutput"]
    changes = list(find_changes(payload["tool_response"], new))
    assert changes
    check_texts(changes, originals)
    assert all(shortener.count(text) <= KEEP + 80 for _, text in changes)
    if any(old == LOG for old, _ in changes):
        assert "login request timed out after 30 s" in json.dumps(new)


@pytest.mark.parametrize("name", ["WebFetch", "WebSearch"])
def test_the_input_of_the_tool_is_part_of_the_query(name: str, shortener: TextShortener) -> None:
    assert "the lock of table 17." in json.dumps(ask(shortener, make_input(name)))


@pytest.mark.parametrize("name", OUTPUTS)
def test_short_outputs_stay(name: str, shortener: TextShortener) -> None:
    short = cut_texts(OUTPUTS[name][2])
    assert ask(shortener, make_input(name, tool_response=short)) == {}


@pytest.mark.parametrize("tool", ["Edit", "Write", "MultiEdit", "NotebookEdit", "Task", "TodoWrite", "Skill"])
def test_other_tools_are_left_alone(tool: str, shortener: TextShortener) -> None:
    assert re.fullmatch(MATCHER, tool) is None
    for name in OUTPUTS:
        assert ask(shortener, make_input(name, tool_name=tool)) == {}


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("Bash", OUTPUTS["Bash"][2] | {"isImage": True}),
        ("Bash", PERSISTED),
        ("Grep, lines", OUTPUTS["Grep, lines"][2] | {"content": LOG + LOG}),
        ("Grep, files", OUTPUTS["Grep, files"][2] | {"filenames": NAMES + NAMES}),
        ("Read", UNCHANGED_FILE),
    ],
)
def test_images_and_outputs_in_files_stay(name: str, response: Json, shortener: TextShortener) -> None:
    assert ask(shortener, make_input(name, tool_response=response)) == {}


def test_codex_rejects_replies_so_there_are_none(shortener: TextShortener) -> None:
    for name in OUTPUTS:
        assert ask(shortener, make_input(name, turn_id="01a217d8-86f1-70a0-a467-ea93da173bcc")) == {}


def test_failures_stay(shortener: TextShortener) -> None:
    assert ask(shortener, make_failure()) == {}


def test_marks_are_not_counted_as_files(shortener: TextShortener) -> None:
    reply = ask(shortener, make_input("Glob"))
    names = reply["hookSpecificOutput"]["updatedToolOutput"]["filenames"]
    assert len(set(NAMES).intersection("\n".join(names).split("\n"))) == len(names)
    assert names[0].startswith("[shortened from ")
    assert names[-1].endswith("prints the whole text]")


def test_structured_replies_of_mcp_tools_stay(shortener: TextShortener) -> None:
    response = {"content": [{"type": "text", "text": PROSE}], "structuredContent": {"result": PROSE}}
    assert ask(shortener, make_input("MCP, object", tool_response=response)) == {}


@pytest.mark.parametrize(
    ("changes", "request_text"),
    [
        ({"file_path": "/home/dev/app/worker.py"}, ""),
        ({"file_path": "/home/dev/notes.md"}, ""),
        ({"file_path": "/home/dev/app/worker.log", "offset": 1}, ""),
        ({"file_path": "/home/dev/app/worker.log", "limit": 2000}, ""),
        ({"file_path": "/home/dev/app/worker.log"}, "Remove the errors from worker.log"),
    ],
)
def test_a_file_that_may_be_edited_stays(
    changes: Json, request_text: str, shortener: TextShortener, tmp_path: Path
) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text(make_transcript(say(request_text)))
    assert ask(shortener, make_input("Read", tool_input=changes, transcript_path=str(path))) == {}


@pytest.mark.parametrize("path", ["/home/dev/app/node_modules/x/index.js", "/usr/lib/site-packages/x.py"])
def test_installed_files_are_shortened(path: str, shortener: TextShortener) -> None:
    assert ask(shortener, make_input("Read", tool_input={"file_path": path})) != {}


@pytest.mark.parametrize(
    "command",
    [
        "cat app.py",
        "cd /x && sed -n 1,900p app.py",
        "head -n 900 'app.py' | nl",
        "cat *.py",
        "cat app.log # log\ncat app.py",
    ],
)
def test_commands_that_print_such_a_file_stay(command: str, shortener: TextShortener, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("pass")
    (tmp_path / "app.log").write_text("pass")
    payload = make_input("Bash", tool_input={"command": command}, cwd=str(tmp_path))
    assert ask(shortener, payload) == {}
    payload["tool_input"]["command"] = "cat app.log # which worker failed, and why?"
    assert ask(shortener, payload) != {}


def test_mcp_tools_that_read_such_a_file_stay(shortener: TextShortener, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("pass")
    path = str(tmp_path / "app.py")
    for given in (
        {"path": path},
        {"paths": ["x", path]},
        {"uri": f"file://{path}"},
        {"files": [{"path": path}]},
    ):
        assert ask(shortener, make_input("MCP, text", tool_input=given)) == {}


@pytest.mark.parametrize("tool", ["mcp__files__read_file", "mcp__github__get_file_contents", "mcp__x__view"])
def test_mcp_tools_that_read_files_elsewhere_stay(tool: str, shortener: TextShortener) -> None:
    payload = make_input("MCP, text", tool_name=tool, tool_input={"path": "app.py", "repo": "x"})
    assert ask(shortener, payload) == {}
    payload["tool_input"] = {"path": "app.log", "repo": "x"}
    assert ask(shortener, payload) != {}


def test_a_star_in_a_query_is_no_pattern_of_files(shortener: TextShortener) -> None:
    for given, is_short in (("SELECT * FROM orders", True), ("src/*.py", False)):
        answer = ask(shortener, make_input("MCP, text", tool_input={"query": given}))
        assert (answer != {}) is is_short


def test_an_original_that_was_asked_for_stays(shortener: TextShortener) -> None:
    for command in ("tersely_original 0123456789ab", f"cat {store.originals_folder()}/0123456789ab"):
        assert ask(shortener, make_input("Bash", tool_input={"command": command})) == {}
    path = str(store.originals_folder() / "0123456789ab")
    assert ask(shortener, make_input("Read", tool_input={"file_path": path})) == {}


def test_cursor_gets_the_replies_of_mcp_tools(shortener: TextShortener, originals: Originals) -> None:
    output = {"content": [{"type": "text", "text": PROSE}]}
    reply = ask(shortener, make_cursor_input("MCP:search", output))
    assert list(reply) == ["updated_mcp_tool_output"]
    check_texts(list(find_changes(output, reply["updated_mcp_tool_output"])), originals)


@pytest.mark.parametrize("tool", ["Shell", "Read", "Grep", "Write"])
def test_cursor_ignores_other_replies_so_there_are_none(tool: str, shortener: TextShortener) -> None:
    assert ask(shortener, make_cursor_input(tool, {"output": LOG, "exitCode": 0})) == {}


def test_an_original_that_cannot_be_kept_is_not_shortened(
    shortener: TextShortener, originals: Originals, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Originals, "keep", fail)
    assert ask(shortener, make_input("Bash")) == {}


def draw_value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(8 if depth < 3 else 6)
    if kind == 6:
        return [draw_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind == 7:
        keys = ["content", "text", "type", "file", "stdout", "filenames", "results", "x\ud800"]
        return {draw.choice(keys): draw_value(draw, depth + 1) for _ in range(draw.randrange(4))}
    texts = ["", "text", "\ud800\0", "caf\u00e9 " * 50, "[shortened from 1 tokens]"]
    return [None, True, draw.randint(-9, 9), 0.5, draw.choice(texts), draw.choice(texts)][kind]


def change_value(draw: random.Random, value: Any) -> Any:
    """Return the value with one of the values in it changed, left out or added."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        action = draw.randrange(4)
        if action == 0:
            return {name: inner for name, inner in value.items() if name != key}
        if action == 1:
            return {**value, "added": draw_value(draw)}
        return {**value, key: change_value(draw, value[key])}
    if isinstance(value, list) and value and draw.random() < 0.9:
        at = draw.randrange(len(value))
        return [*value[:at], change_value(draw, value[at]), *value[at + 1 :]]
    return draw_value(draw)


def draw_input(draw: random.Random) -> bytes:
    payload: Any = make_input(draw.choice(list(OUTPUTS)))
    if draw.random() < 0.97:  # long outputs take most of the time
        payload = cut_texts(payload)
    for _ in range(draw.randrange(4)):
        payload = change_value(draw, payload)
    content = json.dumps(payload).encode()
    if draw.random() < 0.05:
        at = draw.randrange(len(content) + 1)
        return draw.choice([content[:at], content[:at] + b"\xff\x00" + content[at:], b"[" * 50_000, b""])
    return content


@pytest.mark.slow
def test_no_random_input_gets_a_malformed_answer(shortener: TextShortener, originals: Originals) -> None:
    draw = random.Random(41)
    replaced = 0
    for _ in range(RANDOM_INPUTS):
        request = draw_input(draw)
        reply = make_reply(request, shortener)
        assert reply.endswith(b"\n")
        assert reply.count(b"\n") == 1
        answer = json.loads(reply)
        if answer == {}:
            continue
        payload = json.loads(request)
        assert re.fullmatch(MATCHER, payload["tool_name"])
        new = answer["hookSpecificOutput"]["updatedToolOutput"]
        changes = list(find_changes(payload["tool_response"], new))
        assert changes
        check_texts(changes, originals)
        replaced += 1
    assert replaced > 15
