"""The record of a rollout: everything that an update of the policy needs, with any engine.

A trajectory has one or more segments. A segment is one prompt and its continuation, as the exact token ids
that the policy read and wrote. A new segment begins when the context does not continue the last one: after a
reset (SUPO), or at every turn (ZipRL).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from tersely_agents.agent import OUTCOMES, Outcome

__all__ = ["OUTCOMES", "Outcome", "Segment", "Trajectory", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One generation of the policy.

    `start` and `end` are positions in the segment's tokens: the reply is tokens[start:end].
    """

    start: int
    end: int
    quality: float | None = None
    """Q_com of the summary of this turn (ZipRL, equation 1), in [0, 1]; None for a turn without a summary."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One prompt and its continuation. `tokens` and `logprobs` have the same length.

    Raises ValueError if lengths differ, or if turns overlap or are outside of the tokens.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Log-probability of each token under the policy that wrote it, in nats; 0.0 for tokens that it did not
    write."""
    turns: tuple[Turn, ...]
    """Turns in order. The policy did not write tokens outside of turns."""

    def __post_init__(self) -> None:
        if len(self.logprobs) != len(self.tokens):
            raise ValueError(
                f"A segment has {len(self.tokens)} tokens and {len(self.logprobs)} log-probabilities."
            )
        position = 0
        for turn in self.turns:
            if not position <= turn.start < turn.end <= len(self.tokens):
                raise ValueError(
                    f"The turn {turn} does not fit into {len(self.tokens)} tokens from {position} on."
                )
            position = turn.end

    @property
    def mask(self) -> tuple[bool, ...]:
        """True for each token that the policy wrote."""
        mask = [False] * len(self.tokens)
        for turn in self.turns:
            mask[turn.start : turn.end] = [True] * (turn.end - turn.start)
        return tuple(mask)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One rollout of one task."""

    task: str
    """Rollouts of the same task form a group."""
    segments: tuple[Segment, ...]
    reward: float
    outcome: Outcome
    policy_version: int = 0
    """Number of updates of the policy before the rollout."""
    bank_version: int | None = None
    """Published edition of the experience bank that was read; None without a bank."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The environment's report besides the reward, as values that JSON can represent."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of all segments, in order."""
        return tuple(turn for segment in self.segments for turn in segment.turns)

    @property
    def resets(self) -> int:
        return max(0, len(self.segments) - 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the trajectory as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the trajectory that `to_dict` wrote. Raises ValueError for an unknown outcome."""
        if values["outcome"] not in OUTCOMES:
            raise ValueError(f"{values['outcome']!r} is no outcome. Use one of {', '.join(OUTCOMES)}.")
        segments = tuple(
            Segment(
                tuple(row["tokens"]), tuple(row["logprobs"]), tuple(Turn(**turn) for turn in row["turns"])
            )
            for row in values["segments"]
        )
        return cls(**{**values, "segments": segments})
