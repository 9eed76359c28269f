"""How long compressions take on this machine: measured once for each model, and remembered."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from tersely.errors import InvalidInputError
from tersely.types import Compression

if TYPE_CHECKING:
    from random import Random

_SIZES = (1, 12, 48, 192)
"""What is measured, in sentences of about 22 tokens."""
_PASSAGE = 6
"""Sentences of a passage."""
_RUNS = 3
_NOUNS = (
    "archive", "baker", "bridge", "canal", "chapel", "dam", "farmer", "ferry", "forest",
    "garden", "harbour", "island", "judge", "lamp", "ledger", "mill", "museum", "orchard", "painter",
    "pier", "quarry", "railway", "shepherd", "storm", "tower", "valley", "vineyard", "weaver",
)  # fmt: skip
_VERBS = ("bought", "described", "drew", "feared", "inherited", "left", "painted", "repaired", "sold")

Compress = Callable[[str, Sequence[str]], Compression]


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds of a compression by the tokens of its documents; straight lines lead from size to size.

    Fewer tokens than the first size take as long as it.

    Raises InvalidInputError unless tokens and seconds are positive, and tokens grow.
    """

    times: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        positive = all(tokens > 0 and 0 < seconds < float("inf") for tokens, seconds in self.times)
        if not self.times or not positive or any(a[0] >= b[0] for a, b in pairwise(self.times)):
            raise InvalidInputError(
                f"times are {self.times!r}. Pass pairs of tokens and seconds, with growing tokens."
            )

    def seconds(self, tokens: int) -> float:
        """Seconds for documents of so many tokens."""
        if tokens <= self.times[0][0]:
            return self.times[0][1]
        points = self.times if len(self.times) > 1 else ((0, 0.0), *self.times)
        place = min(bisect_left(points, tokens, key=lambda point: point[0]), len(points) - 1)
        (left, fewer), (right, more) = points[place - 1 : place + 1]
        slope = max(0.0, more - fewer) / (right - left)
        return fewer + slope * (tokens - left)


def find_speed(name: str, compress: Compress, *, again: bool = False) -> Speed:
    """The speed of what `name` stands for: that of last time, or measured now, in about two seconds.

    It is kept in the folder `tersely` of `$XDG_CACHE_HOME` or `~/.cache`, so that what is decided by it stays
    the same when a program starts again. Where the folder cannot be written, it is measured every time.

    Args:
        name: model, counter and threads.
        compress: keeps a part of documents for a query.
        again: whether to measure also what has been measured.
    """
    file = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tersely" / "speed.json"
    known = _read(file)
    if not again:
        with suppress(KeyError, TypeError, ValueError):
            return Speed(tuple((int(tokens), float(seconds)) for tokens, seconds in known[name]))
    import json

    speed = measure_speed(compress)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.write_text(json.dumps({**known, name: speed.times}), encoding="utf-8")
        draft.replace(file)
    return speed


def measure_speed(compress: Compress) -> Speed:
    """Time `compress` on texts of four sizes: the fastest of three runs each, as others work here too."""
    from random import Random  # `import tersely` need not wait for it

    draw = Random(0)
    sentences = [_write_sentence(draw) for _ in range(max(_SIZES))]
    query = f"Who {_VERBS[0]} the {_NOUNS[0]}?"
    compress(query, sentences[:1])
    times: list[tuple[int, float]] = []
    for count in _SIZES:
        passages = [" ".join(sentences[at : min(at + _PASSAGE, count)]) for at in range(0, count, _PASSAGE)]
        seconds: list[float] = []
        tokens = 0
        for _ in range(_RUNS):
            start = perf_counter()
            tokens = compress(query, passages).tokens_before
            seconds.append(perf_counter() - start)
        times.append((tokens, min(seconds)))
    return Speed(tuple(times))


def _read(file: Path) -> dict[str, Any]:
    """What is remembered; nothing where the file is missing or damaged."""
    import json

    with suppress(OSError, ValueError):
        known: object = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return cast("dict[str, Any]", known)
    return {}


def _write_sentence(draw: Random) -> str:
    a, b, c, d = draw.sample(_NOUNS, 4)
    year = draw.randrange(1700, 1900)
    return f"In {year} the {a} of the {b} {draw.choice(_VERBS)} the {c} behind the old {d} on the hill."
