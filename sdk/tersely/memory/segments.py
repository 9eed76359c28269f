"""What lies between two resets: a part of the transcript, and an example to train on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tersely.chat.messages import Json
from tersely.chat.protocol import Message


@dataclass(frozen=True, slots=True)
class SubTrajectory:
    """A segment as an ordinary prompt and response to train on (SUPO, theorem 3.2)."""

    prompt: tuple[Message, ...]
    response: tuple[Message, ...]
    mask: tuple[bool, ...]
    """Per message of the response: whether the policy wrote it there, as action or as notes."""
    steps: tuple[int | None, ...]
    """Per message of the response: the number of the action that it is or follows; None for what belongs to
    the notes."""


@dataclass(frozen=True, slots=True)
class Step:
    """An assistant message with its results, or any other single message."""

    number: int
    """Assistant messages up to here, from the beginning of the transcript."""
    messages: tuple[Json, ...]
    is_carried: bool = False
    """Whether the step was held back before the reset and put behind it."""


@dataclass(frozen=True, slots=True)
class Notes:
    """How a reset got its notes."""

    request: Json
    answer: Json
    is_by_policy: bool
    """Whether the policy wrote the answer, which otherwise holds sentences of the transcript."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What was sent and written between two resets."""

    base: tuple[Json, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: Notes | None = None
    """The notes that ended the segment; None for the last one."""

    @property
    def written(self) -> list[Json]:
        """The messages of all steps."""
        return [message for step in self.steps for message in step.messages]

    def sub_trajectory(self, last: Sequence[Step] = ()) -> SubTrajectory:
        """The segment, with the steps `last` behind its own."""
        rows: list[tuple[Json, bool, int | None]] = [
            (message, not step.is_carried and message["role"] == "assistant", step.number)
            for step in (*self.steps, *last)
            for message in step.messages
        ]
        if self.notes is not None:
            rows += [(self.notes.request, False, None), (self.notes.answer, self.notes.is_by_policy, None)]
        response, mask, steps = zip(*rows, strict=True) if rows else ((), (), ())
        return SubTrajectory(self.base, response, mask, steps)
