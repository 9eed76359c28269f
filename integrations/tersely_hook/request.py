"""The user's last message in a transcript."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from tersely.user_text import strip_agent_blocks

MAX_READ = 4_000_000
"""Bytes from the end of a transcript in which the message is looked for."""
_BLOCK = 1 << 16


def find_request(path: object) -> str:
    """Return the user's last message in a transcript of Claude Code or Cursor; "" if there is none."""
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
    return strip_agent_blocks("\n".join(text for text in texts if isinstance(text, str)))
