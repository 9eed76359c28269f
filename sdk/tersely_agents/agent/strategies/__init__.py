"""Strategies: what an agent shows the model of earlier turns. One file each.

summary      the question, the model's own summary, and the last tool result
reset        the transcript, summarised and reset where it would not fit
transcript   the whole transcript
recon        one response, which the model goes on with after every search
"""

from collections.abc import Callable, Mapping
from typing import Literal

from tersely_agents.agent.episode import EpisodeState
from tersely_agents.agent.strategies import recon, reset, summary, transcript
from tersely_agents.agent.strategies.setup import Setup

StrategyName = Literal["summary", "reset", "transcript", "recon"]

STRATEGIES: Mapping[StrategyName, Callable[[str, Setup], EpisodeState]] = {
    "summary": summary.start,
    "reset": reset.start,
    "transcript": transcript.start,
    "recon": recon.start,
}
"""For each strategy, what makes the first state of an episode from its question."""

MAX_TURNS: Mapping[StrategyName, int] = {"summary": 20, "reset": 20, "transcript": 20, "recon": 5}
"""Turns of an episode, unless the caller says otherwise (ZipRL, section 5.1; RECON, appendix B.4)."""

__all__ = ["MAX_TURNS", "STRATEGIES", "Setup", "StrategyName"]
