"""Compact a conversation with `AgentMemory` to a number of characters, over and over, as text.

compaction-conformance-kit asks for it in this form: a round gets nothing but the text of the round before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tersely import Compressor
from tersely.messages import Json, get_text
from tersely_agents.memory import AgentMemory
from tersely_agents.memory.notes import LEFT_OUT, read_quotes

SYSTEM = "You are a helpful assistant."
_NOTES = re.compile(r"<notes>\n.*?\n\n(?P<notes>.*?)\n</notes>", re.DOTALL)
_FOUND = "The user said:\n"
_HEADING = re.compile(r"(?P<kind>\w+)s:|(?P<identifiers>Identifiers):")
_AROUND = 24
"""Characters that the limit of a memory counts for roles."""


def compact(compressor: Compressor, messages: Sequence[Json], budget: int) -> str:
    """Return the context after a reset without a model, in at most `budget` characters. `compressor` must
    count characters."""
    room, text = budget, ""
    size = 400 + sum(len(get_text(m)) + 8 for m in messages)
    while room > 200:
        first: list[Json] = [m for m in messages if m["role"] == "system"][:1] or [
            {"role": "system", "content": SYSTEM}
        ]
        notes = max(1, (room - len(get_text(first[0]))) // 4)
        memory = AgentMemory(first, limit=max(20 * notes, size), summary_tokens=notes, compressor=compressor)
        memory.append(*(m for m in messages if m not in first))
        memory.reset()
        text = "\n\n".join(get_text(m) for m in memory.prepare(None))
        if len(text) <= budget:
            return text
        room -= max(20, len(text) - budget)
    return text[:budget]


def read_compacted(text: str) -> list[Json]:
    """Read the messages that a compacted text stands for."""
    match = _NOTES.search(text)
    begin, _, found = text.partition(_FOUND)
    messages: list[Json] = [{"role": "system", "content": begin.split("\n\n")[0]}]
    messages += _read_pins(found)
    for source, quoted in read_quotes(match["notes"]) if match else ():
        messages.append({"role": "assistant" if source == "Assistant:" else "user", "content": quoted})
    newest = [part for part in begin.split("\n\n")[1:2] if not part.startswith((LEFT_OUT, "<notes>"))]
    return [*messages, *({"role": "user", "content": part} for part in newest)]


def _read_pins(text: str) -> list[Json]:
    kind = ""
    messages: list[Json] = []
    for line in text.splitlines():
        if line.startswith("- "):
            messages.append({"role": "user", "content": f"{kind}: {line[2:]}" if kind else line[2:]})
        elif heading := _HEADING.fullmatch(line):
            kind = heading["kind"] or ""
    return messages
