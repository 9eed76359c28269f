"""Small trajectories whose advantages can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from training.rl.trajectory import Outcome, Segment, Trajectory, Turn


def make_segment(*lengths: int, qualities: Sequence[float | None] = ()) -> Segment:
    """Make a prompt of one token, then turns of these lengths with an observation of one token after each."""
    turns: list[Turn] = []
    position = 1
    for index, length in enumerate(lengths):
        turns.append(Turn(position, position + length, qualities[index] if qualities else None))
        position += length + 1
    return Segment((1,) * position, (0.0,) * position, tuple(turns))


def make_trajectory(
    reward: float, *segments: Segment, task: str = "a", outcome: Outcome = "answered"
) -> Trajectory:
    return Trajectory(task, segments or (make_segment(2),), reward, outcome)
