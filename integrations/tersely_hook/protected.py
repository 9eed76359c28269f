"""Outputs that are never shortened: files that may be edited, and originals that were asked for."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from tersely_hook.store import COMMAND, originals_folder

_DATA = {".csv", ".err", ".har", ".jsonl", ".lock", ".log", ".ndjson", ".out", ".tsv"}
"""Suffixes of files that programs write and agents only read."""
_FOREIGN = {
    ".git", ".tox", ".venv", "build", "dist", "dist-packages", "node_modules", "site-packages", "target",
    "tool-results", "venv",
}  # fmt: skip
"""Folders whose files are installed or made again. Claude Code puts large outputs into tool-results."""
_PRINTS_FILES = re.compile(r"(?:^|[|;&(]|\n)\s*(?:sudo\s+)?(?:awk|bat|cat|head|less|more|nl|sed|tac|tail)\s")


_MAX_SPLIT = 5_000
"""Characters of a command whose quotes are read, which takes time."""


def is_protected(tool: str, tool_input: Mapping[str, Any], cwd: str, request: str) -> bool:
    """Return whether a tool's output must stay whole.

    An agent can only edit a file that it has seen word for word, and it reads before it edits. So a file
    counts as about to be edited unless a program writes it or it comes from elsewhere.
    """
    words = [value for value in tool_input.values() if isinstance(value, str)]
    if any(COMMAND in word or str(originals_folder()) in word for word in words) or "tersely" in tool:
        return True
    if tool == "Read":
        path = tool_input.get("file_path")
        is_part = tool_input.get("offset") is not None or tool_input.get("limit") is not None
        return is_part or not isinstance(path, str) or may_be_edited(path, request)
    if tool in ("Bash", "PowerShell"):
        command = str(tool_input.get("command"))
        words = _split(command) if _PRINTS_FILES.search(command) else []
    elif not tool.startswith(("mcp__", "MCP:")):
        words = []
    return any(_is_file(word, cwd) and may_be_edited(word, request) for word in words)


def may_be_edited(path: str, request: str) -> bool:
    """Return whether an agent may edit the file. `request` is the user's, who may name it."""
    file = PurePath(path)
    is_read_only = file.suffix.lower() in _DATA or not _FOREIGN.isdisjoint(file.parts[:-1])
    return not is_read_only or file.name in request


def _split(command: str) -> Iterable[str]:
    try:
        return shlex.split(command) if len(command) <= _MAX_SPLIT else command.split()
    except ValueError:
        return command.split()


def _is_file(word: str, cwd: str) -> bool:
    """Return whether a word of a command is a file, or a pattern that may mean some."""
    return "*" in word or ("\0" not in word and os.path.isfile(os.path.join(cwd, os.path.expanduser(word))))
