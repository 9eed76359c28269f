"""Read the input of GitHub Copilot's hook, which has names of its own for tools and results, and answer it.

Copilot gives a hook what the model would read. Before that, Copilot puts results of more than 20 KB
into files, so the hook can shorten only smaller ones.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from tersely.user_text import strip_agent_blocks
from tersely_hook.request import read_backwards

Json = dict[str, Any]

MATCHER = "bash|powershell|view|grep|glob|.+-.+"
"""Tools whose results are shortened, as a regular expression for the whole name. A tool of an
MCP server is called server-tool, and no other name has a hyphen."""
_NAMES = {"bash": "Bash", "powershell": "PowerShell", "view": "Read", "grep": "Grep", "glob": "Glob"}
"""The names that Claude Code has for the same tools."""
_ID = re.compile(r"[\w-]{1,64}")
_STATUS = re.compile(r"\n<[^\n]*>\n?\Z")
"""Last line of a shell's result, such as "<shellId: 0 completed with exit code 0>"."""


def home() -> Path:
    """Return the folder of Copilot's settings and sessions."""
    return Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")


def rename(fields: Json) -> Json:
    """Return an input with Claude Code's names for the tool, its arguments and the session."""
    tool, arguments = fields["toolName"], fields.get("toolArgs")
    if tool == "view" and isinstance(arguments, dict):
        part = arguments.get("view_range") or arguments.get("forceReadLargeFiles")
        arguments = {"file_path": arguments.get("path"), "offset": part or None}
    name = f"mcp__{tool}" if "-" in str(tool) else _NAMES.get(str(tool))
    return {**fields, "tool_name": name, "tool_input": arguments, "session_id": fields.get("sessionId", "")}


def find_request(fields: Json) -> str:
    """Return the last request in the events of a session; "" without one.

    For a subagent, it is the main agent's message, in the events of the main agent's session.
    """
    agent = fields.get("agentId")
    session = fields.get("parentAgentId" if agent else "sessionId")
    if not isinstance(session, str) or not _ID.fullmatch(session):
        return ""
    path = home() / "session-state" / session / "events.jsonl"
    if not path.is_file():
        return ""
    for line in read_backwards(str(path)):
        if b'"user.message"' in line and (text := _read_message(line, agent)):
            return text
    return ""


def _read_message(line: bytes, agent: object) -> str:
    try:
        row: Any = json.loads(line)
        is_own = row["type"] == "user.message" and row.get("agentId") == agent
        text = row["data"]["content"] if is_own else ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return strip_agent_blocks(text) if isinstance(text, str) else ""


def answer(result: object, shorten: Callable[[str], str]) -> Json:
    """Return the answer to Copilot: the result with a shorter text, or an empty object if it stays."""
    if not isinstance(result, dict):
        return {}
    values = cast("Json", result)
    text = values.get("textResultForLlm")
    if values.get("resultType") != "success" or not isinstance(text, str):
        return {}
    status = match[0] if (match := _STATUS.search(text)) else ""
    body = text.removesuffix(status)
    new = shorten(body)
    return {} if new == body else {"modifiedResult": {**values, "textResultForLlm": new + status}}
