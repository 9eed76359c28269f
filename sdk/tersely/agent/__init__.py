"""Memory for long-running agents.

from tersely.agent import AgentMemory

memory = AgentMemory([{"role": "user", "content": "Find the oldest lighthouse of the coast."}],
limit=8000) memory.append(message)  # every message of the model and of its tools messages =
memory.prepare(model)  # what to send next; summarised and reset where it would not fit
"""

from tersely.agent.memory import AgentMemory, OverlongError, SubTrajectory
from tersely.agent.store import ConflictError, MemoryStore, StoreError

__all__ = ["AgentMemory", "ConflictError", "MemoryStore", "OverlongError", "StoreError", "SubTrajectory"]
