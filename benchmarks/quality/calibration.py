"""`python -m benchmarks.quality.calibration --data DIR`: does `recall=` keep its promise?

Measured is the share of questions whose compressed documents still hold an answer, of those that have one in
some sentence. The questions of the promised sets have as many documents as those of the calibration, and are
mixed in its proportions. Nothing is promised for the others.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.quality.controls import CachedScorer, load_selector
from benchmarks.quality.runner import list_spans
from benchmarks.shared.statistics import Estimate
from benchmarks.shared.tasks import Example, load, score_kept
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.errors import TerselyError
from tersely.metrics import contains_answer
from tersely.split.sentences import split_units

RECALLS = (0.9, 0.95, 0.99)
NEGATIVES = 14
"""Hard negatives for each passage of the calibration set."""
MIXED = "all three, mixed as the calibration is"
COLUMNS = (
    Column("set"),
    Column("in the calibration"),
    Column("questions"),
    Column("promised", "%", format=".0f"),
    Column("kept", "%", interval="wilson"),
    Column("rate", format=".3f"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """A task, and the sets of the calibration that it represents."""

    task: str
    title: str
    sets: tuple[str, ...] = ()
    negatives: int | None = None


PROMISED = (
    Part("hotpotqa", "HotpotQA dev", ("hotpotqa", "twowiki")),
    Part("qed_nq_10", "Natural Questions (QED) dev, 14 negatives", ("qed_nq",), NEGATIVES),
    Part("squad", "SQuAD dev, 14 negatives", ("squad_train44", "squadshifts_wiki"), NEGATIVES),
)
OTHER = (
    Part("qed_nq_30", "Natural Questions (QED) dev, 30 negatives"),
    Part("wikiqa", "WikiQA"),
    Part("xquad_en", "XQuAD, English"),
    Part("xquad_de", "XQuAD, German"),
    Part("xquad_zh", "XQuAD, Chinese"),
)


@dataclass(frozen=True, slots=True)
class Coverage:
    """A part at one promised recall."""

    title: str
    recall: float
    rate: float
    """Mean share of tokens kept."""
    kept: tuple[int, ...]
    """For each question 1 if an answer was kept, else 0."""

    def to_row(self, promised: bool) -> Row:
        """Return the row of a table. `promised`: the calibration has such questions."""
        return {
            "set": self.title,
            "in the calibration": promised,
            "questions": len(self.kept),
            "promised": self.recall,
            "kept": self.kept,
            "rate": self.rate,
        }


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.quality.calibration", __doc__, "data", "model", "threads", limit=500)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Measure coverage on every part."""
    selector, model = load_selector(options.model, options.threads)
    calibration = selector.calibration
    if calibration is None:
        raise TerselyError(f"{model} has no calibration: export it again, or run `tersely calibrate`")
    compressor = Compressor(CachedScorer(selector), threads=options.threads)
    rows = {part: measure_part(part, compressor, options) for part in (*PROMISED, *OTHER)}
    promised = [row for part in PROMISED for row in rows[part]]
    table = mix(promised, calibration.questions)
    table += [row.to_row(bool(part.sets)) for part in rows for row in rows[part]]
    sets = ", ".join(f"{name} {count}" for name, count in calibration.questions.items())
    total = sum(calibration.questions.values())
    settings = {f"threshold at {recall:g}": calibration.threshold(recall) for recall in RECALLS}
    tables = [Table("What is kept", COLUMNS, tuple(table), across="promised")]
    return Measured(tables, model, {"calibrated on": f"{total} questions ({sets})", **settings})


def measure_part(part: Part, compressor: Compressor, options: Options) -> list[Coverage]:
    """Return the coverage at each promised recall."""
    examples = load(
        part.task,
        "eval",
        data=options.data,
        limit=options.limit,
        seed=options.seed,
        negatives=part.negatives,
    )
    answerable = [example for example in examples if _has_answer_in_unit(example)]
    kept: dict[float, list[int]] = {recall: [] for recall in RECALLS}
    rates: dict[float, list[float]] = {recall: [] for recall in RECALLS}
    for example in track(answerable, part.title):
        documents = example.to_documents()
        for recall in RECALLS:
            result = compressor.compress(example.question, documents, recall=recall)
            kept[recall].append(int(bool(score_kept(example, list_spans(result)).answer_kept)))
            rates[recall].append(result.rate)
    return [
        Coverage(part.title, recall, round(float(np.mean(rates[recall])), 4), tuple(kept[recall]))
        for recall in RECALLS
    ]


def _has_answer_in_unit(example: Example) -> bool:
    return any(
        contains_answer(d.text[u.start : u.end], example.answers)
        for d in example.documents
        for u in split_units(d.text)
    )


def mix(rows: Sequence[Coverage], questions: Mapping[str, int]) -> list[Row]:
    """Return the coverage of the promised parts together, in the proportions of the calibration.

    `questions` is the number of calibration questions of each set.
    """
    weights = np.array([sum(questions.get(s, 0) for s in part.sets) for part in PROMISED], dtype=float)
    weights /= weights.sum()
    by_place = {(row.title, row.recall): row for row in rows}
    mixed: list[Row] = []
    for recall in RECALLS:
        chosen = [by_place[part.title, recall] for part in PROMISED]
        kept = [np.array(row.kept, dtype=float) for row in chosen]
        mean = float(sum(w * k.mean() for w, k in zip(weights, kept, strict=True)))
        variance = sum(w**2 * k.var() / len(k) for w, k in zip(weights, kept, strict=True))
        half = float(1.96 * np.sqrt(variance))
        rate = float(sum(w * row.rate for w, row in zip(weights, chosen, strict=True)))
        share = Estimate(mean, mean - half, mean + half).round()
        count = sum(len(row.kept) for row in chosen)
        row: Row = {"set": MIXED, "in the calibration": True, "questions": count, "promised": recall}
        mixed.append({**row, "kept": share, "rate": round(rate, 4)})
    return mixed


if __name__ == "__main__":
    sys.exit(main())
