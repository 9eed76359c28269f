"""The memories that are compared: tersely's and those in common use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tersely import Compressor
from tersely.messages import Json, measure_tokens
from tersely_agents.memory import AgentMemory

Count = Callable[[str], int]

MASK = "[earlier tool result left out]"


class Memory(Protocol):
    """The part of a conversation that an agent shows the model."""

    def append(self, message: Json) -> None:
        """Take the next message of the conversation."""
        ...

    def context(self) -> list[Json]:
        """Return the messages that the model would get now."""
        ...


class Everything:
    """The whole transcript."""

    def __init__(self, first: Sequence[Json]) -> None:
        self.first = list(first)
        self.rest: list[Json] = []

    def append(self, message: Json) -> None:
        self.rest.append(message)

    def context(self) -> list[Json]:
        return [*self.first, *self.rest]


class DropOldest(Everything):
    """The first prompt and as many of the last messages as fit.

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
    """The last tool results; earlier ones are replaced by a line (The Complexity Trap, 2025)."""

    def __init__(self, first: Sequence[Json], window: int) -> None:
        super().__init__(first)
        self._window = window

    def context(self) -> list[Json]:
        results = [i for i, m in enumerate(self.rest) if m["role"] == "tool"]
        hidden = set(results[: -self._window])
        return [*self.first, *({**m, "content": MASK} if i in hidden else m for i, m in enumerate(self.rest))]


class Tersely:
    """`AgentMemory` without a model: its notes are the most relevant sentences of the transcript."""

    def __init__(self, first: Sequence[Json], limit: int, compressor: Compressor) -> None:
        self._memory = AgentMemory(first, limit=limit, compressor=compressor)

    def append(self, message: Json) -> None:
        self._reset_if_full()
        self._memory.append(message)

    def context(self) -> list[Json]:
        self._reset_if_full()
        return self._memory.prepare(None)

    def _reset_if_full(self) -> None:
        if self._memory.transcript.is_full:
            self._memory.prepare(None)
