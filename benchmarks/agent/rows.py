"""What is recorded of a run: a row for each question and system."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.shared.environment import Environment
from tersely_agents.agent import Outcome


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of one system."""

    question: str
    """Its id."""
    system: str
    outcome: Outcome
    replies: int
    """Of the model."""
    well_formed: int
    """Replies that the strategy could read."""
    summaries: int
    """Turns that had something to summarise."""
    inside: int
    """Summaries that have the length of their level."""
    levels: tuple[int, ...]
    """Of the summaries."""
    correct: bool
    """Whether the reply's answer contains the right one, or is a right yes or no."""
    f1: float
    tokens_in: int
    tokens_out: int
    seconds: float


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    """The selector's."""
    agent: str
    """The agent and its fingerprint."""
    seed: int
    max_turns: int
    environment: Environment
    rows: tuple[TaskRow, ...]
