"""Seconds per stage of one call."""

from __future__ import annotations

from time import perf_counter


class StageTimer:
    """Measures consecutive stages, from the time when it is made."""

    def __init__(self) -> None:
        self._start = self._last = perf_counter()
        self._seconds: dict[str, float] = {}

    def lap(self, stage: str) -> float:
        """Add the time since the last lap to `stage`, and return its seconds so far."""
        now = perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._last
        self._last = now
        return self._seconds[stage]

    def stop(self, stage: str) -> dict[str, float]:
        """End the last stage, and return the seconds per stage and "total"."""
        self.lap(stage)
        return {**self._seconds, "total": perf_counter() - self._start}
