"""The pictures of README.md and docs/results.md, from the records in `baselines/`.

`python -m benchmarks.results` draws them again. A picture whose record is missing stays as it is.
"""

# matplotlib is typed in part only.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.pages import BASELINES, HOTPOTQA, READER, ROOT, SQUAD, find_table, percent
from benchmarks.shared.statistics import Estimate

FOLDER = ROOT / "docs"
COLOURS = {
    "tersely": "#c2410c",
    "MiniLM sentences": "#2563eb",
    "BM25 sentences": "#15803d",
    "LLMSlim": "#7c3aed",
    "whole documents": "#6b7280",
}
"""Systems that are drawn, in the order of the legend."""
LOST = 0.05


def draw_pictures(folder: Path = FOLDER) -> None:
    """Draw every picture whose records exist."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name, (draw, records) in PICTURES.items():
        if all((BASELINES / f"{record}.json").is_file() for record in records):
            figure = draw(pyplot)
            figure.tight_layout()
            # A white ground, so that it can be read on a dark page too.
            figure.savefig(folder / name, dpi=130, facecolor="white", metadata={"Software": None})
            pyplot.close(figure)


def draw_answers(pyplot: Any) -> Any:
    """Return the F1 of a reader against the tokens that it gets: systems as lines, all documents dashed."""
    answers = find_table("reading", "Answers")
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.6), sharey=True)
    for axis, name in zip(axes, (HOTPOTQA, SQUAD), strict=True):
        read = answers.select(reader=READER, set=name)
        _label(axis, "tokens that the reader gets, %", "")
        axis.set_title(name, fontsize=14)
        (whole,) = (row for row in read if row["system"] == "all documents")
        axis.axhline(percent(whole["F1"]), color="#111827", lw=1.5, ls="--", label="all documents")
        for system, colour in COLOURS.items():
            rows = [row for row in read if row["system"] == system and row["size"] in ("0.1", "0.25")]
            points = sorted((percent(row["tokens"]), *_bounds(row["F1"])) for row in rows)
            shares, values, below, above = zip(*points, strict=True)
            width = 3 if system == "tersely" else 1.6
            bars = [below, above] if system == "tersely" else None
            axis.errorbar(shares, values, bars, color=colour, lw=width, marker="o", capsize=4, label=system)
        axis.set_xlim(0, 30)
    axes[0].set_ylabel("F1 of the answers, %", fontsize=14)
    axes[1].legend(fontsize=11, loc="lower right")
    return figure


def draw_refusals(pyplot: Any) -> Any:
    """Return the share of unanswerable questions of each set that are refused at a loss of 5 %."""
    curve = find_table("abstention", "Questions without an answer that are refused")
    scores = {"tersely": "#c2410c", "MiniLM sentences": "#2563eb", "BM25": "#15803d"}
    sets = list(dict.fromkeys(str(row["set"]) for row in curve.rows))
    figure, axis = pyplot.subplots(figsize=(7, 4.5))
    _label(axis, "unanswerable questions that are refused, %", "")
    for at, (score, colour) in enumerate(scores.items()):
        values = [percent(curve.find(set=name, score=score, lost=LOST)["refused"]) for name in sets]
        places = [place + 0.26 * (at - 1) for place in range(len(sets))]
        axis.barh(places, values, height=0.24, color=colour, label=score)
    axis.set_yticks(range(len(sets)), [name.partition(",")[0] for name in sets])
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.legend(fontsize=12, loc="lower center", bbox_to_anchor=(0.35, 1.0), ncol=3, frameon=False)
    return figure


def draw_times(pyplot: Any) -> Any:
    """Return the seconds of a call, with and without prepared documents."""
    calls = find_table("latency", "Calls")
    prepared = find_table("prepared", "Times")
    bars: list[tuple[str, float, str]] = []
    for count in (10, 30):
        rows = [row for row in prepared.rows if str(row["request"]).startswith(f"{count} documents:")]
        ready = [_seconds(row["p50"]) for row in rows if row["documents"] == "prepared"]
        whole = _seconds(calls.find(system="tersely", request=f"{count} documents")["p50"])
        bars += [
            (f"{count} documents", whole, "#c2410c"),
            (f"{count} prepared documents", max(ready), "#ea9a6b"),
        ]
    figure, axis = pyplot.subplots(figsize=(7, 3.2))
    _label(axis, "seconds of a call on two cores", "")
    axis.barh(
        [name for name, _, _ in bars], [value for _, value, _ in bars], color=[colour for *_, colour in bars]
    )
    for at, (_, value, _) in enumerate(bars):
        axis.text(value, at, f" {value:.2f} s", va="center", fontsize=13)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.25 * max(value for _, value, _ in bars))
    return figure


PICTURES: Mapping[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "answers.png": (draw_answers, ("reading",)),
    "refusals.png": (draw_refusals, ("abstention",)),
    "times.png": (draw_times, ("latency", "prepared")),
}
"""For each picture: the function that draws it, and the records that it needs."""


def _label(axis: Any, x: str, y: str) -> None:
    axis.set_xlabel(x, fontsize=14)
    axis.set_ylabel(y, fontsize=14)
    axis.tick_params(labelsize=13)
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)


def _bounds(cell: object) -> tuple[float, float, float]:
    """Return an estimate in percent, and how far its interval reaches below and above."""
    assert isinstance(cell, Estimate)
    value, low, high = (100 * number for number in (cell.value, cell.low, cell.high))
    return value, value - low, high - value


def _seconds(cell: object) -> float:
    assert isinstance(cell, float)
    return cell
