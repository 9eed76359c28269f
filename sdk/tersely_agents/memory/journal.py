"""The journal of a session. It checks every change of a transcript, and stores it before it counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import check_list, check_text, show_value
from tersely.messages import Json, check_message, get_text, measure_tokens
from tersely.score.bm25 import BM25
from tersely.types import Compression
from tersely_agents.chat.protocol import Message, remove_thoughts
from tersely_agents.memory.recall import Turn, list_documents
from tersely_agents.memory.reset import OPENED_SHARE, Resetter
from tersely_agents.memory.settings import MemorySettings
from tersely_agents.memory.shortening import (
    ContextMessage,
    Originals,
    find_references,
    list_messages,
    recognise,
)
from tersely_agents.memory.store import EventStore, StoreError, original_id
from tersely_agents.memory.transcript import (
    KINDS,
    Ending,
    Event,
    FirstEvent,
    MessageEvent,
    Transcript,
    with_pin,
)
from tersely_agents.redaction import redact_all

_MAX_TEXTS_READ = 200
"""Largest number of texts that the model reads for one `recall`. If there are more, it reads those that match
the words of the query best."""


class OverlongError(TerselyError):
    """A memory would need more resets than it may make."""


@dataclass(frozen=True, slots=True)
class Journal:
    """One session's limits and store. It holds no transcript: every method takes one and returns the next.

    A store numbers the events of a session. Only the newest transcript of a session can be continued; for an
    older one, the store raises ConflictError. All methods that write may raise StoreError.
    """

    resetter: Resetter
    store: EventStore | None
    session: str

    @property
    def settings(self) -> MemorySettings:
        return self.resetter.settings

    def open(self, first: Sequence[Message] | None) -> Transcript:
        """Return the session's transcript, or a new one that begins with `first`.

        If the first prompt is too long, the user's messages in it are shortened. If the session was written
        under a higher limit, and its context reaches this one, it opens as full: the next reset shortens it.

        Raises InvalidInputError for a first prompt that cannot be used or is not the session's, and for
        system messages and pins that leave no room; StoreError for a session that cannot be read.
        """
        events = self.store.events(self.session) if self.store is not None else []
        given = None
        if first is not None:
            messages: list[object] = check_list(first, object, "The first prompt", "Pass a list of messages.")
            given = [check_message(m, name=f"Message {place}") for place, m in enumerate(messages)]
        if events:
            transcript = self._replay(events)
            self._check_opened(transcript, given, events[0])
            shown = transcript.tokens - measure_tokens(transcript.open_step, self.resetter.count)
            return replace(transcript, is_over=shown >= self.settings.limit)
        if not given:
            raise InvalidInputError(
                f"There is no session {self.session!r} to go on with, and no first prompt. Pass `first`."
            )
        if any(m["role"] not in ("system", "developer", "user") for m in given):
            raise InvalidInputError("The first prompt holds system, developer and user messages only.")
        self.resetter.check_pinned(given, {})
        shown, originals = self.resetter.fit_first([ContextMessage(m) for m in given])
        event: FirstEvent = {"kind": "first", "messages": list_messages(shown)}
        if event["messages"] != given:
            event["given"] = _checksum(given)
            event["originals"] = [s.key for s in shown]
        return self._write(Transcript(), event, originals)

    def append(self, transcript: Transcript, message: Message) -> Transcript:
        """Add a message, or hold it back if the context is full. If too much would be held back, reset the
        context first, without a model.

        Raises InvalidInputError for a message that cannot come next, and OverlongError if no further reset
        is allowed. It then stores nothing.
        """
        checked = check_message(message, transcript.unanswered)
        if self.resetter.holds_too_much(transcript, checked):
            if not self.resetter.may_reset(transcript):
                raise self._make_overlong_error(transcript)
            transcript = self.reset_with_reply(transcript, "")
        if checked["role"] in ("system", "developer"):
            self.resetter.check_pinned([*_find_pinned(transcript), checked], transcript.pins)
        originals: Originals = []
        shown = recognise(checked, partial(self.original, transcript))
        over = self.settings.compress_over
        if checked["role"] == "tool" and over is not None:
            query = transcript.query_of_call(checked["tool_call_id"])
            shown, originals = self.resetter.shortener.shorten(shown, over, query)
        is_full = self.resetter.must_hold_back(transcript, shown.message)
        event: MessageEvent = {"kind": "message", "message": shown.message, "full": is_full}
        if shown.key is not None:
            event["original"] = shown.key
        return self._write(transcript, event, originals)

    def pin(self, transcript: Transcript, key: str, text: str | None) -> Transcript:
        """Keep a text through every reset; None removes it. Raises InvalidInputError if the pin or its key is
        not text, or if there is no room for it."""
        check_text(key, "The key of a pin")
        if text is not None:
            check_text(text, f"The pin {show_value(key)}", "Pass text, or None.")
        pins = with_pin(transcript.pins, key, text)
        if text is not None:
            self.resetter.check_pinned(_find_pinned(transcript), pins)
        return self._write(transcript, {"kind": "pin", "key": key, "text": text})

    def finish(self, transcript: Transcript, ending: Ending = "finished") -> Transcript:
        """End a transcript. One with more than `max_steps` assistant messages stays overlong."""
        max_steps = self.settings.max_steps
        if max_steps is not None and transcript.steps > max_steps:
            return transcript
        return self._write(transcript, {"kind": "outcome", "outcome": ending})

    def finish_overlong(self, transcript: Transcript) -> tuple[Transcript, OverlongError]:
        """End a transcript that must not be reset again, and return the error to raise or to report."""
        ended = self.finish(transcript, "overlong") if transcript.ending is None else transcript
        return ended, self._make_overlong_error(transcript)

    def reset(self, transcript: Transcript, summary: str) -> Transcript:
        """Reset the context to `summary`, which the policy wrote. Raises InvalidInputError while tool calls
        are unanswered."""
        check_text(summary, "The summary")
        transcript.check_answered("Append them first.")
        return self._reset(transcript, summary, "policy")

    def reset_with_reply(self, transcript: Transcript, text: str) -> Transcript:
        """Reset with the model's reply to the summary request; if it is empty, with sentences of the
        transcript."""
        summary = remove_thoughts(text)
        if summary:
            return self.reset(transcript, summary)
        transcript.check_answered("Append them first.")
        return self._reset(transcript, self.resetter.extract(transcript), "extractive")

    def recall(self, transcript: Transcript, query: str, budget: int | None) -> Compression:
        """Return the sentences that answer the query, from all messages that left the context."""
        shown = transcript.segment.shown
        turns: list[Turn] = []
        for message in (*transcript.past, *shown):
            text = get_text(message)
            found = [self.original(transcript, key) for key in find_references(text)]
            originals = [original for original in found if original is not None]
            turns.append((message["role"], originals or ([] if message in shown else [text])))
        documents = list_documents(turns)
        if len(documents) > _MAX_TEXTS_READ and check_text(query, "The query"):
            texts = [f"{document.title or ''}\n{document.text}" for document in documents]
            scores = BM25(texts).scores(query)
            best = sorted(range(len(documents)), key=lambda at: -scores[at])[:_MAX_TEXTS_READ]
            documents = [documents[at] for at in sorted(best)]
        compressor = self.resetter.shortener.compressor
        if budget is None:
            budget = self.settings.summary_limit
            found = compressor.compress(query, documents)
            if found.tokens_after <= budget:
                return found
        return compressor.compress(query, documents, budget=budget)

    def original(self, transcript: Transcript, key: str) -> str | None:
        """Return the original text with this id; None for an unknown id."""
        if check_text(key, "The id of an original") in transcript.originals or self.store is None:
            return transcript.originals.get(key)
        return self.store.original(self.session, key)

    def _reset(self, transcript: Transcript, summary: str, by: Literal["policy", "extractive"]) -> Transcript:
        lookup = partial(self.original, transcript)
        return self._write(transcript, *self.resetter.reset(transcript, summary, by, lookup))

    def _make_overlong_error(self, transcript: Transcript) -> OverlongError:
        return OverlongError(
            f"No further reset is allowed: the limit is {self.settings.max_summaries}, and "
            f"{transcript.resets} were made. Raise max_summaries."
        )

    def _write(self, transcript: Transcript, event: Event, originals: Originals | None = None) -> Transcript:
        texts = originals or []
        if self.store is not None:
            self.store.append(self.session, transcript.events, [cast("Json", event)], texts)
            texts = []
        return self._apply(transcript, event, texts)

    def _apply(self, transcript: Transcript, event: Event, originals: Originals) -> Transcript:
        """Return the transcript after the event. The last step that is allowed makes it overlong."""
        after = transcript.apply(event, self.resetter.count, originals)
        max_steps = self.settings.max_steps
        is_last = max_steps is not None and after.steps >= max_steps and not after.open_step
        return replace(after, ending="overlong") if is_last and after.ending is None else after

    def _replay(self, events: Sequence[Json]) -> Transcript:
        transcript = Transcript()
        try:
            for event in events:
                if event["kind"] not in KINDS:
                    raise StoreError(
                        f"The session {self.session!r} has an event {event['kind']!r}. Update tersely."
                    )
                transcript = self._apply(transcript, cast("Event", event), [])
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise StoreError(
                f"The session {self.session!r} cannot be read: an event lacks {error}. Restore a copy."
            ) from error
        return transcript

    def _check_opened(self, transcript: Transcript, given: list[Json] | None, begin: Json) -> None:
        self.resetter.check_pinned(_find_pinned(transcript), transcript.pins, OPENED_SHARE)
        if given is None or _checksum(given) == begin.get("given"):
            return
        if begin["messages"] not in (given, redact_all(given)):
            raise InvalidInputError(
                f"The session {self.session!r} began with another first prompt. Use another session, or "
                "leave `first` out to go on with it."
            )


def _checksum(messages: Sequence[Json]) -> str:
    return original_id(json.dumps(messages, sort_keys=True))


def _find_pinned(transcript: Transcript) -> list[Json]:
    """Return the first prompt and all later system messages, which every reset keeps."""
    held = [m for m in transcript.held if m["role"] in ("system", "developer")]
    return [*transcript.first, *transcript.later_messages("system", "developer"), *held]
