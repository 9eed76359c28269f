"""What a rollout runs. An environment makes tasks; a task starts episodes; an episode reads what the policy
wrote and gives the next context."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from training.rl.trajectory import Outcome, Trajectory


class Episode(Protocol):
    """One rollout under way.

    while episode.outcome is None:
        episode.step(policy.generate(episode.context()))
    """

    outcome: Outcome | None
    """None while the episode goes on."""
    reward: float
    """Of the episode so far."""
    facts: Mapping[str, Any]
    """What to report beside the reward, as values that JSON can hold."""
    dropped_turn: bool
    """The last turn was taken back: the next context leaves it out, and it belongs to no segment (SUPO)."""

    def context(self) -> Sequence[int]:
        """Token ids for the policy to continue. It belongs to the same segment as the turn before where it
        begins with that turn's context and reply; else a new segment begins."""
        ...

    def step(self, reply: Sequence[int]) -> float | None:
        """Read what the policy wrote, with the token that ended it. Returns the quality of its summary in
        [0, 1], or None where the turn has none."""
        ...


class Task(Protocol):
    """One question of an environment. Its episodes differ in what the policy writes, in nothing else."""

    id: str

    def start(self) -> Episode: ...


@runtime_checkable
class Learner(Protocol):
    """What learns from rollouts beside the policy, such as an experience bank. An environment may be one."""

    edition: int
    """How often it was published; the trajectories' `bank_version`."""

    def learn(self, trajectories: Sequence[Trajectory]) -> None:
        """Read the rollouts of an update, before the policy learns from them."""
        ...

    def publish(self) -> None:
        """The policy has learned: tasks that are sampled from now on show what was learned here."""
        ...

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None: ...


class Environment(Protocol):
    """Makes tasks. `difficulty` in [0, 1] goes from easy to hard."""

    vocabulary: Sequence[str]
    """The words that its contexts and replies are made of; token ids are positions in it."""
    stop: int
    """The token that ends a reply."""
    max_reply: int
    """Tokens of the longest reply."""
    positions: int
    """Tokens of the longest context with its reply."""

    def sample(self, random: random.Random, difficulty: float) -> Task:
        """A task, the same for the same state of `random`."""
        ...

    def demonstrate(
        self, episode: Episode, random: random.Random, *, flawed: bool = False
    ) -> Iterator[Sequence[int]]:
        """The replies of a scripted expert, each to be stepped before the next is asked for; they earn the
        reward 1. With `flawed`, it makes the mistakes that the environment's settings name, so that a policy
        which has learned from it has something left to learn."""
        ...
