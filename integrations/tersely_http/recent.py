"""Texts that are kept for as long as they are used."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

MAX_AGE_S = 3600.0
"""Seconds for which a value is kept after its last use."""
MAX_BYTES = 32_000_000
"""Largest size in RAM of all values, each with its entry. The value used longest ago goes first."""
ENTRY_BYTES = 500
"""Size of a key, a time and a value without its texts."""


class Recent(Generic[Key, Value]):
    """A store of values by key. Threads may share it.

    Args:
        list_texts: returns the texts of a value, each once.
        clock: returns the time in seconds.
    """

    def __init__(
        self, list_texts: Callable[[Value], Sequence[str]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._list_texts, self._clock = list_texts, clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        """Time of the last use and value, the oldest use first."""
        self.size = 0
        """Number of bytes of all values."""

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, key: Key, value: Value) -> Value:
        """Keep a value, unless there is one with this key; return the one that is there."""
        with self._lock:
            found = self._use(key)
            if found is None:
                found = value
                self._kept[key] = self._clock(), value
                self.size += self._measure(value)
                while self.size > MAX_BYTES:
                    self._forget_oldest()
            return found

    def get(self, key: Key) -> Value | None:
        """Return the value; None if no value has this key, or no longer."""
        with self._lock:
            return self._use(key)

    def _use(self, key: Key) -> Value | None:
        now = self._clock()
        while self._kept and next(iter(self._kept.values()))[0] < now - MAX_AGE_S:
            self._forget_oldest()
        if key not in self._kept:
            return None
        _, value = self._kept[key]
        self._kept[key] = now, value
        self._kept.move_to_end(key)
        return value

    def _forget_oldest(self) -> None:
        _, value = self._kept.popitem(last=False)[1]
        self.size -= self._measure(value)

    def _measure(self, value: Value) -> int:
        return ENTRY_BYTES + sum(map(sys.getsizeof, self._list_texts(value)))
