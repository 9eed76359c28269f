"""Tell a user's words from the text that coding agents add to them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BLOCK = re.compile(
    # Codex writes the rules of a folder as a user's message: a heading, then <INSTRUCTIONS>.
    r"(?:# AGENTS\.md instructions[^\n]*\s*)?"
    r"<(system-reminder|turn_aborted|current_datetime|INSTRUCTIONS|ide_\w+|(?:local-)?(?:command|bash)-[\w-]+"
    r"|(?:environment|session|user|workspace)_(?:context|details|info|instructions))>"
)
"""Start of a block that Claude Code, Codex, Gemini CLI, Copilot, Cline or Cursor adds."""
_CLOSING = re.compile(r"</([\w-]+)>")
_TAG = re.compile(r"</?user_query>")
"""Tags that Cursor puts around the user's words."""


def strip_agent_blocks(text: str) -> str:
    """Return a user's text without blocks such as `<system-reminder>`; "" if there is nothing else."""
    last_closing = {tag[1]: tag.start() for tag in _CLOSING.finditer(text)}
    kept: list[str] = []
    end = 0  # of the last block
    position = 0
    while start := _BLOCK.search(text, position):
        position = start.end()
        if last_closing.get(start[1], -1) >= position:  # otherwise the tag is a word of the user
            kept.append(text[end : start.start()])
            closing = f"</{start[1]}>"
            end = position = text.index(closing, position) + len(closing)
    return _TAG.sub(" ", " ".join([*kept, text[end:]])).strip()


def find_last_request(texts: Iterable[str]) -> str:
    """Return the user's words in the first text that has any; "" if none has. Pass the newest text first."""
    return next((words for text in texts if (words := strip_agent_blocks(text))), "")
