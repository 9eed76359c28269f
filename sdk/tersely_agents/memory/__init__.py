"""Memory for agents: a transcript under a limit, kept on disk if a store is given.

```python
memory = AgentMemory([{"role": "user", "content": "Find the oldest lighthouse."}], limit=8000)
memory.append(message)  # every message of the model and of its tools
messages = memory.prepare(model)  # the messages to send next; reset to notes if they would not fit
```
"""

from tersely_agents.memory.journal import OverlongError
from tersely_agents.memory.memory import AgentMemory
from tersely_agents.memory.segments import SubTrajectory
from tersely_agents.memory.settings import SMALLEST_LIMIT
from tersely_agents.memory.store import ConflictError, EventStore, MemoryStore, StoreError
from tersely_agents.memory.transcript import Transcript

__all__ = [
    "SMALLEST_LIMIT",
    "AgentMemory",
    "ConflictError",
    "EventStore",
    "MemoryStore",
    "OverlongError",
    "StoreError",
    "SubTrajectory",
    "Transcript",
]
