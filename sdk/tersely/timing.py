"""Seconds per stage of one call."""

from __future__ import annotations

from time import perf_counter


class StageTimer:
    """Measures stages that follow one another. It starts when it is made."""

    def __init__(self) -> None:
        self._start = self._last = perf_counter()
        self._seconds: dict[str, float] = {}

    def lap(self, stage: str) -> float:
        """Add the time since the last lap to `stage`. Returns its seconds so far."""
        now = perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._last
        self._last = now
        return self._seconds[stage]

    def stop(self, stage: str) -> dict[str, float]:
        """Seconds per stage, the last being `stage`, and "total"."""
        self.lap(stage)
        return {**self._seconds, "total": perf_counter() - self._start}
