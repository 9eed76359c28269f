"""Agents that run long, and the memory that lets them.

    from tersely.agent import Agent, AgentMemory, FolderIndex, search_tools

    agent = Agent(model, search_tools(FolderIndex("notes")))
    agent.run("Who holds the spare key?").answer

The memory is of use by itself, in a loop of one's own:

    memory = AgentMemory([{"role": "user", "content": "Find the oldest lighthouse."}], limit=8000)
    memory.append(message)  # every message of the model and of its tools
    messages = memory.prepare(model)  # what to send next; reset to notes where it would not fit
"""

from tersely.agent.loop import Agent, State
from tersely.agent.memory import AgentMemory, OverlongError
from tersely.agent.retrieval import FolderIndex, Hit, Retriever
from tersely.agent.segments import SubTrajectory
from tersely.agent.store import ConflictError, EventStore, MemoryStore, StoreError
from tersely.agent.tools import Tool, ToolError, search_tools
from tersely.agent.trace import TurnTrace

__all__ = [
    "Agent",
    "AgentMemory",
    "ConflictError",
    "EventStore",
    "FolderIndex",
    "Hit",
    "MemoryStore",
    "OverlongError",
    "Retriever",
    "State",
    "StoreError",
    "SubTrajectory",
    "Tool",
    "ToolError",
    "TurnTrace",
    "search_tools",
]
