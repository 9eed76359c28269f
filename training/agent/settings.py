"""Settings of the agent's cold start."""

from __future__ import annotations

from dataclasses import dataclass, field

from training.agent.examples import Recipe
from training.causal import Adapter
from training.summarizer.train import Training


@dataclass(frozen=True, slots=True)
class Settings:
    data: Recipe
    seed: int = 13
    adapter: Adapter = field(default_factory=Adapter)
    training: Training = field(default_factory=Training)
