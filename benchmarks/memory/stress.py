"""A task of 256 turns with a scripted model: does the context stay below its limit, and does a turn stay
fast?"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.memory.rows import StressRow
from tersely import Compressor
from tersely_agents.chat import ScriptedChat
from tersely_agents.memory import AgentMemory, MemoryStore

TURNS = 256
QUARTERS = 4
NOTES = "The coast has many towers. None of those that were read is the oldest. " * 4


def run_long_task(compressor: Compressor, limit: int, seed: int) -> StressRow:
    """Figures of one task on disk: searches with results of 20 to 400 words, and notes by the model."""
    draw = random.Random(seed)
    model = ScriptedChat(lambda _: NOTES)
    words = ["tower", "granite", "harbour", "1861", "lamp", "keeper", "reef", "storm."]
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore(Path(folder) / "agent.db")
        first = [{"role": "user", "content": "Find the oldest lighthouse of the coast."}]
        memory = AgentMemory(first, limit=limit, compressor=compressor, store=store)
        seconds: list[float] = []
        longest = 0
        for turn in range(TURNS):
            result = " ".join(draw.choices(words, k=draw.randint(20, 400)))
            function = {"name": "search", "arguments": f'{{"query": "tower {turn}"}}'}
            call = {"id": f"c{turn}", "type": "function", "function": function}
            started = perf_counter()
            memory.prepare(model)
            memory.append({"role": "assistant", "content": None, "tool_calls": [call]})
            memory.append({"role": "tool", "tool_call_id": f"c{turn}", "content": result})
            seconds.append(perf_counter() - started)
            longest = max(longest, memory.transcript.tokens)
        size = (Path(folder) / "agent.db").stat().st_size
        store.close()
    quarters = np.array(seconds).reshape(QUARTERS, -1)
    return StressRow(
        turns=TURNS,
        limit=limit,
        longest=longest,
        summaries=memory.transcript.resets,
        milliseconds=tuple(round(1000 * float(np.median(q)), 2) for q in quarters),
        file_bytes=size,
    )
