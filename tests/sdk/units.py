"""Units as tests compare them, and the time that splitting takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from tersely.split.sentences import split_units


def list_units(text: str) -> list[tuple[str, str]]:
    """Return the kind and the text of each unit, in order."""
    return [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text)]


def find_needs(text: str, line: str) -> set[str]:
    """Return the lines that a line needs."""
    units = split_units(text)
    lines = [text[unit.start : unit.end].strip() for unit in units]
    return {lines[need] for need in units[lines.index(line)].link.needs}


def check_heads(text: str, line: str, heads: set[str], starts: tuple[str, ...]) -> None:
    """Check that a line needs these heads, and no other line that begins like one of `starts`."""
    needs = find_needs(text, line)
    assert heads <= needs
    assert {need for need in needs if need.startswith(starts)} <= heads


def grows_linearly(run: Callable[[int], object]) -> bool:
    """Return whether four times the input takes less than eight times the time.

    Quadratic time takes 16 times. Patterns spend their time in C, where nothing can be counted. Other
    processes slow the caches down, so the best of eight tries counts. A short input may be one part, which
    takes less time, so longer ones count too.
    """

    def measure(size: int) -> float:
        started = time.process_time()
        run(size)
        return time.process_time() - started

    run(100)
    if any(measure(2_000) < 8 * (measure(500) + 0.003) for _ in range(8)):
        return True
    return any(measure(8_000) < 8 * measure(2_000) for _ in range(2))
