"""The memories that are compared: tersely's and those in common use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Unpack

from tersely import Compressor
from tersely.messages import Json, measure_tokens
from tersely_agents.chat import ChatModel, Message, Reply
from tersely_agents.chat.protocol import Options
from tersely_agents.memory import AgentMemory

Count = Callable[[str], int]

MASK = "[earlier tool result left out]"


class Memory(Protocol):
    """What an agent shows the model of its conversation."""

    def append(self, message: Json) -> None:
        """Take the next message of the conversation."""
        ...

    def context(self) -> list[Json]:
        """The messages that the model would get now."""
        ...

    @property
    def summary_tokens(self) -> tuple[int, int]:
        """Tokens (read, written) that a model has spent on summaries so far."""
        ...


class Everything:
    """Keeps the whole transcript."""

    def __init__(self, first: Sequence[Json]) -> None:
        self.first = list(first)
        self.rest: list[Json] = []

    summary_tokens = (0, 0)

    def append(self, message: Json) -> None:
        self.rest.append(message)

    def context(self) -> list[Json]:
        return [*self.first, *self.rest]


class DropOldest(Everything):
    """Keeps the first prompt and as many of the last messages as fit.

    Calls stay together with their results.
    """

    def __init__(self, first: Sequence[Json], limit: int, count: Count) -> None:
        super().__init__(first)
        self._limit, self._count = limit, count
        self._start = 0

    def context(self) -> list[Json]:
        # Messages that do not fit once never fit again, so the search continues where it ended.
        while self._start < len(self.rest) and not self._fits(self.rest[self._start :]):
            self._start += 1
        return [*self.first, *self.rest[self._start :]]

    def _fits(self, window: Sequence[Json]) -> bool:
        is_orphaned = window[0]["role"] == "tool"
        return not is_orphaned and measure_tokens([*self.first, *window], self._count) < self._limit


class MaskObservations(Everything):
    """Shows only the last tool results; earlier ones are replaced by a line (The Complexity Trap, 2025)."""

    def __init__(self, first: Sequence[Json], window: int) -> None:
        super().__init__(first)
        self._window = window

    def context(self) -> list[Json]:
        results = [i for i, m in enumerate(self.rest) if m["role"] == "tool"]
        hidden = set(results[: -self._window])
        return [*self.first, *({**m, "content": MASK} if i in hidden else m for i, m in enumerate(self.rest))]


class Tersely:
    """`AgentMemory`. Without a model its notes are the most relevant sentences of the transcript."""

    def __init__(
        self, first: Sequence[Json], limit: int, compressor: Compressor, model: ChatModel | None = None
    ) -> None:
        self._memory = AgentMemory(first, limit=limit, compressor=compressor)
        self._model = CountedModel(model, compressor.count_tokens) if model else None

    @property
    def summary_tokens(self) -> tuple[int, int]:
        return self._model.tokens if self._model else (0, 0)

    def append(self, message: Json) -> None:
        self._reset_if_full()
        self._memory.append(message)

    def context(self) -> list[Json]:
        self._reset_if_full()
        return self._memory.prepare(self._model)

    def _reset_if_full(self) -> None:
        if self._memory.transcript.is_full:
            self._memory.prepare(self._model)


class CountedModel:
    """A chat model whose tokens the benchmark counts itself, in the same way everywhere."""

    def __init__(self, model: ChatModel, count: Count) -> None:
        self._model, self._count = model, count
        self.name = model.name
        self.tokens = (0, 0)
        """Of all requests and of all replies."""

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Return the model's next message."""
        return self._add(messages, self._model.complete(messages, **options))

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Do the same as `complete`, without blocking the event loop."""
        return self._add(messages, await self._model.acomplete(messages, **options))

    def _add(self, messages: Sequence[Message], reply: Reply) -> Reply:
        tokens_in, tokens_out = self.tokens
        written = sum(map(self._count, [reply.text, *(call.arguments for call in reply.tool_calls)]))
        self.tokens = tokens_in + measure_tokens(messages, self._count), tokens_out + written
        return reply
