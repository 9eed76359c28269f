"""Which windows the encoder reads, where it does not read all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tersely.selector.layout import Window
from tersely.selector.matching import Floats


def divide_windows(
    windows: Sequence[Window], values: Floats, offsets: NDArray[np.int64], tokens: int
) -> tuple[list[Window], list[Window]]:
    """Split windows in two: those with the sentences of highest value, up to `tokens` tokens, and the others.

    Both keep their order.
    """
    ranked = _rank(windows, values, offsets)
    ends = np.cumsum([len(windows[i].input_ids) for i in ranked])
    best = set(ranked[: int(np.searchsorted(ends, tokens, side="right"))])
    return [w for i, w in enumerate(windows) if i in best], [
        w for i, w in enumerate(windows) if i not in best
    ]


def _rank(windows: Sequence[Window], values: Floats, offsets: NDArray[np.int64]) -> list[int]:
    """Indices of the windows by their best sentence's value, best first."""
    best = best_values(windows, values, offsets)
    return sorted(range(len(windows)), key=lambda i: (-best[i], i))


def best_values(windows: Sequence[Window], values: Floats, offsets: NDArray[np.int64]) -> list[float]:
    """The value of each window's best sentence."""
    return [max(float(values[offsets[d] + s]) for d, s in w.sentences) for w in windows]
