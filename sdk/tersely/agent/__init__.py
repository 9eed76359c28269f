"""Agents that answer questions with tools.

from tersely.agent import Agent, FolderIndex, search_tools

agent = Agent(model, search_tools(FolderIndex("notes")))
agent.run("Who holds the spare key?").answer
"""

from tersely.agent.episode import OUTCOMES, EpisodeState, Outcome, Request
from tersely.agent.loop import Agent
from tersely.agent.reading import Reading, SelectedSentences, WrittenSummary, read_passages, reading_tool
from tersely.agent.retrieval import DocumentIndex, FolderIndex, Hit, Retriever, SelectedHits, read_folder
from tersely.agent.tools import Tool, ToolError, search_tools
from tersely.agent.trace import TurnTrace
from tersely.agent.trained import load_agent

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
