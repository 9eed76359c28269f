"""Run every system over every question of a task, at every setting, and score what it keeps.

Each line of the rows holds the results of all systems for one question. `kept` has the ranges that tersely
keeps at each setting, as (document, start, end). The lists of a system have a number for each rate; those of
tersely have one more, for its own threshold. `answers` is missing if the question has no answer to keep, and
`support` if no sentence is labelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor
from typing import Any, Literal

import numpy as np

from benchmarks.quality.controls import OURS, CachedScorer
from benchmarks.quality.slim import SLIM, compress_to, count_rendered
from benchmarks.rows import Line, Lines
from benchmarks.shared.statistics import Floats
from benchmarks.shared.tasks import Example, KeptSpan, join_kept, score_kept
from tersely import Compression, Compressor
from tersely.score import Scorer

RATES = (0.05, 0.1, 0.25, 0.5)
OWN = "own"
"""The setting without a limit, which only tersely has: its threshold decides."""
SETTINGS = (*map(str, RATES), OWN)

Metric = Literal["answers", "support"]
QuestionRows = dict[tuple[str, str], list[Line]]
"""Maps (system, setting) to the results of `score_question` for the questions of a task, in order."""


def score_question(example: Example, kept: Sequence[KeptSpan], before: int, after: int) -> Line:
    """Return the result of a system that kept the spans `kept`, and so `after` of `before` tokens.

    `answer_kept` is None if the question has no answer to keep. `supports` is the number of the question's
    supporting spans, and `support_kept` how many of them are kept.
    """
    score = score_kept(example, kept)
    return {
        "answer_kept": score.answer_kept,
        "support_kept": (score.support_kept or 0.0) * score.supports,
        "supports": score.supports,
        "tokens_before": before,
        "tokens_after": after,
        "kept": kept,
    }


def kept_and_total(rows: Lines, metric: Metric) -> tuple[Floats, Floats]:
    """Return the numbers of kept and of all answers or spans of each question, both of shape (questions,)."""
    if metric == "answers":
        kept = [float(bool(row["answer_kept"])) for row in rows]
        total = [float(row["answer_kept"] is not None) for row in rows]
    else:
        kept = [row["support_kept"] for row in rows]
        total = [float(row["supports"]) for row in rows]
    return np.array(kept), np.array(total)


def list_spans(result: Compression) -> list[KeptSpan]:
    """Return the kept ranges of a compression."""
    return [(span.doc, span.start, span.end) for span in result.kept]


def run_task(
    task: str, examples: Iterable[Example], scorers: Mapping[str, Scorer], *, slim: bool
) -> list[Line]:
    """Return a line for each question, with the results of all scorers, and of LLMSlim if `slim`."""
    systems = {name: Compressor(CachedScorer(scorer)) for name, scorer in scorers.items()}
    return [_make_line(task, example, _run_systems(example, systems, slim=slim)) for example in examples]


def _run_systems(example: Example, systems: Mapping[str, Compressor], *, slim: bool) -> dict[str, list[Line]]:
    """Return the results of each system for a question, at every setting."""
    documents = example.to_documents()
    before = 0
    rows: dict[str, list[Line]] = {}
    for name, compressor in systems.items():
        rows[name] = []
        for rate in (*RATES, None) if name == OURS else RATES:
            result = compressor.compress(example.question, documents, rate=rate)
            if result.status == "failed_open":
                raise RuntimeError(f"{name} failed on {example.id}: {result.reason}")
            before, after = result.tokens_before, result.tokens_after
            rows[name].append(score_question(example, list_spans(result), before, after))
    if slim:
        count = systems[OURS].count_tokens
        spans = [compress_to(example, floor(before * rate + 1e-9), count) for rate in RATES]
        rows[SLIM] = [
            score_question(example, kept, before, count_rendered(example, kept, count)) for kept in spans
        ]
    return rows


def _make_line(task: str, example: Example, rows: Mapping[str, Lines]) -> Line:
    ours = rows[OURS]
    kept = {
        setting: [
            (doc, start, end)
            for doc, ranges in join_kept(example, row["kept"]).items()
            for start, end in ranges
        ]
        for setting, row in zip(SETTINGS, ours, strict=True)
    }
    return {
        "task": task,
        "id": example.id,
        "answerable": bool(example.answers),
        "sentences": len(example.support or ()),
        "supports": ours[0]["supports"],
        "tokens": ours[0]["tokens_before"],
        "kept": kept,
        "systems": {system: _describe(results) for system, results in rows.items()},
    }


def _describe(rows: Lines) -> dict[str, Any]:
    """Return the results of a system for a question at each setting."""
    described: dict[str, Any] = {"tokens": [row["tokens_after"] for row in rows]}
    if rows[0]["answer_kept"] is not None:
        described["answers"] = [int(row["answer_kept"]) for row in rows]
    if rows[0]["supports"]:
        described["support"] = [round(row["support_kept"], 6) for row in rows]
    return described


def read_rows(lines: Lines) -> QuestionRows:
    """Return the results of every system, without the kept ranges, from the lines of a task."""
    rows: QuestionRows = {}
    for line in lines:
        for system, results in line["systems"].items():
            for at, tokens in enumerate(results["tokens"]):
                setting = SETTINGS[at]
                row = {
                    "answer_kept": bool(results["answers"][at]) if "answers" in results else None,
                    "support_kept": results["support"][at] if "support" in results else 0.0,
                    "supports": line["supports"],
                    "tokens_before": line["tokens"],
                    "tokens_after": tokens,
                }
                rows.setdefault((system, setting), []).append(row)
    return rows
