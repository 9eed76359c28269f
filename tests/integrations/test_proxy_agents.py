"""Requests as coding agents send them, with other texts: queries, conversations and printed files."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("prometheus_client")

from tersely import Compressor
from tersely_proxy.formats import READERS, Block, find_first_words
from tersely_server.gateway import Gateway
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION, make_page
from tests.sdk.fakes import FakeScorer

REMINDER = "<system-reminder>\nYou can use the following context:\n# currentDate\n</system-reminder>\n\n"
ENVIRONMENT = "<environment_context>\n  <cwd>/app</cwd>\n  <shell>bash</shell>\n</environment_context>"
SESSION = "<session_context>\nThis is the Gemini CLI.\n</session_context>"
RULES = "# AGENTS.md instructions for /app\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"


def claude(command: str) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "A result."}
    question = [{"type": "text", "text": REMINDER}, {"type": "text", "text": KEY_QUESTION}]
    return {
        "messages": [
            {"role": "user", "content": question},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result, {"type": "text", "text": REMINDER}]},
        ]
    }


def codex(command: str) -> dict[str, Any]:
    code = f"const r = await tools.exec_command({json.dumps({'cmd': command})});\ntext(r.output ?? r);"
    users = [RULES, ENVIRONMENT, KEY_QUESTION]
    return {
        "prompt_cache_key": "key-1",
        "input": [
            *({"role": "user", "content": [{"type": "input_text", "text": text}]} for text in users),
            {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "input": code},
            {
                "type": "custom_tool_call_output",
                "call_id": "c1",
                "output": [{"type": "input_text", "text": "A result."}],
            },
        ],
    }


def codex_shell(command: str) -> dict[str, Any]:
    body = codex(command)
    arguments = json.dumps({"command": ["bash", "-lc", command]})
    body["input"][3] = {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": arguments}
    body["input"][4] = {"type": "function_call_output", "call_id": "c1", "output": "A result."}
    return body


def gemini(command: str) -> dict[str, Any]:
    response = {"name": "run_shell_command", "id": "f1", "response": {"output": "A result."}}
    call = {"name": "run_shell_command", "id": "f1", "args": {"command": command}}
    return {
        "contents": [
            {"role": "user", "parts": [{"text": SESSION}]},
            {"role": "user", "parts": [{"text": KEY_QUESTION}]},
            {"role": "model", "parts": [{"functionCall": call}]},
            {"role": "user", "parts": [{"functionResponse": response}, {"text": SESSION}]},
        ]
    }


def copilot(command: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    text = f"<current_datetime>2026-11-26T12:40:33</current_datetime>\n\n{KEY_QUESTION}"
    return {
        "messages": [
            {"role": "user", "content": text},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": "A result."},
        ]
    }


AGENTS = {
    "Claude Code": ("/messages", claude),
    "Codex": ("/responses", codex),
    "older Codex": ("/responses", codex_shell),
    "Gemini CLI": (":generateContent", gemini),
    "Copilot": ("/chat/completions", copilot),
}


def read(agent: str, command: str) -> list[Block]:
    end, make_body = AGENTS[agent]
    return list(READERS[end](make_body(command)))


@pytest.mark.parametrize("agent", AGENTS)
def test_the_query_has_only_the_user_s_words(agent: str) -> None:
    (block,) = read(agent, "python3 run.py")
    assert (block.query or "").endswith(f" {KEY_QUESTION}")
    assert "context" not in (block.query or "")
    assert "python3 run.py" in (block.query or "")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_printed_file_stays_whole_if_it_may_be_edited(agent: str) -> None:
    for command in (
        "cat big.py",
        "tersely_original 0123456789ab",
        "cd src && sed -n '1,400p' big.py",
        "nl -ba big.py | head -n 90",
    ):
        assert read(agent, command) == []
    for command in ("cat worker.log", "python3 big.py | tail -n 90", "git log -p big.py"):
        assert len(read(agent, command)) == 1


def test_a_file_in_a_call_of_javascript_stays_whole() -> None:
    body = codex("")
    for code in ("tools.exec_command({cmd: 'cat big.py'})", 'tools.exec_command({"cmd": `cat big.py`})'):
        body["input"][3]["input"] = code
        assert list(READERS["/responses"](body)) == []


def test_a_gateway_asks_for_the_user_s_words_and_keeps_files() -> None:
    page = make_page("room", KEY_ANSWER) * 4
    gateway = Gateway(Compressor(FakeScorer()))
    for command, is_changed in (("python3 run.py", True), ("cat big.py", False)):
        messages = copilot(command)["messages"]
        messages[2]["content"] = page
        shown = gateway.shorten(messages, 0).messages[2]["content"]
        assert KEY_ANSWER in shown
        assert (shown != page) is is_changed
    assert (
        KEY_ANSWER
        in gateway.shorten([*copilot("run")["messages"][:2], messages[2]], 0).messages[2]["content"]
    )


def test_sessions_in_one_folder_are_different_conversations() -> None:
    assert find_first_words(claude("")) == KEY_QUESTION
    body = codex("")
    other = {**body, "prompt_cache_key": "key-2"}
    assert find_first_words(body) != find_first_words(other)
    assert find_first_words({**body, "input": body["input"][:3]}) == find_first_words(body)
    del body["prompt_cache_key"]
    assert find_first_words(body) == KEY_QUESTION
