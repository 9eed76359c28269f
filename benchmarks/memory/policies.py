"""What a memory shows the model: tersely's, and what people use today."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tersely import Compressor
from tersely.agent import AgentMemory
from tersely.chat import ChatModel
from tersely.chat.transcript import size

Json = dict[str, Any]
Count = Callable[[str], int]

MASK = "[earlier tool result left out]"


class Memory(Protocol):
    def append(self, message: Json) -> None: ...

    def context(self) -> list[Json]:
        """What the model would be sent now."""
        ...

    @property
    def summary_tokens(self) -> tuple[int, int]:
        """Tokens (read, written) by a model for summaries so far."""
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
    """Keeps the first prompt and as many of the last messages as fit, without parting calls from results."""

    def __init__(self, first: Sequence[Json], limit: int, count: Count) -> None:
        super().__init__(first)
        self._limit, self._count = limit, count

    def context(self) -> list[Json]:
        """See `Memory.context`."""
        start = 0
        while start < len(self.rest) and size([*self.first, *self.rest[start:]], self._count) >= self._limit:
            start += 1
            while start < len(self.rest) and self.rest[start]["role"] == "tool":
                start += 1
        return [*self.first, *self.rest[start:]]


class MaskObservations(Everything):
    """Shows only the last tool results; earlier ones are replaced by a line (The Complexity Trap, 2025)."""

    def __init__(self, first: Sequence[Json], window: int) -> None:
        super().__init__(first)
        self._window = window

    def context(self) -> list[Json]:
        """See `Memory.context`."""
        results = [i for i, m in enumerate(self.rest) if m["role"] == "tool"]
        hidden = set(results[: -self._window])
        return [*self.first, *({**m, "content": MASK} if i in hidden else m for i, m in enumerate(self.rest))]


class Tersely:
    """AgentMemory; without a model its notes are the most relevant sentences of the transcript."""

    def __init__(
        self,
        first: Sequence[Json],
        limit: int,
        compressor: Compressor,
        model: ChatModel | None = None,
        **options: Any,
    ) -> None:
        self._memory = AgentMemory(first, limit=limit, compressor=compressor, **options)
        self._model = model
        self._count = compressor.count_tokens
        self._read = self._written = 0

    @property
    def summary_tokens(self) -> tuple[int, int]:
        return self._read, self._written

    def append(self, message: Json) -> None:
        self._ready()
        self._memory.append(message)

    def context(self) -> list[Json]:
        """See `Memory.context`."""
        self._ready()
        return self._memory.prepare(self._model)

    def _ready(self) -> None:
        if not self._memory.full:
            return
        if self._model is not None:
            self._read += size(self._memory.summary_request(), self._count)
        before = self._memory.summaries
        self._memory.prepare(self._model)
        if self._model is not None and self._memory.summaries > before:
            *_, last, _ = self._memory.trajectory()
            self._written += self._count(last.response[-1]["content"])
