"""What lies between two resets: a part of the transcript, and an example to train on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tersely.chat.protocol import Message
from tersely.chat.transcript import Json

Step = tuple[int, list[Json], bool]
"""Number, messages, and whether they were written here, not carried over a reset."""


@dataclass(frozen=True, slots=True)
class SubTrajectory:
    """What lies between two resets: an ordinary prompt and response to train on (SUPO, theorem 3.2)."""

    prompt: tuple[Message, ...]
    response: tuple[Message, ...]
    mask: tuple[bool, ...]
    """Per message of the response: whether the policy wrote it there, as action or as summary."""
    steps: tuple[int | None, ...]
    """Per message of the response: the number of the action that it is or follows; None for what belongs to a
    summary."""


@dataclass(slots=True)
class Segment:
    """What was sent and written between two resets."""

    base: list[Json]
    steps: list[Step] = field(default_factory=list[Step])
    summary: tuple[Json, Json, bool] | None = None
    """Request, answer, and whether the policy wrote it."""

    @property
    def written(self) -> list[Json]:
        """The messages of all steps."""
        return [message for _, step, _ in self.steps for message in step]

    def sub_trajectory(self, last: Sequence[Step] = ()) -> SubTrajectory:
        """The segment with the steps `last` behind its own."""
        rows: list[tuple[Json, bool, int | None]] = [
            (message, here and message["role"] == "assistant", number)
            for number, messages, here in (*self.steps, *last)
            for message in messages
        ]
        if self.summary is not None:
            request, answer, by_policy = self.summary
            rows += [(request, False, None), (answer, by_policy, None)]
        response, mask, steps = zip(*rows, strict=True) if rows else ((), (), ())
        return SubTrajectory(tuple(self.base), response, mask, steps)
