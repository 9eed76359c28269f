"""A task of 256 turns with a scripted model: does the working context stay bounded, and a turn as fast?"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from tersely import Compressor
from tersely.chat import ScriptedChat
from tersely.memory import AgentMemory, MemoryStore

TURNS = 256
QUARTERS = 4
NOTES = "The coast has many towers. None of those that were read is the oldest. " * 4


def stress(compressor: Compressor, limit: int, seed: int) -> dict[str, Any]:
    """Facts of one task on disk: searches with results of 20 to 400 words, notes by the model."""
    r = random.Random(seed)
    model = ScriptedChat(lambda _: NOTES)
    words = ["tower", "granite", "harbour", "1861", "lamp", "keeper", "reef", "storm."]
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore(Path(folder) / "agent.db")
        first = [{"role": "user", "content": "Find the oldest lighthouse of the coast."}]
        memory = AgentMemory(first, limit=limit, compressor=compressor, store=store)
        seconds: list[float] = []
        longest = 0
        for turn in range(TURNS):
            result = " ".join(r.choices(words, k=r.randint(20, 400)))
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
    return {
        "turns": TURNS,
        "limit": limit,
        "longest": longest,
        "summaries": memory.transcript.resets,
        "milliseconds": [round(1000 * float(np.median(q)), 2) for q in quarters],
        "file_bytes": size,
    }
