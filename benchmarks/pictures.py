"""The three pictures of README.md and docs/results.md, from the records in `baselines/`."""

# matplotlib is typed in part only.
# pyright: basic

from __future__ import annotations

from typing import Any

from benchmarks.pages import BASELINES, ROOT, find_table, percent
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
READER = "claude"
LOST = 0.05


def draw_pictures() -> None:
    """Draw every picture whose records exist."""
    for draw, records in (
        (draw_answers, ("reading",)),
        (draw_refusals, ("abstention",)),
        (draw_times, TIMED),
    ):
        if all((BASELINES / f"{name}.json").is_file() for name in records):
            draw()


def draw_answers() -> None:
    """Draw the F1 of a reader against the tokens that it gets: systems as lines, all documents dashed."""
    read = find_table("reading", "Answers")
    means = [row for row in read.rows if row["reader"] == READER and row["set"] == "mean of the sets"]
    figure, axis = _open("tokens that the reader gets, %", "F1 of its answers, %")
    (whole,) = [row for row in means if row["system"] == "all documents"]
    axis.axhline(percent(whole["F1"]), color="#111827", lw=1.5, ls="--", label="all documents")
    for system, colour in COLOURS.items():
        rows = [row for row in means if row["system"] == system and row["size"] in ("0.1", "0.25")]
        points = sorted((percent(row["tokens"]), *_bounds(row["F1"])) for row in rows)
        shares, values, below, above = zip(*points, strict=True)
        width = 3 if system == "tersely" else 1.6
        axis.errorbar(
            shares, values, [below, above], color=colour, lw=width, marker="o", capsize=4, label=system
        )
    axis.set_xlim(left=0)
    axis.legend(fontsize=12, loc="lower right")
    _save(figure, "answers.png")


def draw_refusals() -> None:
    """Draw, for each set, the share of unanswerable questions that are refused at a loss of 5 %."""
    curve = find_table("abstention", "Questions without an answer that are refused")
    scores = {"tersely": "#c2410c", "MiniLM sentences": "#2563eb", "BM25": "#15803d"}
    sets = list(dict.fromkeys(str(row["set"]) for row in curve.rows))
    figure, axis = _open(f"refused, if {LOST:.0%} of the answerable questions are lost, %", "")
    for at, (score, colour) in enumerate(scores.items()):
        values = [percent(curve.find(set=name, score=score, lost=LOST)["refused"]) for name in sets]
        places = [place + 0.26 * (at - 1) for place in range(len(sets))]
        axis.barh(places, values, height=0.24, color=colour, label=score)
    axis.set_yticks(range(len(sets)), [name.partition(",")[0] for name in sets])
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.legend(fontsize=12, loc="lower right")
    _save(figure, "refusals.png")


TIMED = ("latency", "prepared")


def draw_times() -> None:
    """Draw the seconds of a call, with and without prepared documents."""
    calls = find_table("latency", "Calls")
    prepared = find_table("prepared", "Times")
    bars: list[tuple[str, float, str]] = []
    for count in (10, 30):
        rows = [row for row in prepared.rows if str(row["request"]).startswith(f"{count} documents:")]
        ready = [_number(row["p50"]) for row in rows if row["documents"] == "prepared"]
        whole = _number(calls.find(system="tersely", request=f"{count} documents")["p50"])
        bars += [
            (f"{count} documents", whole, "#c2410c"),
            (f"{count} prepared documents", max(ready), "#ea9a6b"),
        ]
    figure, axis = _open("seconds of a call on two cores", "")
    axis.barh(
        [name for name, _, _ in bars], [value for _, value, _ in bars], color=[colour for *_, colour in bars]
    )
    for at, (_, value, _) in enumerate(bars):
        axis.text(value, at, f" {value:.2f} s", va="center", fontsize=13)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.25 * max(value for _, value, _ in bars))
    _save(figure, "times.png")


def _open(x: str, y: str) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 4.5))
    axis.set_xlabel(x, fontsize=14)
    axis.set_ylabel(y, fontsize=14)
    axis.tick_params(labelsize=13)
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)
    return figure, axis


def _save(figure: Any, name: str) -> None:
    from matplotlib import pyplot

    figure.tight_layout()
    # A white ground, so that it can be read on a dark page too.
    figure.savefig(FOLDER / name, dpi=110, facecolor="white", metadata={"Software": None})
    pyplot.close(figure)


def _bounds(cell: object) -> tuple[float, float, float]:
    assert isinstance(cell, Estimate)
    return 100 * cell.value, 100 * (cell.value - cell.low), 100 * (cell.high - cell.value)


def _number(cell: object) -> float:
    assert isinstance(cell, float)
    return cell
