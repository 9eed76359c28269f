"""The pictures of README.md, docs/results.md and RESULTS.md, from the records in `baselines/`.

`python -m benchmarks.results` draws them again. A picture whose record is missing stays as it is.
"""

# matplotlib is typed in part only.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.pages import BASELINES, HOTPOTQA, NQ_30, READER, ROOT, SQUAD, find_table, percent
from benchmarks.shared.statistics import Estimate

COLOURS = {
    "tersely": "#c2410c",
    "MiniLM sentences": "#2563eb",
    "BM25 sentences": "#15803d",
    "LLMSlim": "#7c3aed",
    "whole documents": "#6b7280",
    "first sentences": "#0891b2",
    "random sentences": "#db2777",
}
"""Systems that are drawn, in the order of the legend."""
WIDTH = 5.5
"""Width in inches. The letters of a wider picture are too small on a phone."""
LOST = 0.05


def draw_pictures(root: Path = ROOT) -> None:
    """Draw every picture that has all its records."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name, (draw, records) in PICTURES.items():
        if all((BASELINES / f"{record}.json").is_file() for record in records):
            figure = draw(pyplot)
            figure.tight_layout()
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # A white ground, so that it can be read on a dark page too.
            figure.savefig(path, dpi=130, facecolor="white")
            pyplot.close(figure)


def draw_answers(pyplot: Any) -> Any:
    """Return the F1 of a reader against the tokens that it gets: systems as lines, all documents dashed."""
    answers = find_table("reading", "Answers")
    figure, axes = pyplot.subplots(2, 1, figsize=(WIDTH, 9), sharex=True, sharey=True)
    for axis, name in zip(axes, (HOTPOTQA, SQUAD), strict=True):
        read = answers.select(reader=READER, set=name)
        _label(axis, "", "F1 of the answers, %")
        axis.set_title(name, fontsize=14)
        (whole,) = (row for row in read if row["system"] == "all documents")
        axis.axhline(percent(whole["F1"]), color="#111827", lw=1.5, ls="--", label="all documents")
        for system in COLOURS:
            rows = [row for row in read if row["system"] == system and row["size"] in ("0.1", "0.25")]
            _draw_line(axis, system, [(percent(row["tokens"]), row["F1"]) for row in rows])
        axis.set_xlim(0, 30)
    axes[1].set_xlabel("tokens that the reader gets, %", fontsize=14)
    _add_legend(axes[1])
    return figure


def draw_kept(pyplot: Any) -> Any:
    """Return the share of questions that keep their answer against the share of tokens that is kept."""
    answers = find_table("quality", "Answers")
    figure, axes = pyplot.subplots(3, 1, figsize=(WIDTH, 12), sharex=True, sharey=True)
    for axis, name in zip(axes, (HOTPOTQA, NQ_30, SQUAD), strict=True):
        _label(axis, "", "answers kept, %")
        axis.set_title(name, fontsize=14)
        for system in COLOURS:
            rows = [row for row in answers.select(set=name, system=system) if row["rate"] != "own"]
            _draw_line(axis, system, [(percent(row["rate achieved"]), row["answers kept"]) for row in rows])
    axes[2].set_xlabel("tokens kept, %", fontsize=14)
    _add_legend(axes[2])
    return figure


def draw_refusals(pyplot: Any) -> Any:
    """Return the share of unanswerable questions of each set that are refused at a loss of 5 %."""
    curve = find_table("abstention", "Questions without an answer that are refused")
    scores = {"tersely": "tersely", "MiniLM sentences": "MiniLM sentences", "BM25": "BM25 sentences"}
    sets = list(dict.fromkeys(str(row["set"]) for row in curve.rows))
    figure, axis = pyplot.subplots(figsize=(WIDTH, 6))
    _label(axis, "unanswerable questions refused, %", "")
    for at, (score, system) in enumerate(scores.items()):
        values = [percent(curve.find(set=name, score=score, lost=LOST)["refused"]) for name in sets]
        places = [place + 0.26 * (at - 1) for place in range(len(sets))]
        axis.barh(places, values, height=0.24, color=COLOURS[system], label=score)
    axis.set_yticks(range(len(sets)), [name.partition(",")[0].replace(" ", "\n", 1) for name in sets])
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.legend(fontsize=12, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncol=3, frameon=False)
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
            (f"{count} documents", whole, COLOURS["tersely"]),
            (f"{count} prepared\ndocuments", max(ready), "#ea9a6b"),
        ]
    figure, axis = pyplot.subplots(figsize=(WIDTH, 3.4))
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
    "docs/answers.png": (draw_answers, ("reading",)),
    "docs/refusals.png": (draw_refusals, ("abstention",)),
    "docs/times.png": (draw_times, ("latency", "prepared")),
    "benchmarks/baselines/quality.png": (draw_kept, ("quality",)),
}
"""The function that draws each picture, and the records that it needs."""


def _label(axis: Any, x: str, y: str) -> None:
    axis.set_xlabel(x, fontsize=14)
    axis.set_ylabel(y, fontsize=14)
    axis.tick_params(labelsize=13)
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)


def _draw_line(axis: Any, system: str, points: list[tuple[float, Any]]) -> None:
    """Draw the estimates of a system, tersely's with their intervals."""
    if points:
        shares, cells = zip(*sorted(points, key=lambda point: point[0]), strict=True)
        values, below, above = zip(*map(_bounds, cells), strict=True)
        is_ours = system == "tersely"
        style = {"color": COLOURS[system], "lw": 3 if is_ours else 1.6, "elinewidth": 1.6, "label": system}
        axis.errorbar(shares, values, [below, above] if is_ours else None, marker="o", capsize=4, **style)


def _add_legend(axis: Any) -> None:
    axis.legend(fontsize=12, loc="upper center", bbox_to_anchor=(0.44, -0.2), ncol=2, frameon=False)


def _bounds(cell: object) -> tuple[float, float, float]:
    """Return an estimate in percent, and how far its interval reaches below and above."""
    assert isinstance(cell, Estimate)
    value, low, high = (100 * number for number in (cell.value, cell.low, cell.high))
    return value, value - low, high - value


def _seconds(cell: object) -> float:
    assert isinstance(cell, float)
    return cell
