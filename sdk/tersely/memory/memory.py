"""A transcript that never outgrows its limit (SUPO: summarise and reset).

    append   messages as they come, while the context is shorter than the limit
    full     the last step would reach it: the step is held back, and a summary is wanted
    reset    the context becomes first prompt + pins + summary; the step that was held back follows

Every change is one event, written to the store before it counts. A memory is what its events make of it, so
that opening a session again gives the same bytes. Bytes before the last reset never change until the next
one, which keeps prompt caches warm.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast, get_args

from tersely.chat.protocol import ChatError, ChatModel, Message, Options, without_thought
from tersely.chat.transcript import Json, call_ids, check_message, render, size, text_of
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import check_count
from tersely.memory.redaction import redact_all
from tersely.memory.reset import Before, Resetter
from tersely.memory.segments import Segment, SubTrajectory
from tersely.memory.shortening import Shortener
from tersely.memory.store import EventStore, StoreError
from tersely.prompts import load_prompt
from tersely.text.approximate import ApproximateCounter

Outcome = Literal["finished", "overlong"]

SMALLEST_LIMIT = 512
"""Tokens, so that notes and a held step find room in what the shares below leave."""
SUMMARY_SHARE = 0.25
"""Share of the limit that a summary may take at most."""


class OverlongError(TerselyError):
    """The memory would need more summaries than it may make."""


class AgentMemory:
    """The memory of one agent, or of one conversation.

    Args:
        first: the first prompt: system message, task, constraints, in OpenAI's format. It stays, word for
            word. None goes on with a session of the store.
        limit: tokens that the context may not reach (SUPO's L), 512 or more.
        max_summaries: most resets (S); one more raises OverlongError. None for any number.
        max_steps: most assistant messages (H); then `outcome` is "overlong". None for any number.
        summary_tokens: most tokens of a summary, at most a quarter of the limit, which is what None gives.
        compress_over: tool results of more tokens are compressed for the task when they come in; the
            original stays retrievable. None leaves them as they are.
        compressor: compresses, and counts tokens. None for the bundled model, loaded when first needed, and
            the bundled estimate.
        replay: what becomes of an action that was held back for a summary: True puts it behind the reset,
            False drops it, as the paper does, so that the policy acts again.
        store: where every change is written before it counts; None keeps it in this process.
        session: name in the store.

    Raises:
        InvalidInputError: an argument cannot be used.
        StoreError: the store cannot be read.
    """

    def __init__(
        self,
        first: Sequence[Message] | None = None,
        *,
        limit: int,
        max_summaries: int | None = None,
        max_steps: int | None = None,
        summary_tokens: int | None = None,
        compress_over: int | None = None,
        compressor: Compressor | None = None,
        replay: bool = True,
        store: EventStore | None = None,
        session: str = "default",
    ) -> None:
        self.limit = check_count(limit, "limit", "tokens")
        if limit < SMALLEST_LIMIT:
            raise InvalidInputError(f"limit is {limit}. Pass {SMALLEST_LIMIT} tokens or more.")
        self._max_summaries = _optional(max_summaries, "max_summaries", "summaries")
        self._max_steps = _optional(max_steps, "max_steps", "steps")
        most = int(SUMMARY_SHARE * limit)
        self._summary_tokens = _optional(summary_tokens, "summary_tokens", "tokens") or most
        if self._summary_tokens > most:
            raise InvalidInputError(
                f"summary_tokens is {summary_tokens}, more than a quarter of the limit. Pass {most} or less."
            )
        self._compress_over = _optional(compress_over, "compress_over", "tokens")
        self._replay = replay
        self._count: Callable[[str], int] = (
            compressor.count_tokens if compressor is not None else ApproximateCounter().count
        )
        self._shortener = Shortener(compressor, self._count)
        self._resetter = Resetter(limit, self._summary_tokens, self._count, self._shortener)
        self._store, self._session = store, session
        self._lock = threading.RLock()
        self._number = 0
        self._first: list[Json] = []
        self._segments: list[Segment] = []
        self._open: list[Json] = []
        self._held: list[Json] | None = None
        self._pins: dict[str, str] = {}
        self._identifiers: list[str] = []
        self._originals: dict[str, str] = {}
        self._sent: list[Json] = []
        self.tokens = 0
        """Size of the working context, messages of an open step included, without a step that is held
        back."""
        self.steps = 0
        """Assistant messages so far, those that a reset took out included."""
        self.summaries = 0
        """Resets so far."""
        self.notes = ""
        """The last summary, as it was written, without the words around it in the context."""
        self.outcome: Outcome | None = None
        self.stable_tokens = 0
        """Tokens at the start of the last `prepare` that were sent before, byte for byte: what a prompt cache
        holds."""
        self.sent_tokens = 0
        """Tokens of the last `prepare`."""
        self._begin(first)

    @property
    def full(self) -> bool:
        """Whether a summary is wanted before the model may act again."""
        return self._held is not None

    @property
    def unanswered(self) -> list[str]:
        """Ids of the tool calls whose results are still to come."""
        answered = {message["tool_call_id"] for message in self._open[1:]}
        return [i for message in self._open[:1] for i in call_ids(message) if i not in answered]

    @property
    def messages(self) -> list[Json]:
        """The working context, without the step that is held back. Raises InvalidInputError while tool calls
        are unanswered."""
        with self._lock:
            if self._open:
                raise InvalidInputError(
                    f"The tool calls {self.unanswered} have no result yet. Append them, or call interrupt()."
                )
            return copy.deepcopy([*self._segment.base, *self._segment.written])

    @property
    def pins(self) -> dict[str, str]:
        """What is pinned, by key."""
        return dict(self._pins)

    @property
    def conversation(self) -> list[Json]:
        """`messages` without the notes."""
        with self._lock:
            messages = self.messages
            if self.summaries:
                del messages[len(self._segment.base) - 1]
            return messages

    def append(self, message: Message) -> None:
        """Take in the next message.

        Raises InvalidInputError for a message that cannot stand here (a result without a call, a call left
        unanswered, a malformed one), and while a summary is wanted. Nothing has changed then.
        """
        with self._lock:
            if self._held is not None:
                raise InvalidInputError("The context is full. Call prepare(), or reset() with a summary.")
            checked = check_message(message, self.unanswered)
            if checked["role"] in ("system", "developer"):
                self._resetter.check_pinned([*self._first, *self._spoken(), checked], self._pins)
            originals: list[tuple[str, str]] = []
            if checked["role"] == "tool" and self._compress_over is not None:
                checked, originals = self._shortener.shorten(
                    checked, self._compress_over, self._query(checked["tool_call_id"])
                )
            self._commit({"kind": "message", "message": checked, "full": self._fills(checked)}, originals)

    def extend(self, messages: Sequence[Message]) -> None:
        """`append` for each."""
        for message in messages:
            self.append(message)

    def interrupt(self, note: str = "[no result: the call was interrupted]") -> None:
        """Answer every call that is still unanswered with `note`, after a crash for example."""
        with self._lock:
            for call in self.unanswered:
                self.append({"role": "tool", "tool_call_id": call, "content": note})

    def pin(self, key: str, text: str | None) -> None:
        """Keep `text` through every reset, word for word: a constraint, a plan, a to-do list. The same key
        replaces it, None removes it. The context shows it from the next reset on.

        Raises InvalidInputError where the first prompt and all pins would take more than half of the limit.
        """
        given = cast("object", text)
        if given is not None and not isinstance(given, str):
            raise InvalidInputError(f"The pin {key!r} is a {type(given).__name__}. Pass text, or None.")
        with self._lock:
            self._resetter.check_pinned([*self._first, *self._spoken()], _with_pin(self._pins, key, text))
            self._commit({"kind": "pin", "key": key, "text": text})

    def finish(self, outcome: Outcome = "finished") -> None:
        """Mark the task as done. A task that has gone beyond `max_steps` stays overlong."""
        if outcome not in get_args(Outcome):
            raise InvalidInputError(f"outcome is {outcome!r}. Pass 'finished' or 'overlong'.")
        with self._lock:
            if self._max_steps is None or self.steps <= self._max_steps:
                self._commit({"kind": "outcome", "outcome": outcome})

    def original(self, key: str) -> str | None:
        """The text that was shortened under this id; None for an id that is not known."""
        if key in self._originals:
            return self._originals[key]
        return None if self._store is None else self._store.original(self._session, key)

    def prepare(
        self, model: ChatModel | None, *, tools: Sequence[Mapping[str, Any]] | None = None
    ) -> list[Json]:
        """What to send to the model now; where the context is full, a reset comes first, with the model's
        summary.

        A model that fails or says nothing is replaced by the most relevant sentences of the transcript; so is
        None. `tools` are sent along, unused, because without them the prompt would begin differently.

        Raises OverlongError where no further summary is allowed, and InvalidInputError while tool calls are
        unanswered.
        """
        if self.full:
            number, request = self.summaries, self.summary_request()
            try:
                text = "" if model is None else model.complete(request, **self._options(tools)).text
            except ChatError:
                text = ""
            self._reset_with(text, number)
        return self._send()

    async def aprepare(
        self, model: ChatModel | None, *, tools: Sequence[Mapping[str, Any]] | None = None
    ) -> list[Json]:
        """`prepare` without blocking the event loop."""
        if self.full:
            import asyncio

            number, request = self.summaries, self.summary_request()
            try:
                text = "" if model is None else (await model.acomplete(request, **self._options(tools))).text
            except ChatError:
                text = ""
            await asyncio.to_thread(self._reset_with, text, number)
        return self._send()

    def summary_request(self) -> list[Json]:
        """The context and the instruction to summarise it (v_sum). Raises OverlongError where no further
        summary is allowed."""
        with self._lock:
            self._check_allowed()
            return [*self.messages, self._request()]

    def reset(self, summary: str) -> None:
        """Replace the context by first prompt, pins and `summary`, and put the step that was held back
        behind.

        A summary longer than `summary_tokens` is shortened. Raises InvalidInputError while tool calls are
        unanswered, and OverlongError where no further summary is allowed.
        """
        with self._lock:
            self._check_allowed()
            if self._open:
                raise InvalidInputError(
                    f"The tool calls {self.unanswered} have no result yet. Append them first."
                )
            self._reset(summary, "policy")

    def trajectory(self) -> Iterator[SubTrajectory]:
        """What was sent and written, from reset to reset. A step that is held back belongs to it once the
        task has an outcome: then it was the last."""
        for segment in self._segments:
            held = self._held if segment is self._segment and self.outcome is not None else None
            yield segment.sub_trajectory([(self.steps, held, True)] if held else [])

    # The state and its events

    @property
    def _segment(self) -> Segment:
        return self._segments[-1]

    def _begin(self, first: Sequence[Message] | None) -> None:
        events = self._store.events(self._session) if self._store is not None else []
        given = None if first is None else [check_message(m) for m in first]
        if events:
            try:
                for event in events:
                    self._apply(event)
            except (KeyError, TypeError, IndexError, AttributeError) as error:
                raise StoreError(
                    f"The session {self._session!r} cannot be read: an event lacks {error}. Restore a copy."
                ) from error
            self._number = len(events)
            self._resetter.check_pinned([*self._first, *self._spoken()], self._pins)
            if self.tokens >= self.limit:
                raise InvalidInputError(
                    f"The session {self._session!r} holds {self.tokens} tokens. Open it with a higher limit."
                )
            if given is not None and given != self._first and redact_all(given) != self._first:
                raise InvalidInputError(
                    f"The session {self._session!r} began with another first prompt. Use another session, or "
                    "leave `first` out to go on with it."
                )
            return
        if not given:
            raise InvalidInputError(
                f"There is no session {self._session!r} to go on with, and no first prompt. Pass `first`."
            )
        if any(m["role"] not in ("system", "developer", "user") for m in given):
            raise InvalidInputError("The first prompt holds system, developer and user messages only.")
        self._resetter.check_pinned(given, {})
        self._commit({"kind": "first", "messages": given})

    def _commit(self, event: Json, originals: Sequence[tuple[str, str]] = ()) -> None:
        if self._store is not None:
            self._store.append(self._session, self._number, [event], originals)
        else:
            self._originals.update(originals)
        self._number += 1
        self._apply(event)

    def _apply(self, event: Json) -> None:
        kind = event["kind"]
        if kind == "first":
            self._first = event["messages"]
            self._segments = [Segment(self._first)]
            self.tokens = size(self._first, self._count)
        elif kind == "message":
            self._take(event["message"], event["full"])
        elif kind == "pin":
            self._pins = _with_pin(self._pins, event["key"], event["text"])
        elif kind == "outcome":
            self.outcome = event["outcome"]
        elif kind == "reset":
            self._segment.summary = (event["request"], event["answer"], event["by"] == "policy")
            self._segments.append(Segment(event["base"]))
            if event["replayed"]:
                self._segment.steps.append((self.steps, event["replayed"], False))
            self._identifiers = event["identifiers"]
            self.notes = event["answer"]["content"]
            self._held = None
            self.summaries += 1
            self.tokens = size([*event["base"], *event["replayed"]], self._count)
        else:
            raise StoreError(f"The session {self._session!r} has an event {kind!r}. Update tersely.")

    def _take(self, message: Json, full: bool) -> None:
        self._open.append(message)
        self.tokens += size([message], self._count)
        if message["role"] == "assistant":
            self.steps += 1
        if self.unanswered:
            return
        step, self._open = self._open, []
        if full:
            self._held = step
            self.tokens -= size(step, self._count)
        else:
            self._segment.steps.append((self.steps, step, True))
        if self._max_steps is not None and self.steps >= self._max_steps and self.outcome is None:
            self.outcome = "overlong"

    def _fills(self, message: Json) -> bool:
        """Whether the message completes a step with which the context reaches the limit."""
        waiting = [i for i in self.unanswered if i != message.get("tool_call_id")]
        complete = not waiting and not (message["role"] == "assistant" and call_ids(message))
        return complete and self.tokens + size([message], self._count) >= self.limit

    # Resets

    def _options(self, tools: Sequence[Mapping[str, Any]] | None) -> Options:
        """How the model is asked for a summary."""
        choice = "none" if tools else None
        return {"max_tokens": self._summary_tokens, "tools": tools, "tool_choice": choice}

    def _request(self) -> Json:
        words = str(max(20, self._summary_tokens * 2 // 3))
        return {"role": "user", "content": load_prompt("memory_request").render(words=words)}

    def _check_allowed(self) -> None:
        if self._max_summaries is None or self.summaries < self._max_summaries:
            return
        if self.outcome is None:
            self.finish("overlong")
        raise OverlongError(
            f"The context is full and was summarised {self.summaries} times, all that is allowed."
        )

    def _reset_with(self, text: str, number: int) -> None:
        """Reset with the model's answer, or, where it is none, with the transcript's own sentences; unless
        another caller has been faster since there were `number` summaries."""
        summary = without_thought(text)
        with self._lock:
            if self._held is None or self.summaries != number:
                return
            if summary:
                self._reset(summary, "policy")
            else:
                self._reset(self._extract(), "extractive")

    def _extract(self) -> str:
        texts = [render(step) for _, step, _ in self._segment.steps]
        # The notes themselves, because the words around them would be taken for a part of the transcript.
        kept = [text_of(m) for m in self._survivors]
        return self._shortener.extract(self._task(), [*kept, self.notes, *texts], self._summary_tokens)

    def _reset(self, summary: str, by: str) -> None:
        held = self._held or []
        if held and held[0]["role"] == "assistant" and not self._replay:
            held = []
        spoken = self._spoken(("system", "developer", "user"))
        before = Before(self._task(), self._first, spoken, held, self._identifiers, self._pins)
        after = self._resetter.reset(before, summary)
        event = {
            "kind": "reset",
            "request": self._request(),
            "answer": {"role": "assistant", "content": summary},
            "by": by,
            "base": after.base,
            "replayed": after.replayed,
            "identifiers": after.identifiers,
        }
        self._commit(event, after.originals)

    @property
    def _survivors(self) -> list[Json]:
        """Messages that the last reset kept, between the first prompt and the notes."""
        return self._segment.base[len(self._first) : -1] if self.summaries else []

    def _spoken(self, roles: Sequence[str] = ("system", "developer")) -> list[Json]:
        """Messages after the first prompt that neither the model nor a tool wrote, in order, notes left
        out."""
        return [m for m in (*self._survivors, *self._segment.written) if m["role"] in roles]

    def _task(self) -> str:
        """What the user wants, as a query: the last request, then the first."""
        given = [m for m in self._first if m["role"] == "user"] or self._first
        later = [*self._spoken(("user",)), *(m for m in self._held or () if m["role"] == "user")]
        texts = [text_of(m).strip() for m in (*later[-1:], given[-1])]
        return "\n".join(filter(None, texts)) or "the task"

    def _query(self, call: str) -> str:
        """What a tool result is to be compressed for: the call's arguments, then the task."""
        for given in self._open[0].get("tool_calls") or () if self._open else ():
            if given["id"] == call:
                return f"{given.get('function', {}).get('arguments', '')} {self._task()}".strip()
        return self._task()

    def _send(self) -> list[Json]:
        messages = self.messages
        stable = 0
        while stable < min(len(messages), len(self._sent)) and messages[stable] == self._sent[stable]:
            stable += 1
        self.sent_tokens = self.tokens
        self.stable_tokens = self.tokens - size(messages[stable:], self._count)
        self._sent = messages
        return messages


def _with_pin(pins: Mapping[str, str], key: str, text: str | None) -> dict[str, str]:
    return {k: v for k, v in {**pins, key: text}.items() if v is not None}


def _optional(value: int | None, name: str, unit: str) -> int | None:
    return None if value is None else check_count(value, name, unit)
