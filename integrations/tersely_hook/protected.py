"""Outputs that are never shortened: files that may be edited, and originals that were asked for."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import PurePath
from typing import Any, cast
from urllib.parse import unquote

from tersely.adapters import EDIT_TOOLS
from tersely_hook.store import COMMAND, originals_folder

_DATA = {".csv", ".err", ".har", ".jsonl", ".lock", ".log", ".ndjson", ".out", ".tsv"}
"""Suffixes of files that programs write and agents only read."""
_FOREIGN = {
    ".git", ".tox", ".venv", "build", "dist", "dist-packages", "node_modules", "site-packages", "target",
    "tool-results", "venv",
}  # fmt: skip
"""Folders whose files are installed or made again. Claude Code puts large outputs into tool-results."""
_SCRIPTED = {"awk", "sed"}
"""Programs whose first argument is a script."""
_PRINTERS = _SCRIPTED | {
    COMMAND, "bat", "cat", "gc", "get-content", "head", "less", "more", "nl", "tac", "tail", "type",
}  # fmt: skip
"""Programs that print the files, or the original, that they are given."""
_PREFIXES = {"!", "command", "do", "else", "sudo", "then", "time", "{"}
"""Words that may come before a program."""
_SHELLS = {"bash", "dash", "sh", "zsh"}
_MAX_SPLIT = 5_000
"""Largest number of characters of a command whose quotes are read, which takes time."""
_MAX_DEPTH = 3
"""Largest number of shells inside each other that are read."""
_LINES = re.compile(r"[\d,+$]+p?")
"""Numbers of lines."""
_COMMAND = re.compile(
    r"""\b(?:cmd|commands?)["']?\s*:\s*(\[?\s*(?:(["'`])(?:\\.|(?!\2)[^\\])*\2[\s,]*)+)""", re.DOTALL
)
"""A command in the arguments of a call, which are JSON or JavaScript: a string, or a list of strings."""
_STRING = re.compile(r"""(["'`])((?:\\.|(?!\1)[^\\])*)\1""", re.DOTALL)


def is_protected(tool: str, tool_input: Mapping[str, Any], cwd: str, request: str) -> bool:
    """Return whether a tool's output must stay whole.

    An agent can only edit a file that it has seen word for word, and it reads before it edits. So the hook
    expects that a file will be edited, unless a program writes it or it comes from elsewhere.
    """
    words = list(_find_words(tool_input))
    if any(COMMAND in word or str(originals_folder()) in word for word in words) or "tersely" in tool:
        return True
    if tool == "Read":
        path = tool_input.get("file_path")
        is_part = tool_input.get("offset") is not None or tool_input.get("limit") is not None
        return is_part or not isinstance(path, str) or may_be_edited(path, request)
    if tool in ("Bash", "PowerShell"):
        return prints_file(str(tool_input.get("command")), request)
    if not tool.startswith(("mcp__", "MCP:")):
        return False
    # A tool that reads files may find them where the hook does not.
    reads = re.split(r"__|:", tool)[-1] in EDIT_TOOLS
    paths = [word for word in words if PurePath(word).suffix or "/" in word or "\\" in word]
    if reads and not paths:
        return True
    files = paths if reads else [word for word in words if _is_file(word, cwd)]
    return any(may_be_edited(file, request) for file in files)


def call_prints_file(arguments: str, request: str) -> bool:
    """Return whether a call tells a shell to print a file that may be edited.

    `arguments` are JSON, the JavaScript in which Codex calls its tools, or only the command.
    """
    found = list(_COMMAND.finditer(arguments))
    commands = [arguments] if not found and arguments.lstrip()[:1] not in ("{", "[") else []
    for match in found:
        strings = [_unquote(string) for string in _STRING.finditer(match[1])]
        # A list has the words of a command, or several commands.
        commands += [shlex.join(strings), *strings] if match[1].startswith("[") else strings
    return any(prints_file(command, request) for command in commands)


def prints_file(command: str, request: str, depth: int = 0) -> bool:
    """Return whether a command of a shell prints a file that may be edited."""
    words: list[str] = []
    is_comment = False
    for token in (*_split(command), "\n"):
        is_comment = "\n" not in token and (is_comment or token.startswith("#"))
        if is_comment:
            continue
        if token.strip("|;&()\n"):
            words.append(token)
            continue
        if _prints_file(words, request, depth):
            return True
        words = []
    return False


def may_be_edited(path: str, request: str) -> bool:
    """Return whether an agent may edit the file. `request` is the user's, who may name it."""
    file = PurePath(path)
    is_read_only = file.suffix.lower() in _DATA or not _FOREIGN.isdisjoint(file.parts[:-1])
    return not is_read_only or file.name in request


def _prints_file(words: Sequence[str], request: str, depth: int) -> bool:
    """Return whether one program, given by the words of its call, prints a file that may be edited."""
    at = next((at for at, word in enumerate(words) if word not in _PREFIXES and "=" not in word), 0)
    if "-exec" in words:
        at = words.index("-exec") + 1
    program, *rest = [PurePath(words[at]).name.lower(), *words[at + 1 :]] if at < len(words) else [""]
    if program in _SHELLS:
        scripts = [word for before, word in pairwise(rest) if re.fullmatch(r"-\w*c", before)]
        return depth < _MAX_DEPTH and any(prints_file(script, request, depth + 1) for script in scripts)
    if program not in _PRINTERS:
        return False
    end = next((at for at, word in enumerate(rest) if ">" in word), len(rest))  # what it writes to
    files = [word for word in rest[:end] if word[:1] != "-" and word != "<"]
    files = files[1:] if program in _SCRIPTED else [word for word in files if not _LINES.fullmatch(word)]
    return any(may_be_edited(file, request) for file in files)


def _unquote(string: re.Match[str]) -> str:
    """Return the value of a string of JSON or JavaScript."""
    try:
        return json.loads(string[0]) if string[1] == '"' else string[2]
    except ValueError:
        return string[2]


def _split(command: str) -> list[str]:
    """Return the words of a command. A sign that ends a program's call is a word too."""
    if len(command) <= _MAX_SPLIT:
        words = shlex.shlex(command, posix=True, punctuation_chars="|;&()<>\n")
        words.whitespace, words.commenters, words.whitespace_split = " \t\r", "", True
        with suppress(ValueError):  # a quote without its end
            return list(words)
    return re.findall(r"[|;&()\n]+|[^\s|;&()]+", command)


def _find_words(value: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON. The address of a file becomes its path."""
    if isinstance(value, str):
        yield unquote(value.removeprefix("file://")) if value.startswith("file://") else value
    elif isinstance(value, dict | list):
        parts = (
            cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        )
        for part in parts:
            yield from _find_words(part)


def _is_file(word: str, cwd: str) -> bool:
    """Return whether an argument is a file, or a pattern that may mean some."""
    if "*" in word and not re.search(r"\s", word):
        return True
    return "\0" not in word and os.path.isfile(os.path.join(cwd, os.path.expanduser(word)))
