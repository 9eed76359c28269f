"""The user's last message in a transcript."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

MAX_READ = 4_000_000
"""Bytes from the end of a transcript in which the message is looked for."""
_BLOCK = 1 << 16
_ADDED = re.compile(r"<(system-reminder|ide_\w+)>.*?</\1>|</?user_query>", re.DOTALL)
"""The text that agents add to a user's, and the tags that Cursor puts around it."""
_COMMAND = re.compile(r"\s*<(?:command|local-command|bash)-")
"""Start of a message that reports a command of the user, such as /clear."""


def find_request(path: object) -> str:
    """Return the user's last message in a transcript of Claude Code or Cursor; "" without such a message."""
    if not isinstance(path, str) or not os.path.isfile(path):
        return ""
    for line in read_backwards(path):
        # Most lines are long tool results, which need not be parsed.
        if b'"user"' in line and b'"tool_result"' not in line and (text := _read_user(line)):
            return text
    return ""


def read_backwards(path: str, most: int | None = MAX_READ) -> Iterator[bytes]:
    """Yield the lines of a file from the last to the first, within its last `most` bytes."""
    with open(path, "rb") as file:
        at = file.seek(0, os.SEEK_END)
        end = 0 if most is None else max(0, at - most)
        rest: list[bytes] = []
        while at > end:
            size = min(_BLOCK, at - end)
            at = file.seek(at - size)
            block = file.read(size)
            first, *lines = block.split(b"\n")
            if lines:
                lines[-1] += b"".join(reversed(rest))
                rest = []
                yield from reversed(lines)
            rest.append(first)
        if at == 0:
            yield b"".join(reversed(rest))


def _read_user(line: bytes) -> str:
    try:
        row: Any = json.loads(line)
        if row.get("isMeta") or row.get("isSidechain") or "user" not in (row.get("type"), row.get("role")):
            return ""
        content = row["message"]["content"]
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    text = _ADDED.sub(" ", "\n".join(text for text in texts if isinstance(text, str))).strip()
    return "" if _COMMAND.match(text) else text
