"""The user's last message in a transcript."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from tersely.user_text import strip_agent_blocks

MAX_READ = 4_000_000
"""Number of bytes at the end of a transcript in which the message is looked for."""
_BLOCK = 1 << 16
_AGENT_ID = re.compile(r"\w{1,64}")


def find_request(path: object, agent_id: object = None) -> str:
    """Return the user's last message in a transcript of Claude Code or Cursor; "" without such a message.

    A subagent's request, which the main agent wrote, is in a transcript of its own.
    """
    if not isinstance(path, str):
        return ""
    if isinstance(agent_id, str) and _AGENT_ID.fullmatch(agent_id):
        own = os.path.join(path.removesuffix(".jsonl"), "subagents", f"agent-{agent_id}.jsonl")
        if text := _find_request(own, is_side=True):
            return text
    return _find_request(path, is_side=False)


def _find_request(path: str, is_side: bool) -> str:
    if not os.path.isfile(path):
        return ""
    for line in read_backwards(path):
        # Most lines are long tool results, which need not be parsed.
        if b'"user"' in line and b'"tool_result"' not in line and (text := _read_user(line, is_side)):
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


def _read_user(line: bytes, is_side: bool) -> str:
    try:
        row: Any = json.loads(line)
        if row.get("isMeta") or bool(row.get("isSidechain")) is not is_side:
            return ""
        if "user" not in (row.get("type"), row.get("role")):
            return ""
        content = row["message"]["content"]
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return strip_agent_blocks("\n".join(text for text in texts if isinstance(text, str)))
