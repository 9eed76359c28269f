"""Segments and trajectories: their masks, their JSON, and what they refuse."""

import json

import pytest

from training.rl.trajectory import Segment, Trajectory, Turn


def make_segment() -> Segment:
    return Segment((5, 6, 7, 8, 9), (0.0, 0.0, -0.5, -0.25, 0.0), (Turn(2, 4, quality=0.75),))


def test_mask_covers_what_the_policy_wrote() -> None:
    assert make_segment().mask == (False, False, True, True, False)


def test_trajectory_survives_json() -> None:
    trajectory = Trajectory(
        "task 1", (make_segment(), make_segment()), 1.0, "answered", 3, 2, {"read": [1, 2]}
    )
    assert Trajectory.from_dict(json.loads(json.dumps(trajectory.to_dict()))) == trajectory
    assert trajectory.resets == 1
    assert len(trajectory.turns) == 2


@pytest.mark.parametrize(
    ("tokens", "logprobs", "turns"),
    [
        ((1, 2), (0.0,), ()),
        ((1, 2), (0.0, 0.0), (Turn(1, 3),)),
        ((1, 2), (0.0, 0.0), (Turn(1, 1),)),
        ((1, 2, 3), (0.0, 0.0, 0.0), (Turn(0, 2), Turn(1, 3))),
    ],
)
def test_refuses_a_segment_that_does_not_fit_together(
    tokens: tuple[int, ...], logprobs: tuple[float, ...], turns: tuple[Turn, ...]
) -> None:
    with pytest.raises(ValueError, match=r"segment|Turn"):
        Segment(tokens, logprobs, turns)


def test_refuses_an_unknown_outcome() -> None:
    values = Trajectory("task 1", (make_segment(),), 1.0, "answered").to_dict()
    with pytest.raises(ValueError, match="no outcome"):
        Trajectory.from_dict({**values, "outcome": "bored"})
