"""`python -m benchmarks.quality.calibration --data DIR`: does `recall=` keep its promise?

Takes the questions that have an answer in some sentence, and measures the share for which the compressed
documents still hold one. The questions of the promised sets have as many documents as those of the
calibration, and are mixed in its proportions. Nothing is promised for the others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.quality.controls import CachedScorer, load_selector
from benchmarks.quality.runner import list_spans
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import Estimate
from benchmarks.shared.tasks import Example, load, score_kept
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.errors import TerselyError
from tersely.metrics import contains_answer
from tersely.split.sentences import split_units

RECALLS = (0.9, 0.95, 0.99)
NEGATIVES = 14
"""Number of hard negatives for each passage of the calibration set."""
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
    lines: list[Line] = []
    for part in (*PROMISED, *OTHER):
        represented = sum(calibration.questions.get(name, 0) for name in part.sets)
        lines += measure_part(part, compressor, represented, options)
    sets = ", ".join(f"{name} {count}" for name, count in calibration.questions.items())
    total = sum(calibration.questions.values())
    settings = {f"threshold at {recall:g}": calibration.threshold(recall) for recall in RECALLS}
    settings = {"calibrated on": f"{total} questions ({sets})", **settings}
    return Measured(make_tables(lines), model, settings, lines)


def make_tables(lines: Lines) -> list[Table]:
    """Return the table, from the lines of all questions."""
    parts = group_lines(lines, "part").values()
    rows = [_cover(own, recall) for own in parts for recall in RECALLS]
    mixed = mix([own for own in parts if own[0]["represented"]])
    return [Table("What is kept", COLUMNS, (*mixed, *rows), across="promised")]


def _cover(lines: Lines, recall: float) -> Line:
    """Return the row of a part at one promised recall; `kept` has 1 for each question that kept an answer."""
    results = [line["recalls"][str(recall)] for line in lines]
    return {
        "set": lines[0]["part"],
        "in the calibration": lines[0]["represented"] > 0,
        "questions": len(lines),
        "promised": recall,
        "kept": tuple(result["answer"] for result in results),
        "rate": round(float(np.mean([result["rate"] for result in results])), 4),
    }


def measure_part(part: Part, compressor: Compressor, represented: int, options: Options) -> list[Line]:
    """Return a line for each question: the rate, the ranges and whether an answer is kept, by recall.

    Args:
        represented: questions of the calibration that are of the part's sets; 0 if it has none.
    """
    examples = load(
        part.task,
        "eval",
        data=options.data,
        limit=options.limit,
        seed=options.seed,
        negatives=part.negatives,
    )
    answerable = [example for example in examples if _has_answer_in_unit(example)]
    lines: list[Line] = []
    for example in track(answerable, part.title):
        documents = example.to_documents()
        recalls: dict[str, Line] = {}
        for recall in RECALLS:
            result = compressor.compress(example.question, documents, recall=recall)
            kept = list_spans(result)
            answer = int(bool(score_kept(example, kept).answer_kept))
            recalls[str(recall)] = {"answer": answer, "rate": result.rate, "kept": kept}
        lines.append({"part": part.title, "id": example.id, "represented": represented, "recalls": recalls})
    return lines


def _has_answer_in_unit(example: Example) -> bool:
    return any(
        contains_answer(d.text[u.start : u.end], example.answers)
        for d in example.documents
        for u in split_units(d.text)
    )


def mix(parts: Sequence[Lines]) -> list[Row]:
    """Return the row of the promised parts together at each recall, in the proportions of the calibration."""
    mixed: list[Row] = []
    weights = np.array([own[0]["represented"] for own in parts], dtype=float)
    weights /= weights.sum()
    for recall in RECALLS:
        rows = [_cover(own, recall) for own in parts]
        kept = [np.array(row["kept"], dtype=float) for row in rows]
        mean = float(sum(w * k.mean() for w, k in zip(weights, kept, strict=True)))
        variance = sum(w**2 * k.var() / len(k) for w, k in zip(weights, kept, strict=True))
        half = float(1.96 * np.sqrt(variance))
        rate = float(sum(w * row["rate"] for w, row in zip(weights, rows, strict=True)))
        share = Estimate(mean, mean - half, min(1.0, mean + half)).round()
        count = sum(map(len, kept))
        row: Row = {"set": MIXED, "in the calibration": True, "questions": count, "promised": recall}
        mixed.append({**row, "kept": share, "rate": round(rate, 4)})
    return mixed


if __name__ == "__main__":
    sys.exit(main())
