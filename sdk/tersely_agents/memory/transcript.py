"""A transcript: the messages of one conversation, as a frozen value that events change into the next one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NotRequired, TypedDict, assert_never

from tersely.errors import InvalidInputError
from tersely.messages import Json, get_call_ids, get_text, join_query, measure_tokens
from tersely.user_text import strip_agent_blocks
from tersely_agents.memory.pins import PinBoard, load_pins
from tersely_agents.memory.segments import Notes, Segment, Step, SubTrajectory
from tersely_agents.memory.store import original_id

Count = Callable[[str], int]
"""A function that counts the tokens of a text."""
Ending = Literal["finished", "overlong"]
"""Ways in which a transcript ends: with its task done, or with more resets or steps than it may have."""


# Kinds and keys of events are a file format: sessions that were written once must always open.


class FirstEvent(TypedDict):
    """The first prompt."""

    kind: Literal["first"]
    messages: list[Json]
    """The messages as the context shows them."""
    given: NotRequired[str]
    """Checksum of the messages as they were given, if some were shortened."""
    originals: NotRequired[list[str | None]]
    """Id of each message's original; None for a message that was not shortened."""


class MessageEvent(TypedDict):
    """A message of the conversation."""

    kind: Literal["message"]
    message: Json
    full: bool
    """True if the message fills the context, so that its step is held back."""
    original: NotRequired[str]
    """Id of the original, if the message was shortened."""


class PinEvent(TypedDict):
    """A text to keep through every reset."""

    kind: Literal["pin"]
    key: str
    text: str | None
    """The text to keep; None to remove the pin."""


class EndEvent(TypedDict):
    """The end of the conversation."""

    kind: Literal["outcome"]
    outcome: Ending


class ResetEvent(TypedDict):
    """A new beginning of the context, with notes."""

    kind: Literal["reset"]
    request: Json
    """The instruction to write notes."""
    answer: Json
    """The notes as they were written, before they were shortened."""
    by: Literal["policy", "extractive"]
    """Author of the notes. "policy": the model wrote them. "extractive": they are quotes. Stores hold these
    names."""
    base: list[Json]
    """The new context. Its last message holds the notes, and is empty if there is nothing to note."""
    replayed: list[Json]
    """The step that was held back, shortened if it did not fit; empty without such a step, or if it was
    dropped."""
    found: NotRequired[list[list[str | int]]]
    """Statements of the user up to here, for stores that drop earlier events; see `dump_pins`."""
    first: NotRequired[list[Json]]
    """The first prompt as the context shows it from now on, if it had to be shortened further."""
    originals: NotRequired[list[str | None]]
    """Id of the original of each message of `base` and `replayed`."""


Event = FirstEvent | MessageEvent | PinEvent | EndEvent | ResetEvent

