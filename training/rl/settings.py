"""Settings of a run of the tiny policy: a TOML file with a table for each part.

seed = 1
[environment]
name = "registers"       # one of ENVIRONMENTS, with its settings as the other keys
context = 56
[policy]                 # tiny.TinyConfig
[cold_start]             # ColdStart
[algorithm]
name = "supo"            # one of ALGORITHMS, with its settings as the other keys
[updates]                # Updates
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from training.rl.algorithms import evolving, grpo, hrr, ppo, supo
from training.rl.environments.facts import Facts
from training.rl.environments.families import Families
from training.rl.environments.gather import Gather
from training.rl.environments.registers import Registers
from training.rl.episode import Environment
from training.rl.targets import Target
from training.rl.tiny import TinyConfig
from training.settings import read_settings

T = TypeVar("T")
Algorithm = Callable[..., list[Target]]
"""A function that makes targets from trajectories. PPO also takes the outputs of its critic and reference
(`critic`)."""

ENVIRONMENTS: Mapping[str, Callable[..., Any]] = {
    "facts": Facts,
    "families": Families,
    "gather": Gather,
    "registers": Registers,
}
ALGORITHMS: Mapping[str, Callable[..., list[Target]]] = {
    "evolving": evolving.make_targets,
    "grpo": grpo.make_targets,
    "hrr": hrr.make_targets,
    "ppo": ppo.make_targets,
    "supo": supo.make_targets,
}


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Supervised training on flawed demonstrations (`cold_start.imitate`)."""

    steps: int = 300
    tasks: int = 32
    learning_rate: float = 2e-3


@dataclass(frozen=True, slots=True)
class Updates:
    """Settings of the reinforcement learning."""

    count: int = 80
    tasks: int = 8
    """Number of groups in each update."""
    group: int = 8
    """Number of rollouts of each task."""
    epochs: int = 1
    """Number of passes over the rollouts of an update."""
    learning_rate: float = 1e-3
    clip: float = 0.2
    """Limit of the ratio of probabilities (PPO's epsilon)."""
    beta: float = 0.0
    """Weight of the KL to the policy of the cold start, in the loss."""
    entropy: float = 0.0
    """Weight of the entropy of the policy's choices, in the gain."""
    critic_learning_rate: float = 1e-3
    """Learning rate of PPO's critic, which starts from the policy of the cold start."""
    value_clip: float = 0.5
    """Limit of the change of the critic's values in one update."""
    max_norm: float = 1.0
    """Maximum norm of the gradient."""
    evaluate_every: int = 10
    evaluation_tasks: int = 100


@dataclass(frozen=True)
class Settings:
    """Settings of one run. Making the environment or the algorithm raises ValueError for an unknown name."""

    seed: int = 1
    environment: Mapping[str, Any] = field(default_factory=lambda: {"name": "registers"})
    policy: TinyConfig = field(default_factory=TinyConfig)
    cold_start: ColdStart = field(default_factory=ColdStart)
    algorithm: Mapping[str, Any] = field(default_factory=lambda: {"name": "supo"})
    updates: Updates = field(default_factory=Updates)

    def make_environment(self) -> Environment:
        return cast(Environment, _make("environment", self.environment, ENVIRONMENTS)())

    def make_algorithm(self) -> Algorithm:
        return _make("algorithm", self.algorithm, ALGORITHMS)

    @property
    def has_critic(self) -> bool:
        return self.algorithm["name"] == "ppo"

    def with_seed(self, seed: int) -> Settings:
        return replace(self, seed=seed)


def read_run_settings(file: Path) -> Settings:
    """Read the settings of a run. Raises ValueError, which names the file, for an unknown table, key or
    name."""
    settings = read_settings(Settings, file)
    try:
        settings.make_environment()
        settings.make_algorithm()
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file}: {error}") from error
    return settings


def _make(kind: str, table: Mapping[str, Any], known: Mapping[str, Callable[..., T]]) -> Callable[..., T]:
    """Return the factory that the table names, with the table's other keys as settings."""
    options = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items() if key != "name"}
    name = str(table.get("name"))
    if name not in known:
        raise ValueError(f"there is no {kind} {name!r}; use one of {', '.join(known)}")
    return partial(known[name], **options)
