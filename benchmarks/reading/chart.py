"""The figure of the README: right answers against tokens, for tersely, its rivals, and all documents."""

# matplotlib is typed in part only.
# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.quality.controls import MINILM, OURS, WHOLE, WORDS
from benchmarks.quality.slim import SLIM
from benchmarks.reading.contexts import ALL

COLOURS = {OURS: "#c2410c", MINILM: "#2563eb", WORDS: "#15803d", SLIM: "#7c3aed", WHOLE: "#6b7280"}
"""Systems that are drawn, in the order of the legend."""


def draw(points: Mapping[str, Sequence[tuple[float, float, float, float]]], title: str, path: Path) -> None:
    """Draw a line for each system, and one for all documents.

    Args:
        points: by system, (share of tokens, F1, low, high), all in [0, 1].
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 5))
    ((_, whole, _, _),) = points[ALL]
    axis.axhline(100 * whole, color="#111827", lw=1.5, ls="--")
    axis.text(0, 100 * whole + 0.8, "all documents", fontsize=13, color="#111827")
    for system, colour in COLOURS.items():
        shares, values, lows, highs = zip(*sorted(points[system]), strict=True)
        x, y = [100 * share for share in shares], [100 * value for value in values]
        below = [100 * (value - low) for value, low in zip(values, lows, strict=True)]
        above = [100 * (high - value) for value, high in zip(values, highs, strict=True)]
        width = 3 if system == OURS else 1.6
        axis.errorbar(x, y, [below, above], color=colour, lw=width, marker="o", ms=7, capsize=4, label=system)
    axis.set_xlim(left=0)
    axis.set_xlabel("tokens kept, %", fontsize=14)
    axis.set_ylabel("F1 of the answers, %", fontsize=14)
    axis.set_title(title, fontsize=14)
    axis.tick_params(labelsize=13)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=12, loc="lower right")
    figure.tight_layout()
    # A white ground, so that it can be read on a dark page too.
    figure.savefig(path, dpi=110, facecolor="white")
    pyplot.close(figure)
