"""Run many episodes at once with one policy, and record their trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from training.rl.episode import Episode, Task
from training.rl.trajectory import Segment, Trajectory, Turn


@dataclass(frozen=True, slots=True)
class Generation:
    """A policy's reply: its tokens, including the one that ended it, and their log-probabilities in nats."""

    tokens: Sequence[int]
    logprobs: Sequence[float]


class Policy(Protocol):
    def generate(self, contexts: dict[int, Sequence[int]]) -> dict[int, Generation]:
        """Continue each context. The keys name the episodes, so that a policy may cache the beginning of an
        episode's context. A context that the policy's server did not answer is omitted."""
        ...


class Recorder:
    """Recorder that cuts an episode into segments while it runs."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._tokens: list[int] = []
        self._logprobs: list[float] = []
        self._turns: list[Turn] = []

    def read(self, context: Sequence[int]) -> None:
        """Record the context that the policy is about to continue."""
        length = len(self._tokens)
        if list(context[:length]) != self._tokens:
            self._close()
            length = 0
        self._tokens += context[length:]
        self._logprobs += [0.0] * (len(context) - length)

    def write(self, generation: Generation, quality: float | None) -> None:
        """Record the policy's reply, and the quality of its summary."""
        start = len(self._tokens)
        self._tokens += generation.tokens
        self._logprobs += generation.logprobs
        self._turns.append(Turn(start, len(self._tokens), quality))

    def drop_turn(self) -> None:
        """Drop the last turn."""
        turn = self._turns.pop()
        del self._tokens[turn.start :], self._logprobs[turn.start :]

    def finish(self) -> tuple[Segment, ...]:
        self._close()
        return tuple(self._segments)

    def _close(self) -> None:
        if self._turns:
            self._segments.append(Segment(tuple(self._tokens), tuple(self._logprobs), tuple(self._turns)))
        self._tokens, self._logprobs, self._turns = [], [], []


def run_episodes(
    policy: Policy,
    tasks: Iterable[Task],
    *,
    policy_version: int = 0,
    bank_version: int | None = None,
    threads: int = 1,
) -> list[Trajectory]:
    """Run one episode for each task, and return the trajectories in order. Repeat a task for a group of
    rollouts.

    threads: number of threads in which the episodes' tools run.
    """
    tasks = list(tasks)
    episodes = [task.start() for task in tasks]
    recorders = [Recorder() for _ in tasks]
    unanswered: set[int] = set()
    with ThreadPoolExecutor(threads) as pool:
        while contexts := {
            i: e.context() for i, e in enumerate(episodes) if e.outcome is None and i not in unanswered
        }:
            replies = policy.generate(contexts)
            unanswered |= contexts.keys() - replies.keys()
            steps = [
                pool.submit(_step, episodes[i], recorders[i], contexts[i], reply)
                for i, reply in replies.items()
            ]
            for step in steps:
                step.result()
    return [
        Trajectory(
            task.id,
            recorder.finish(),
            episode.reward,
            episode.outcome or "server",
            policy_version,
            bank_version,
            dict(episode.facts),
        )
        for task, episode, recorder in zip(tasks, episodes, recorders, strict=True)
    ]


def _step(episode: Episode, recorder: Recorder, context: Sequence[int], generation: Generation) -> None:
    recorder.read(context)
    quality = episode.step(generation.tokens)
    recorder.write(generation, quality)
    if episode.dropped_turn:
        recorder.drop_turn()
