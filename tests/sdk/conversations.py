"""A conversation about lighthouses, and memories that hold it."""

from __future__ import annotations

from typing import Any

from tersely import Compressor
from tersely_agents.memory import AgentMemory
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer())


SYSTEM = {"role": "system", "content": "You answer with the name of a lighthouse."}


TASK = {"role": "user", "content": "Which lighthouse of the coast was built first? Never guess."}


FIRST = [SYSTEM, TASK]


def call(number: int, name: str = "search", arguments: str = '{"query": "lighthouse"}') -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def result(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def facts(number: int, sentences: int = 8) -> str:
    return " ".join(
        f"Lighthouse {number}-{i} was built in {1800 + number} of stone." for i in range(sentences)
    )


def make_memory(limit: int = 600, **options: Any) -> AgentMemory:
    return AgentMemory(FIRST, limit=limit, compressor=COMPRESSOR, **options)


def fill(memory: AgentMemory, start: int = 0) -> int:
    """Add steps until a summary is wanted, and return the number of the next step."""
    number = start
    while not memory.transcript.is_full:
        memory.append(call(number), result(number, facts(number)))
        number += 1
    return number


def nearly_fill(memory: AgentMemory) -> None:
    """Add small steps until less than 60 tokens are left."""
    number = 0
    while memory.transcript.tokens < memory.journal.settings.limit - 60:
        memory.append(call(number), result(number, "Nothing."))
        number += 1
