"""One line of progress on standard error."""

from __future__ import annotations

import sys
import time


class Progress:
    """A bar on a terminal; elsewhere a line every half minute, so that logs stay short."""

    def __init__(self, total: int) -> None:
        self._total = max(1, total)
        self._done = 0
        self._started = self._shown = time.monotonic()
        self._live = sys.stderr.isatty()

    def step(self, what: str, count: int = 1) -> None:
        """Count `count` more of the total as done, and show the progress of `what`."""
        self._done += count
        now = time.monotonic()
        if now - self._shown < (0.1 if self._live else 30.0) and self._done < self._total:
            return
        self._shown = now
        share = min(1.0, self._done / self._total)
        left = (now - self._started) * (1 / share - 1)
        text = f"[{'#' * round(24 * share):<24}] {share:4.0%} {what} {left:.0f}s left"
        sys.stderr.write(f"\r\033[K{text}" if self._live else f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._live:
            sys.stderr.write("\n")
