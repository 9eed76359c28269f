"""The rows of the benchmark: for each question of a task, what every system keeps of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.quality.controls import OURS
from benchmarks.quality.runner import SETTINGS, QuestionRow, QuestionRows
from benchmarks.rows import Line, Lines
from benchmarks.shared.tasks import Example, join_kept


def make_lines(task: str, examples: Sequence[Example], rows: QuestionRows) -> list[Line]:
    """Return the lines of a task.

    `kept` has the ranges that tersely keeps at each setting, as (document, start, end). The lists of a system
    have a number for each setting; `answers` is missing if the question has no answer to keep, and `support`
    if no sentence is labelled.
    """
    systems = dict.fromkeys(system for system, _ in rows)
    lines: list[Line] = []
    for at, example in enumerate(examples):
        own = {system: [rows[system, setting][at] for setting in SETTINGS] for system in systems}
        kept = {
            setting: [
                (doc, start, end)
                for doc, ranges in join_kept(example, row.kept).items()
                for start, end in ranges
            ]
            for setting, row in zip(SETTINGS, own[OURS], strict=True)
        }
        lines.append(
            {
                "task": task,
                "id": example.id,
                "answerable": bool(example.answers),
                "sentences": len(example.support or ()),
                "supports": own[OURS][0].supports,
                "tokens": own[OURS][0].tokens_before,
                "kept": kept,
                "systems": {system: _describe(results) for system, results in own.items()},
            }
        )
    return lines


def _describe(results: Sequence[QuestionRow]) -> dict[str, Any]:
    """Return the result of a system for a question at each setting."""
    described: dict[str, Any] = {"tokens": [row.tokens_after for row in results]}
    if results[0].answer_kept is not None:
        described["answers"] = [int(bool(row.answer_kept)) for row in results]
    if results[0].supports:
        described["support"] = [round(row.support_kept, 6) for row in results]
    return described


def read_rows(lines: Lines) -> QuestionRows:
    """Return the rows of a task that `make_lines` wrote, without the ranges."""
    rows: QuestionRows = {}
    for line in lines:
        for system, results in line["systems"].items():
            for at, setting in enumerate(SETTINGS):
                row = QuestionRow(
                    answer_kept=bool(results["answers"][at]) if "answers" in results else None,
                    support_kept=results["support"][at] if "support" in results else 0.0,
                    supports=line["supports"],
                    tokens_before=line["tokens"],
                    tokens_after=results["tokens"][at],
                )
                rows.setdefault((system, setting), []).append(row)
    return rows
