"""Protocols of a rollout. An environment makes tasks, and a task starts episodes. An episode reads the
policy's reply and gives the next context."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from training.rl.trajectory import Outcome, Trajectory


class Episode(Protocol):
    """One rollout in progress.

    while episode.outcome is None:
        episode.step(policy.generate(episode.context()))
    """

    outcome: Outcome | None
    """The end of the episode; None while it runs."""
    reward: float
    """Reward of the episode so far."""
    facts: Mapping[str, Any]
    """Values to report besides the reward, which JSON can represent."""
    dropped_turn: bool
    """True if the last turn was dropped. It is then not in the next context or in any segment (SUPO)."""

    def context(self) -> Sequence[int]:
        """Return the token ids for the policy to continue. The context belongs to the segment of the previous
        turn if it begins with that turn's context and reply; otherwise a new segment begins."""
        ...

    def step(self, reply: Sequence[int]) -> float | None:
        """Read the policy's reply, with the token that ended it. Return the quality of its summary in [0, 1],
        or None if the turn has no summary."""
        ...


class Task(Protocol):
    """One question of an environment. Its episodes differ only in the policy's replies."""

    id: str

    def start(self) -> Episode: ...


@runtime_checkable
class Learner(Protocol):
    """A learner besides the policy, such as an experience bank. An environment may be one."""

    edition: int
    """Number of publications, which trajectories have as their `bank_version`."""

    def learn(self, trajectories: Sequence[Trajectory]) -> None:
        """Read the rollouts of an update, before the policy learns from them."""
        ...

    def publish(self) -> None:
        """Publish the learned state after the policy's update: new tasks show it."""
        ...

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None: ...


class Environment(Protocol):
    """Source of tasks. `difficulty` in [0, 1] goes from easy to hard."""

    vocabulary: Sequence[str]
    """Words of its contexts and replies; token ids are indices into it."""
    stop: int
    """The token that ends a reply."""
    max_reply: int
    """Maximum number of tokens of a reply."""
    positions: int
    """Maximum number of tokens of a context with its reply."""

    def sample(self, random: random.Random, difficulty: float) -> Task:
        """Make a task, the same for the same state of `random`."""
        ...

    def demonstrate(
        self, episode: Episode, random: random.Random, *, flawed: bool = False
    ) -> Iterator[Sequence[int]]:
        """Return the replies of a scripted expert, which earn the reward 1. Take each step before you request
        the next reply. With `flawed`, the expert makes the mistakes in the environment's settings, so that a
        policy that imitates it still has something to learn."""
        ...
