"""Segments: the parts of a transcript between two resets. Training makes an example of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

from tersely.messages import Json, get_text
from tersely_agents.chat.protocol import Message


@dataclass(frozen=True, slots=True)
class SubTrajectory:
    """A segment as an ordinary prompt and response to train on (SUPO, theorem 3.2)."""

    prompt: tuple[Message, ...]
    response: tuple[Message, ...]
    mask: tuple[bool, ...]
    """True for each message of the response that the policy wrote in this segment, as action or as notes."""
    steps: tuple[int | None, ...]
    """Number of the action that each message of the response is or follows; None for notes and their
    request."""


@dataclass(frozen=True, slots=True)
class Step:
    """An assistant message with its results, or any other single message."""

    number: int
    """Number of assistant messages from the beginning of the transcript up to this step."""
    messages: tuple[Json, ...]
    is_carried: bool = False
    """True if the step was held back before the reset and repeated after it."""


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of a reset, with their request."""

    request: Json
    answer: Json
    is_by_policy: bool
    """True if the policy wrote the answer. Otherwise the answer quotes the transcript."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The messages that were sent and written between two resets."""

    base: tuple[Json, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: Notes | None = None
    """The notes that ended the segment; None for the last one."""
    follows_reset: bool = False
    """True if a reset began the segment, so that the last message of `base` holds notes."""

    @property
    def written(self) -> list[Json]:
        """The messages of all steps."""
        return [message for step in self.steps for message in step.messages]

    @property
    def shown(self) -> list[Json]:
        """The messages that the model sees. After a reset, consecutive messages of the user are one, up to
        the assistant's first message: strict chat templates want the roles to alternate."""
        return [*self._prompt, *self.written[self._leading :]]

    @property
    def _prompt(self) -> list[Json]:
        if not self.follows_reset:
            return list(self.base)
        noted = self.base if get_text(self.base[-1]) else self.base[:-1]
        return merge_user_messages([*noted, *self.written[: self._leading]])

    @property
    def _leading(self) -> int:
        """Number of messages between the notes and the first message of the assistant or a tool."""
        written = self.written if self.follows_reset else []
        return len(list(takewhile(lambda message: message["role"] not in ("assistant", "tool"), written)))

    def sub_trajectory(self, last: Sequence[Step] = ()) -> SubTrajectory:
        """Return the segment as an example to train on, with the steps `last` at its end."""
        rows: list[tuple[Json, bool, int | None]] = [
            (message, not step.is_carried and message["role"] == "assistant", step.number)
            for step in (*self.steps, *last)
            for message in step.messages
        ]
        rows = rows[self._leading :]
        if self.notes is not None:
            rows += [(self.notes.request, False, None), (self.notes.answer, self.notes.is_by_policy, None)]
        response, mask, steps = zip(*rows, strict=True) if rows else ((), (), ())
        return SubTrajectory(tuple(self._prompt), response, mask, steps)


def merge_user_messages(messages: Sequence[Json]) -> list[Json]:
    """Join consecutive messages of the user. Their texts stay word for word, with a blank line between them.
    A message with fields besides role and content stays separate."""
    merged: list[Json] = []
    for message in messages:
        last = merged[-1] if merged else {}
        if all(m.get("role") == "user" and m.keys() == {"role", "content"} for m in (last, message)):
            merged[-1] = {"role": "user", "content": _join(last["content"], message["content"])}
        else:
            merged.append(message)
    return merged


def _join(one: str | list[Json], other: str | list[Json]) -> str | list[Json]:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    parts = [[{"type": "text", "text": c}] if isinstance(c, str) else c for c in (one, other)]
    return cast("list[Json]", [*parts[0], *parts[1]])
