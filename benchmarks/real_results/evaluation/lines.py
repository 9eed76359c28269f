# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
# fmt: off
"""Lines of logs with rising times, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

START = datetime(2026, 6, 9, 21, 14, 5)


def mix_lines(
    seed: int,
    count: int,
    step_s: float,
    usual: Callable[[Random, datetime], str],
    events: dict[int, list[str]],
) -> str:
    """Return usual lines with the events after the line of their number; `{t:...}` in an event is its time."""
    random = Random(seed)
    now = START
    lines: list[str] = []
    for number in range(count):
        now += timedelta(seconds=random.uniform(0.1, 2 * step_s))
        lines.append(usual(random, now))
        lines += [event.replace("{t", "{0").format(now) for event in events.get(number, ())]
    return "\n".join(lines) + "\n"
