"""Agents that answer questions with tools.

```python
from tersely_agents.agent import Agent, FolderIndex, search_tools

agent = Agent(model, search_tools(FolderIndex("notes")))
agent.run("Who holds the spare key?").answer
```
"""

from tersely_agents.agent.episode import OUTCOMES, EpisodeState, Outcome, Request
from tersely_agents.agent.loop import Agent, StrategyName
from tersely_agents.agent.retrieval import (
    DocumentIndex,
    FolderIndex,
    Hit,
    Reading,
    Retriever,
    SelectedHits,
    SelectedSentences,
    WrittenSummary,
    read_folder,
    read_passages,
)
from tersely_agents.agent.tools import Tool, ToolError, reading_tool, search_tools
from tersely_agents.agent.trace import TurnTrace
from tersely_agents.agent.trained import load_agent

__all__ = [
    "OUTCOMES",
    "Agent",
    "DocumentIndex",
    "EpisodeState",
    "FolderIndex",
    "Hit",
    "Outcome",
    "Reading",
    "Request",
    "Retriever",
    "SelectedHits",
    "SelectedSentences",
    "StrategyName",
    "Tool",
    "ToolError",
    "TurnTrace",
    "WrittenSummary",
    "load_agent",
    "read_folder",
    "read_passages",
    "reading_tool",
    "search_tools",
]
