"""Cells of kept and not kept become estimates, comparisons and tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.quality.runner import OURS, OWN, SLIM, Cell, Cells, settings
from benchmarks.quality.statistics import Estimate, bootstrap, paired_difference, wilson
from benchmarks.results import describe, table
from benchmarks.shared.tasks import Example

TITLES = {
    OURS: "**tersely**",
    "reranker": "whole documents, by tersely's relevance",
    "random": "random sentences",
    "head": "first sentences",
    "bm25": "BM25 sentences",
    "minilm": "MiniLM sentences",
    SLIM: "LLMSlim",
}
PEERS = ("random", "head", "bm25", "minilm", SLIM)
"""What tersely is compared with. The reranker is not among them: it runs on tersely's own model."""

METRICS = {"answers": "Answers kept, %", "support": "Supporting sentences kept, %"}

Summary = dict[str, Any]


def summarise(title: str, examples: list[Example], cells: Cells, seed: int) -> Summary:
    """One task's JSON: an estimate per system, setting and metric, and tersely against each peer."""
    return {
        "title": title,
        "questions": len(examples),
        "answerable": sum(e.findable for e in examples),
        "supports": sum(len(e.support or ()) for e in examples),
        "tokens": round(float(np.mean(cells[OURS][OWN].before))) if examples else 0,
        "systems": {
            name: {setting: _cell(cell, seed) for setting, cell in by_setting.items()}
            for name, by_setting in cells.items()
        },
        "against": {setting: _against(cells, setting, seed) for setting in settings()},
        "unanswerable": _unanswerable(examples, cells[OURS][OWN]),
    }


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md for a run's JSON."""
    parts = [
        f"Model {result['model']}, {result['split']} split, seed {result['seed']}. "
        f"{describe(result['environment'])}",
        "### Where tersely stands",
        "Difference to the strongest peer (random, first, BM25 and MiniLM sentences, LLMSlim) in percentage "
        "points, paired by question, with its 95 % interval. The strongest peer is the one with the smallest "
        "lower end. *ahead*: the interval is above zero; *level*: it holds zero; *behind*: it is below.",
        _standing(result["tasks"]),
    ]
    for summary in result["tasks"].values():
        parts += _task(summary)
    return "\n\n".join(parts)


def _cell(cell: Cell, seed: int) -> dict[str, Any]:
    answered = cell.answered()
    out: dict[str, Any] = {
        "rate": round(sum(cell.after) / max(1, sum(cell.before)), 4),
        "highest_rate": round(max(a / b for a, b in zip(cell.after, cell.before, strict=True) if b), 4),
    }
    if len(answered):
        out["answers"] = _plain(wilson(float(answered.sum()), len(answered)))
    if sum(cell.supports):
        out["support"] = _plain(bootstrap(np.array(cell.support), np.array(cell.supports, float), seed))
    return out


def _against(cells: Cells, setting: str, seed: int) -> dict[str, Any]:
    """Per metric: the paired difference to each peer, the strongest peer, and the verdict."""
    ours = cells[OURS][setting]
    answerable = ~np.isnan(np.array(ours.answers))
    weights = {"answers": answerable.astype(float), "support": np.array(ours.supports, float)}
    out: dict[str, Any] = {}
    for metric, total in weights.items():
        if not total.sum():
            continue
        differences = {
            peer: paired_difference(_kept(ours, metric), _kept(cells[peer][setting], metric), total, seed)
            for peer in PEERS
            if peer in cells
        }
        strongest = min(differences, key=lambda peer: differences[peer].low)
        out[metric] = {
            "peers": {peer: _plain(difference) for peer, difference in differences.items()},
            "strongest": strongest,
            "verdict": verdict(differences[strongest]),
        }
    return out


def verdict(difference: Estimate) -> str:
    """Where a difference leaves tersely."""
    if difference.low > 0:
        return "ahead"
    return "behind" if difference.high < 0 else "level"


def _kept(cell: Cell, metric: str) -> np.ndarray:
    return np.nan_to_num(np.array(cell.answers)) if metric == "answers" else np.array(cell.support)


def _unanswerable(examples: list[Example], own: Cell) -> dict[str, Any] | None:
    """How much tersely's own threshold keeps where the documents hold no answer."""
    rows = [i for i, example in enumerate(examples) if not example.answers]
    if not rows:
        return None
    rate = sum(own.after[i] for i in rows) / max(1, sum(own.before[i] for i in rows))
    return {
        "questions": len(rows),
        "rate": round(rate, 4),
        "kept_nothing": sum(not own.after[i] for i in rows),
    }


def _plain(estimate: Estimate) -> dict[str, float]:
    return {name: round(getattr(estimate, name), 4) for name in ("value", "low", "high")}


def _task(summary: Summary) -> list[str]:
    parts = [
        f"### {summary['title']}",
        f"{summary['questions']} questions, {summary['answerable']} with an answer to keep, "
        f"{summary['supports']} supporting sentences, {summary['tokens']} tokens a question on average.",
    ]
    if summary["unanswerable"]:
        of = summary["unanswerable"]
        parts.append(
            f"On the {of['questions']} questions that the documents do not answer, the model's own threshold "
            f"keeps {of['rate']:.1%} of the tokens, and nothing at all on {of['kept_nothing']}."
        )
    systems: dict[str, Any] = summary["systems"]
    for metric, heading in METRICS.items():
        rows = [
            [TITLES[name], *(_interval(cells[s].get(metric)) for s in settings())]
            for name, cells in systems.items()
            if metric in cells[OWN]
        ]
        if rows:
            parts += [table([heading, *_headings()], rows)]
    rates = [
        [TITLES[name], *(f"{cells[s]['rate']:.3f}" for s in settings())] for name, cells in systems.items()
    ]
    return [*parts, table(["Rate achieved", *_headings()], rates)]


def _standing(tasks: dict[str, Summary]) -> str:
    rows: list[list[str]] = []
    for summary in tasks.values():
        for metric in METRICS:
            cells = [summary["against"][s].get(metric) for s in settings()]
            if any(cells):
                rows.append([f"{summary['title']}: {metric}", *map(_comparison, cells)])
    return table(["", *_headings()], rows)


def _headings() -> list[str]:
    return [*(f"rate {setting}" for setting in settings() if setting != OWN), "own threshold"]


def _interval(estimate: dict[str, float] | None) -> str:
    if not estimate:
        return ""
    return f"{100 * estimate['value']:.1f} ({100 * estimate['low']:.1f}–{100 * estimate['high']:.1f})"


def _comparison(compared: dict[str, Any] | None) -> str:
    if not compared:
        return ""
    found = compared["peers"][compared["strongest"]]
    spread = f"{100 * found['value']:+.1f} ({100 * found['low']:+.1f} to {100 * found['high']:+.1f})"
    return f"{spread} *{compared['verdict']}* ({compared['strongest']})"
