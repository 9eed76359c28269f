"""A transcript: the messages of one conversation, as a frozen value that events change into the next one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from tersely.errors import InvalidInputError
from tersely.messages import Json, get_call_ids, get_text, join_query, measure_tokens
from tersely_agents.memory.events import Ending, Event, MessageEvent, ResetEvent
from tersely_agents.memory.segments import Notes, Segment, Step, SubTrajectory
from tersely_agents.memory.store import original_id

Count = Callable[[str], int]
"""Tokens of a text."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages so far, and which of them the context holds.

    `Transcript()` is empty; the event "first" has to come first. A transcript is what its events make of it:
    the same events give equal transcripts.

    Many members: it is a value, and they are what can be read off it. Only `apply` leads to another one.
    """

    first: tuple[Json, ...] = ()
    """The first prompt, as the context shows it: system message, task, constraints."""
    closed: tuple[Segment, ...] = ()
    """The segments that a reset ended."""
    segment: Segment = field(default_factory=Segment)
    """The segment that the context shows."""
    held: tuple[Json, ...] = ()
    """The step that is held back for a reset, because with it the context would be full."""
    open_step: tuple[Json, ...] = ()
    """An assistant message whose calls are not all answered, and the results that have come."""
    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    """What is pinned, by key."""
    identifiers: tuple[str, ...] = ()
    """Those that the last notes name, because the user's messages with them are gone."""
    originals: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that were shortened, by id, unless a store keeps them."""
    references: Mapping[str, str] = field(default_factory=dict[str, str])
    """Ids of first originals, by the ids of the shortened texts that the context shows."""
    is_over: bool = False
    """Whether the transcript was opened with a limit that its context reaches."""
    tokens: int = 0
    """Size of the context, with the open step and without the step that is held back."""
    steps: int = 0
    """Assistant messages so far, those before the last reset included."""
    events: int = 0
    """Events so far: the place of the next one in the store."""
    ending: Ending | None = None

    @property
    def is_full(self) -> bool:
        """Whether the context has to be reset before the model may act again."""
        return bool(self.held) or (self.is_over and not self.open_step)

    @property
    def resets(self) -> int:
        """Resets so far."""
        return len(self.closed)

    @property
    def notes(self) -> str:
        """The last notes as they were written, without the words around them in the context."""
        last = self.closed[-1].notes if self.closed else None
        return "" if last is None else get_text(last.answer)

    @property
    def unanswered(self) -> list[str]:
        """Ids of the tool calls whose results are still to come."""
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
        """What the user wants, as a query: the last request, then the first; None where nothing is said."""
        given = [m for m in self.first if m["role"] == "user"] or self.first
        later = [*self.later_messages("user"), *(m for m in self.held if m["role"] == "user")]
        texts = [get_text(m).strip() for m in (*later[-1:], given[-1])]
        return "\n".join(filter(None, texts)) or None

    def query_of_call(self, call: str) -> str | None:
        """What the result of a call is needed for, as a query: its arguments, then the user's request."""
        for given in self.open_step[0].get("tool_calls") or () if self.open_step else ():
            if given["id"] == call:
                return join_query(given.get("function", {}).get("arguments"), self.user_request)
        return self.user_request

    def later_messages(self, *roles: str) -> list[Json]:
        """Messages of these roles after the first prompt, in order, notes left out."""
        return [m for m in (*self.survivors, *self.segment.written) if m["role"] in roles]

    def check_answered(self, remedy: str) -> None:
        """Raises InvalidInputError while tool calls are unanswered."""
        if self.open_step:
            raise InvalidInputError(f"The tool calls {self.unanswered} have no result yet. {remedy}")

    def trajectory(self) -> Iterator[SubTrajectory]:
        """What was sent and written, from reset to reset. A step that is held back belongs to it once the
        transcript has ended: then it was the last."""
        for segment in self.closed:
            yield segment.sub_trajectory()
        is_last = bool(self.held) and self.ending is not None
        yield self.segment.sub_trajectory([Step(self.steps, self.held)] if is_last else [])

    def original_key(self, message: Json) -> str | None:
        """The id of what a message of the context was first shortened from; None for one that came so."""
        return self.references.get(original_id(get_text(message)))

    def tokens_with(self, message: Json, count: Count) -> int:
        """Size of the context with a further message."""
        segment = self.segment
        if message["role"] == "user" and segment.follows_reset and not self.open_step:
            added = replace(segment, steps=(*segment.steps, Step(self.steps, (message,))))
            return self.tokens + measure_tokens(added.shown, count) - measure_tokens(segment.shown, count)
        return self.tokens + measure_tokens([message], count)

    def apply(self, event: Event, count: Count, originals: Sequence[tuple[str, str]] = ()) -> Transcript:
        """The transcript after `event`, measured with `count`; `originals` are those to keep here, as
        (id, text)."""
        after = self._after(event, count)
        texts = {**self.originals, **dict(originals)} if originals else self.originals
        return replace(after, events=self.events + 1, originals=texts)

    def _after(self, event: Event, count: Count) -> Transcript:
        match event["kind"]:
            case "first":
                first = tuple(event["messages"])
                references = _references(first, event.get("originals", ()))
                segment, tokens = Segment(first), measure_tokens(first, count)
                return replace(self, first=first, segment=segment, references=references, tokens=tokens)
            case "message":
                return self._with_message(event, count)
            case "pin":
                return replace(self, pins=with_pin(self.pins, event["key"], event["text"]))
            case "reset":
                return self._reset(event, count)
            case "outcome":
                return replace(self, ending=event["outcome"])
            case _ as unknown:
                assert_never(unknown)

    def _with_message(self, event: MessageEvent, count: Count) -> Transcript:
        message = event["message"]
        after = replace(
            self,
            open_step=(*self.open_step, message),
            references={**self.references, **_references([message], [event.get("original")])},
            tokens=self.tokens_with(message, count),
            steps=self.steps + (message["role"] == "assistant"),
        )
        if after.unanswered:
            return after
        messages = after.open_step
        if event["full"]:
            before = self.tokens - measure_tokens(self.open_step, count)
            return replace(after, open_step=(), held=messages, tokens=before)
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
            references=_references([*base, *replayed], event.get("originals", ())),
            is_over=False,
            identifiers=tuple(event["identifiers"]),
            tokens=measure_tokens(segment.shown, count),
        )


def with_pin(pins: Mapping[str, str], key: str, text: str | None) -> dict[str, str]:
    """The pins with `text` under the key, or without the key where `text` is None."""
    return {k: v for k, v in {**pins, key: text}.items() if v is not None}


def _references(messages: Sequence[Json], keys: Sequence[str | None]) -> dict[str, str]:
    """The ids of first originals, by the ids of the texts that stand for them."""
    pairs = zip(messages, keys, strict=False)
    return {original_id(get_text(message)): key for message, key in pairs if key is not None}
