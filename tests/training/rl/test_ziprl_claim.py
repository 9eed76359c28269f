"""The control of ZipRL's claim permutes only qualities among the turns of a rollout."""

from __future__ import annotations

import random

import pytest

from tests.training.rl.examples import make_segment, make_trajectory
from training.rl.algorithms import grpo, hrr
from training.rl.replications.ziprl import ShuffledSettings, shuffle_qualities
from training.rl.trajectory import Trajectory


def make_rollout(reward: float) -> Trajectory:
    qualities = (0.1, 0.5, 0.9)
    turns = [make_segment(length, qualities=[q]) for length, q in zip((1, 2, 3), qualities, strict=True)]
    return make_trajectory(reward, *turns, make_segment(4))


def test_permutes_qualities_within_a_rollout() -> None:
    rollout = make_rollout(1.0)
    seen: set[tuple[float | None, ...]] = set()
    for seed in range(40):
        shuffled = shuffle_qualities(rollout, random.Random(seed))
        qualities = tuple(turn.quality for turn in shuffled.turns)
        assert qualities[3] is None
        assert sorted(qualities[:3], key=lambda q: q or 0) == [0.1, 0.5, 0.9]
        assert [segment.tokens for segment in shuffled.segments] == [s.tokens for s in rollout.segments]
        assert [(turn.start, turn.end) for turn in shuffled.turns] == [
            (t.start, t.end) for t in rollout.turns
        ]
        seen.add(qualities)
    assert len(seen) == 6


def test_control_shapes_as_much_as_hrr() -> None:
    rollouts = [make_rollout(1.0), make_rollout(0.0)]
    shuffled = ShuffledSettings().make_algorithm()
    plain = [t.advantages[1] for t in grpo.make_targets(rollouts)]

    def shaping(advantages: list[float]) -> list[float]:
        terms = [a - b for a, b in zip(advantages, plain, strict=True)]
        return sorted(terms[:4]) + sorted(terms[4:])

    ours = [t.advantages[1] for t in shuffled(rollouts)]
    theirs = [t.advantages[1] for t in hrr.make_targets(rollouts, w=0.2)]
    assert shaping(ours) == pytest.approx(shaping(theirs))
    assert ours == [t.advantages[1] for t in shuffled(rollouts)]
