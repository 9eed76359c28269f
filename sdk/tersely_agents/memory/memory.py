"""The memory of an agent: a transcript. The model sees only a part of it, the context.

Before the context reaches its limit, it is reset (SUPO: summarise and reset).

    append   messages as they come, while the context is shorter than the limit
    full     the newest step would reach the limit: the step is held back, and a summary is wanted
    reset    the context becomes the first prompt, later system messages, the user's newest message, pins and
             notes; with `replay`, the step that was held back follows

A step is an assistant message with the results of its calls, or any other single message. The notes are the
summary, or sentences quoted from the transcript in its place.

Between two resets the context only grows at its end, which keeps prompt caches warm.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from tersely.compressor import Compressor
from tersely.inputs import check_compressor, check_list, check_members, check_text
from tersely.messages import Json
from tersely.runtime.locks import Lock
from tersely.tokens import ApproximateCounter
from tersely.types import Compression
from tersely_agents.chat.protocol import (
    ChatError,
    ChatModel,
    Message,
    Options,
    acomplete_safely,
    complete_safely,
)
from tersely_agents.memory.journal import Journal, OverlongError
from tersely_agents.memory.reset import Resetter
from tersely_agents.memory.settings import MemorySettings
from tersely_agents.memory.shortening import Shortener
from tersely_agents.memory.store import EventStore
from tersely_agents.memory.transcript import Transcript

_INTERRUPTED = "[no result: the call was interrupted]"


class AgentMemory:
    """The memory of one agent, or of one conversation: the newest transcript of a session, under a lock.

    `transcript` shows the state; only the methods change it. `summary_request` and `reset` are the parts of
    `prepare`, for callers that ask the model themselves.

    Many members: a caller does many things with a chat, from `append` to `recall`.

    Args:
        first: the first prompt: system message, task, constraints, in OpenAI's format. System messages
            stay word for word; a long message of the user is shortened. With None, the memory continues the
            session that is in the store.
        limit: the context must stay below this many tokens (SUPO's L), 200 or more.
        max_summaries: the largest number of resets (S), with or without a summary. One more raises
            OverlongError. None for any number.
        max_steps: after this many assistant messages (H), the transcript's ending is "overlong", unless it
            has ended before. It still takes messages. None for any number.
        summary_tokens: the largest number of tokens of a summary; at most a quarter of the limit, which is
            the default.
        compress_over: a tool result with more tokens than this is compressed for the task when it comes in;
            the original stays retrievable. None leaves tool results as they are.
        compressor: compresses, and counts tokens. None loads the bundled model when it is first needed, and
            counts with the built-in estimate.
        replay: what happens to a step that was held back for a summary. True puts its messages back into the
            context after the reset. False drops them, as the paper does, so that the model acts again.
        store: saves each change before it takes effect; None keeps the session in this process.
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
        if compressor is not None:
            check_compressor(compressor)
        if store is not None:
            remedy = "Pass a store, such as MemoryStore(path)."
            check_members(store, ("events", "append", "original"), "The store", remedy)
        check_text(session, "The session", "Pass its name as text.")
        settings = MemorySettings(limit, max_summaries, max_steps, summary_tokens, compress_over, replay)
        count = ApproximateCounter().count if compressor is None else compressor.count_tokens
        self.journal = Journal(Resetter(settings, count, Shortener(compressor, count)), store, session)
        """The limits and the store, for callers that keep transcripts themselves."""
        self._lock = Lock()
        self._transcript = self.journal.open(first)

    @property
    def transcript(self) -> Transcript:
        """The newest transcript: messages, size, pins, notes, ending."""
        return self._transcript

    def append(self, *messages: Message) -> None:
        """Take in the next messages. While a reset is due, hold them back. If they would take more than half
        of the limit, reset now, with quoted sentences instead of a summary.

        Raises InvalidInputError for a message that cannot come next: a result without a call, a message
        that leaves a call unanswered, a malformed one. Messages before it have been taken in. Raises
        OverlongError if too much is held back and no further reset is allowed. The transcript then ends as
        overlong.
        """
        with self._lock:
            for message in messages:
                try:
                    self._transcript = self.journal.append(self._transcript, message)
                except OverlongError:
                    self._transcript, _ = self.journal.finish_overlong(self._transcript)
                    raise

    def interrupt(self) -> None:
        """Give every call without a result a placeholder as its result, for example after a crash."""
        with self._lock:
            for call in self._transcript.unanswered:
                self.append({"role": "tool", "tool_call_id": call, "content": _INTERRUPTED})

    def pin(self, key: str, text: str | None) -> None:
        """Keep `text` through every reset, word for word: a constraint, a plan, a to-do list. The same key
        replaces it, None removes it. The context shows it from the next reset on.

        Raises InvalidInputError for anything but text, and if system messages and pins would take more
        than half of the limit.
        """
        with self._lock:
            self._transcript = self.journal.pin(self._transcript, key, text)

    def finish(self) -> None:
        """Mark the task as done. A task with more than `max_steps` assistant messages stays overlong."""
        with self._lock:
            self._transcript = self.journal.finish(self._transcript)

    def recall(self, query: str, *, budget: int | None = None) -> Compression:
        """Return the sentences that answer `query`, from all messages that left the context, and from the
        originals of shortened ones.

        budget: tokens to fill with the best sentences. By default only those above the model's threshold
            come back, in at most `summary_tokens` tokens.
        """
        return self.journal.recall(self._transcript, query, budget)

    def original(self, key: str) -> str | None:
        """Return the original text with this id; None for an unknown id."""
        return self.journal.original(self._transcript, key)

    def prepare(
        self, model: ChatModel | None, *, tools: Sequence[Mapping[str, Any]] | None = None
    ) -> list[Json]:
        """Return the messages to send to the model now. If the context is full, reset it first, with the
        model's summary.

        If the model is None, fails or says nothing, sentences quoted from the transcript take the
        summary's place. The model is not asked when there is nothing to summarise. Pass the `tools` of your
        other requests: the request for the summary then begins like them, and the prompt cache serves it.

        Raises OverlongError if no further reset is allowed, and InvalidInputError while tool calls are
        unanswered, or for anything but a model.
        """
        _check_model(model, tools)
        if begun := self._begin_reset(tools):
            resets, request, options = begun
            text = ""
            if model is not None and request is not None:
                with contextlib.suppress(ChatError):
                    text = complete_safely(model, request, **options).text
            self._end_reset(text, resets)
        return self._read_messages()

    async def aprepare(
        self, model: ChatModel | None, *, tools: Sequence[Mapping[str, Any]] | None = None
    ) -> list[Json]:
        """Do the same as `prepare` without blocking the event loop."""
        import asyncio

        _check_model(model, tools)
        if begun := await asyncio.to_thread(self._begin_reset, tools):
            resets, request, options = begun
            text = ""
            if model is not None and request is not None:
                with contextlib.suppress(ChatError):
                    text = (await acomplete_safely(model, request, **options)).text
            await asyncio.to_thread(self._end_reset, text, resets)
        return await asyncio.to_thread(self._read_messages)

    def summary_request(self) -> list[Json]:
        """Return the context and a request to summarise it (v_sum).

        If no further reset is allowed, end the transcript as overlong and raise OverlongError. Raises
        InvalidInputError while tool calls are unanswered.
        """
        with self._lock:
            self._end_unless_may_reset()
            return self.journal.resetter.summary_request(self._transcript)

    def reset(self, summary: str | None = None) -> None:
        """Replace the context with the kept messages, the pins and `summary`.

        With `replay`, the step that was held back follows.

        If `summary` is None, sentences quoted from the transcript take its place. A summary longer than
        `summary_tokens` is shortened. Raises InvalidInputError while tool calls are unanswered, and
        OverlongError if no further reset is allowed.
        """
        with self._lock:
            self._end_unless_may_reset()
            transcript = self._transcript
            if summary is None:
                self._transcript = self.journal.reset_with_reply(transcript, "")
            else:
                self._transcript = self.journal.reset(transcript, summary)

    def _begin_reset(
        self, tools: Sequence[Mapping[str, Any]] | None
    ) -> tuple[int, list[Json] | None, Options] | None:
        """Return the number of resets so far, the request for a summary (None if none is needed), and its
        options; None if the context is not full."""
        with self._lock:
            if not self._transcript.is_full:
                return None
            transcript, resetter = self._transcript, self.journal.resetter
            request = self.summary_request()
            is_needed = resetter.removes_messages(transcript)
            return transcript.resets, request if is_needed else None, resetter.summary_options(tools)

    def _end_reset(self, text: str, resets: int) -> None:
        """Reset with the model's reply, unless another caller has made a reset meanwhile."""
        with self._lock:
            if self._transcript.is_full and self._transcript.resets == resets:
                self._transcript = self.journal.reset_with_reply(self._transcript, text)

    def _end_unless_may_reset(self) -> None:
        """End the transcript as overlong and raise OverlongError, unless a further reset is allowed."""
        if not self.journal.resetter.may_reset(self._transcript):
            self._transcript, error = self.journal.finish_overlong(self._transcript)
            raise error

    def _read_messages(self) -> list[Json]:
        with self._lock:
            return self._transcript.messages


def _check_model(model: object, tools: object) -> None:
    """Raise InvalidInputError unless both can be used.

    Without this check, `prepare` would mistake a wrong argument for a failing model, and continue without it.
    """
    if model is not None:
        check_members(
            model, ("complete", "acomplete"), "The model", "Pass a model of tersely_agents.chat, or None."
        )
    if tools is not None:
        check_list(tools, Mapping, "tools", "Pass a list of tools in OpenAI's format, or None.")
