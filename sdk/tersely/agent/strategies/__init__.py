"""Strategies: what an agent shows the model of earlier turns. One file each.

summary      the question, the model's own summary, and the last tool result
reset        the transcript, summarised and reset where it would not fit
transcript   the whole transcript
"""

from collections.abc import Callable, Mapping
from typing import Literal

from tersely.agent.episode import EpisodeState
from tersely.agent.strategies import reset, summary, transcript
from tersely.agent.strategies.setup import Setup

StrategyName = Literal["summary", "reset", "transcript"]

STRATEGIES: Mapping[StrategyName, Callable[[str, Setup], EpisodeState]] = {
    "summary": summary.start,
    "reset": reset.start,
    "transcript": transcript.start,
}
"""For each strategy, what makes the first state of an episode from its question."""

__all__ = ["STRATEGIES", "Setup", "StrategyName"]