KINDS = frozenset({"first", "message", "pin", "outcome", "reset"})


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages so far, and the part of them that the context holds.

    Many members: the memory, a reset and training each read some of them.

    `Transcript()` is empty, and its first event must be "first". The same events give equal transcripts. Only
    `apply` makes another one.
    """

    first: tuple[Json, ...] = ()
    """The first prompt, as the context shows it: system message, task, constraints."""
    closed: tuple[Segment, ...] = ()
    """The segments that a reset ended."""
    segment: Segment = field(default_factory=Segment)
    """The segment that the context shows."""
    held: tuple[Json, ...] = ()
    """The step that is held back until a reset because it would fill the context, and the messages after
    it."""
    open_step: tuple[Json, ...] = ()
    """An assistant message with unanswered calls, and the results that have come."""
    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pinned texts by key."""
    board: PinBoard = field(default_factory=PinBoard)
    """Statements of the user: the current pins, by kind, and those that were replaced."""
    originals: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that were shortened, by id, unless a store keeps them."""
    references: Mapping[str, str] = field(default_factory=dict[str, str])
    """Ids of first originals, by the ids of the shortened texts that the context shows."""
    is_over: bool = False
    """True if the transcript was opened with a limit that its context reaches."""
    tokens: int = 0
    """Size of the context, with the open step and without the step that is held back."""
    steps: int = 0
    """Number of assistant messages so far, including those before the last reset."""
    events: int = 0
    """Number of events so far, which is the place of the next one in the store."""
    ending: Ending | None = None

    @property
    def is_full(self) -> bool:
        """True if the context must be reset before the model may act again."""
        return bool(self.held) or (self.is_over and not self.open_step)

    @property
    def resets(self) -> int:
        return len(self.closed)

    @property
    def notes(self) -> str:
        """The last notes as they were written, without the words around them in the context."""
        last = self.closed[-1].notes if self.closed else None
        return "" if last is None else get_text(last.answer)

    @property
    def unanswered(self) -> list[str]:
        """Ids of the tool calls that have no result yet."""
        answered = {message["tool_call_id"] for message in self.open_step[1:]}
        return [i for message in self.open_step[:1] for i in get_call_ids(message) if i not in answered]

    @property
    def messages(self) -> list[Json]:
        """The context, copied. Raises InvalidInputError while tool calls are unanswered."""
        self.check_answered("Append them, or call interrupt().")
        return copy.deepcopy(self.segment.shown)

    @property
    def conversation(self) -> list[Json]:
        """The messages of the context one by one, without the notes. Raises InvalidInputError while tool
        calls are unanswered."""
        self.check_answered("Append them, or call interrupt().")
        base = self.segment.base[:-1] if self.resets else self.segment.base
        return copy.deepcopy([*base, *self.segment.written])

    @property
    def survivors(self) -> tuple[Json, ...]:
        """Messages that the last reset kept, between the first prompt and the notes."""
        return self.segment.base[len(self.first) : -1] if self.resets else ()

    @property
    def user_request(self) -> str | None:
        """The user's last request and first request, as a query; None without text."""
        given = [m for m in self.first if m["role"] == "user"] or self.first
        later = [*self.later_messages("user"), *(m for m in self.held if m["role"] == "user")]
        texts = [strip_agent_blocks(get_text(m)) for m in (*later[-1:], given[-1])]
        return "\n".join(filter(None, texts)) or None

    def query_of_call(self, call: str) -> str | None:
        """Return a query for the result of a call: its arguments, then the user's request."""
        for given in self.open_step[0].get("tool_calls") or () if self.open_step else ():
            if given["id"] == call:
                return join_query(given.get("function", {}).get("arguments"), self.user_request)
        return self.user_request

    def later_messages(self, *roles: str) -> list[Json]:
        """Return messages of these roles after the first prompt, in order, without notes."""
        return [m for m in (*self.survivors, *self.segment.written) if m["role"] in roles]

    def check_answered(self, remedy: str) -> None:
        """Raise InvalidInputError while tool calls are unanswered."""
        if self.open_step:
            raise InvalidInputError(f"The tool calls {self.unanswered} have no result yet. {remedy}")

    def trajectory(self) -> Iterator[SubTrajectory]:
        """Yield the messages that were sent and written, from reset to reset. A step that is held back is
        included only after the end of the transcript, because it was then the last step."""
        for segment in self.closed:
            yield segment.sub_trajectory()
        is_last = bool(self.held) and self.ending is not None
        yield self.segment.sub_trajectory([Step(self.steps, self.held)] if is_last else [])

    @property
    def past(self) -> list[Json]:
        """The messages that resets took out of the context, in order."""
        return [message for segment in self.closed for message in segment.written]

    def original_key(self, message: Json) -> str | None:
        """Return the id of the first original of a message in the context; None if it was not shortened."""
        return self.references.get(original_id(get_text(message)))

    def tokens_with(self, message: Json, count: Count) -> int:
        """Return the size of the context with a further message."""
        segment = self.segment
        if message["role"] == "user" and segment.follows_reset and not self.open_step:
            added = replace(segment, steps=(*segment.steps, Step(self.steps, (message,))))
            return self.tokens + measure_tokens(added.shown, count) - measure_tokens(segment.shown, count)
        return self.tokens + measure_tokens([message], count)

    def apply(self, event: Event, count: Count, originals: Sequence[tuple[str, str]] = ()) -> Transcript:
        """Return the transcript after `event`, measured with `count`. It keeps the `originals` (id, text)."""
        after = self._apply(event, count)
        texts = {**self.originals, **dict(originals)} if originals else self.originals
        return replace(after, events=self.events + 1, originals=texts)

    def _apply(self, event: Event, count: Count) -> Transcript:
        match event["kind"]:
            case "first":
                first = tuple(event["messages"])
                references = _map_references(first, event.get("originals", ()))
                segment, tokens = Segment(first), measure_tokens(first, count)
                board = self._read_statements(first)
                return replace(
                    self, first=first, segment=segment, board=board, references=references, tokens=tokens
                )
            case "message":
                return self._append(event, count)
            case "pin":
                return replace(self, pins=with_pin(self.pins, event["key"], event["text"]))
            case "reset":
                return self._reset(event, count)
            case "outcome":
                return replace(self, ending=event["outcome"])
            case _ as unknown:
                assert_never(unknown)

    def _read_statements(self, messages: Sequence[Json]) -> PinBoard:
        board = self.board
        for message in messages:
            if message["role"] == "user":
                board = board.read(get_text(message))
        return board

    def _append(self, event: MessageEvent, count: Count) -> Transcript:
        message = event["message"]
        after = replace(
            self,
            open_step=(*self.open_step, message),
            references={**self.references, **_map_references([message], [event.get("original")])},
            tokens=self.tokens_with(message, count),
            steps=self.steps + (message["role"] == "assistant"),
            board=self._read_statements([message]),
        )
        if after.unanswered:
            return after
        messages = after.open_step
        if event["full"]:
            before = self.tokens - measure_tokens(self.open_step, count)
            return replace(after, open_step=(), held=(*self.held, *messages), tokens=before)
        steps = (*self.segment.steps, Step(after.steps, messages))
        return replace(after, open_step=(), segment=replace(self.segment, steps=steps))

    def _reset(self, event: ResetEvent, count: Count) -> Transcript:
        notes = Notes(event["request"], event["answer"], event["by"] == "policy")
        base, replayed = tuple(event["base"]), tuple(event["replayed"])
        steps = (Step(self.steps, replayed, is_carried=True),) if replayed else ()
        segment = Segment(base, steps, follows_reset=True)
        return replace(
            self,
            first=tuple(event.get("first", self.first)),
            closed=(*self.closed, replace(self.segment, notes=notes)),
            segment=segment,
            held=(),
            references=_map_references([*base, *replayed], event.get("originals", ())),
            is_over=False,
            board=self.board if self.board.pins else PinBoard(load_pins(event.get("found", ()))),
            tokens=measure_tokens(segment.shown, count),
        )


def with_pin(pins: Mapping[str, str], key: str, text: str | None) -> dict[str, str]:
    """Return the pins with `text` under the key, or without the key if `text` is None."""
    return {k: v for k, v in {**pins, key: text}.items() if v is not None}


def _map_references(messages: Sequence[Json], keys: Sequence[str | None]) -> dict[str, str]:
    """Map the ids of shortened texts to the ids of their first originals."""
    pairs = zip(messages, keys, strict=False)
    return {original_id(get_text(message)): key for message, key in pairs if key is not None}
