"""Training documents from results of tools: the units into which a compression opens a result."""

from __future__ import annotations

import random
from functools import partial

from tersely.metrics import Range
from tersely.options import make_options
from tersely.split.documents import split
from tersely.tokens import count_each, resolve_counter
from tersely.types import Document

TOOL_RESULTS = "tool_results"
"""Set of questions about results of tools."""

LIMIT = 300
"""Number of tokens to which a result is opened, as for a request with this `budget`."""

ENOUGH = 9_000
"""Number of code points of a result at which no further unit is drawn for a training step."""
AROUND = 500
"""Code points on each side of a needed unit, and of a unit drawn at random, that are read with it."""


def open_result(text: str) -> list[Range]:
    """Return the units that compete for a limit of `LIMIT` tokens, without markup."""
    count = partial(count_each, resolve_counter(None))
    opened = split([Document(text)], make_options({"budget": LIMIT}), count)
    return [(unit.start, unit.end) for unit in opened.units if unit.link.role != "markup"]


def choose_near(units: list[Range], labels: list[int], rng: random.Random) -> list[int]:
    """Return the indices of the units to read in training, ascending: those near needed units, and those near
    others drawn at random, until they have `ENOUGH` code points."""
    chosen: set[int] = set()
    room = ENOUGH

    def read_around(middle: int) -> None:
        nonlocal room
        start, end = units[middle]
        for at, (a, b) in enumerate(units):
            if at not in chosen and b > start - AROUND and a < end + AROUND:
                chosen.add(at)
                room -= b - a

    for at in (at for at, label in enumerate(labels) if label == 1):
        read_around(at)
    for at in rng.sample(range(len(units)), len(units)):
        if room <= 0:
            break
        read_around(at)
    return sorted(chosen)
