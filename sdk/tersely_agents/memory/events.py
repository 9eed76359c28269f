"""The changes of a transcript, as the store keeps them.

Kinds and keys are a file format: sessions that were written once must open for ever.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from tersely.messages import Json

Ending = Literal["finished", "overlong"]
"""How a transcript ended: with its task done, or with more resets or steps than it may have."""


class FirstEvent(TypedDict):
    """The first prompt."""

    kind: Literal["first"]
    messages: list[Json]
    """As the context shows them."""
    given: NotRequired[str]
    """Checksum of the messages as they were given, where some were shortened."""
    originals: NotRequired[list[str | None]]
    """For each message the id of what it was shortened from; None for one that came so."""


class MessageEvent(TypedDict):
    kind: Literal["message"]
    message: Json
    full: bool
    """Whether the context is full with this message, so that its step is held back."""
    original: NotRequired[str]
    """Id of what the message was shortened from."""


class PinEvent(TypedDict):
    kind: Literal["pin"]
    key: str
    text: str | None
    """None takes the pin away."""


class EndEvent(TypedDict):
    kind: Literal["outcome"]
    outcome: Ending


class ResetEvent(TypedDict):
    kind: Literal["reset"]
    request: Json
    """The instruction to write notes."""
    answer: Json
    """The notes as they were written, before they were shortened."""
    by: Literal["policy", "extractive"]
    """Whether the model wrote the notes."""
    base: list[Json]
    """The new context, with the notes as its last message, which is empty where there is nothing to note."""
    replayed: list[Json]
    """The step that was held back, shortened where it did not fit; empty where there was none or it was
    dropped."""
    identifiers: list[str]
    first: NotRequired[list[Json]]
    """The first prompt as the context shows it from now on, where it had to be shortened further."""
    originals: NotRequired[list[str | None]]
    """For each message of `base` and `replayed` the id of what it was shortened from."""


Event = FirstEvent | MessageEvent | PinEvent | EndEvent | ResetEvent

KINDS = frozenset({"first", "message", "pin", "outcome", "reset"})
