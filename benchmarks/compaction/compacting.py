"""Ways to compact a conversation to a number of characters, over and over, as text.

compaction-conformance-kit asks for this form: a round gets nothing but the text of the round before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tersely import Compressor
from tersely.messages import Json, get_text
from tersely_agents.memory import AgentMemory
from tersely_agents.memory.notes import LEFT_OUT, read_quotes

Compact = Callable[[Sequence[Json], int], str]
"""A function that returns the messages as a text of at most so many characters."""

SYSTEM: Json = {"role": "system", "content": "You are a helpful assistant."}
_NOTES = re.compile(r"<notes>\n.*?\n\n(?P<notes>.*?)\n</notes>", re.DOTALL)
_FOUND = "The user said:\n"
_HEADING = re.compile(r"(?P<kind>\w+)s:")
_LEAST_ROOM = 200
"""Number of characters below which no memory holds anything."""


def make_ways() -> Mapping[str, Compact]:
    """Return the ways to compact by name, all with the bundled model."""
    compressor = Compressor(token_counter=len)
    return {
        "AgentMemory, no model": lambda messages, budget: compact_by_memory(compressor, messages, budget),
        "compress, no question": lambda messages, budget: (
            compressor.compress(None, [get_text(m) for m in messages], budget=budget).text
        ),
        "newest messages": lambda messages, budget: "\n".join(get_text(m) for m in messages)[-budget:],
    }


def compact_by_memory(compressor: Compressor, messages: Sequence[Json], budget: int) -> str:
    """Return the context after a reset without a model. `compressor` counts characters."""
    messages = _read_compacted(messages) if len(messages) == 1 else messages
    first = next((m for m in messages if m["role"] == "system"), SYSTEM)
    size = 2 * _LEAST_ROOM + sum(len(get_text(m)) + 8 for m in messages)
    room, text = budget, ""
    while room > _LEAST_ROOM:
        # The notes get a quarter, and what the user has stated three quarters.
        notes = max(1, (room - len(get_text(first))) // 4)
        memory = AgentMemory(
            [first], limit=max(20 * notes, size), summary_tokens=notes, compressor=compressor
        )
        memory.append(*(m for m in messages if m is not first))
        memory.reset()
        text = "\n\n".join(get_text(m) for m in memory.prepare(None))
        if len(text) <= budget:
            return text
        room -= max(20, len(text) - budget)
    return text[:budget]


def _read_compacted(messages: Sequence[Json]) -> list[Json]:
    """Read the messages that a compacted text was made of."""
    begin, _, found = get_text(messages[0]).partition(_FOUND)
    match = _NOTES.search(begin)
    paragraphs = begin.split("\n\n")
    read: list[Json] = [{"role": "system", "content": paragraphs[0]}, *_read_pins(found)]
    for source, quoted in read_quotes(match["notes"]) if match else ():
        read.append({"role": "assistant" if source == "Assistant:" else "user", "content": quoted})
    newest = [part for part in paragraphs[1:2] if not part.startswith((LEFT_OUT, "<notes>"))]
    return [*read, *({"role": "user", "content": part} for part in newest)]


def _read_pins(text: str) -> list[Json]:
    kind = ""
    messages: list[Json] = []
    for line in text.splitlines():
        if line.startswith("- "):
            messages.append({"role": "user", "content": f"{kind}: {line[2:]}"})
        elif heading := _HEADING.fullmatch(line):
            kind = heading["kind"]
    return messages
