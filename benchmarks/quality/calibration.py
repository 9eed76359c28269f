"""`python -m benchmarks.quality.calibration`: does `recall=` keep its promise?

Coverage is the share of questions whose compressed documents still hold an answer, of those that have one in
some sentence. The questions of the first table come from dev splits, with as many documents as the
calibration, and are mixed in its proportions: HotpotQA also stands for 2WikiMultihopQA and SQuAD for
SQuADShifts, which have no such split here, and SelQA is missing. Nothing is promised for the sets of the
second table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.arguments import add_data, add_model, add_out, add_seed, add_threads, make_parser
from benchmarks.markdown import format_percent, format_table
from benchmarks.progress import Progress
from benchmarks.quality.controls import CachedScorer
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.shared.statistics import estimate_share
from benchmarks.shared.tasks import Example, load, score_kept
from tersely import Compressor
from tersely.errors import TerselyError
from tersely.metrics import contains_answer
from tersely.runtime.artifacts import load_artifact
from tersely.score.calibration import Calibration
from tersely.score.selector import Selector
from tersely.split.sentences import split_units

RECALLS = (0.9, 0.95, 0.99)
NEGATIVES = 14
"""Hard negatives for each passage of the calibration set."""


@dataclass(frozen=True, slots=True)
class Part:
    """A task, and the sets of the calibration that it stands for."""

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
class CoverageRow:
    """One task at one promised recall."""

    task: str
    title: str
    recall: float
    rate: float
    """Mean share of tokens kept."""
    kept: tuple[int, ...]
    """For each question 1 if an answer was kept, else 0."""


@dataclass(frozen=True, slots=True)
class MixedRow:
    """The promised tasks together, in the proportions of the calibration, at one promised recall."""

    recall: float
    coverage: float
    half: float
    """Half the width of the 95 % interval."""
    rate: float


@dataclass(frozen=True, slots=True)
class CalibrationRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    seed: int
    environment: Environment
    calibration: dict[str, int]
    """Questions of each set that the model was calibrated on."""
    thresholds: dict[str, float]
    """By promised recall."""
    questions: dict[str, int]
    """By task."""
    rows: tuple[CoverageRow, ...]
    mixed: tuple[MixedRow, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    model: str | None
    limit: int
    seed: int
    threads: int | None
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.quality.calibration", __doc__)
    add_data(parser)
    add_model(parser)
    parser.add_argument("--limit", type=int, default=500, help="questions of each set, at most")
    add_seed(parser)
    add_threads(parser)
    add_out(parser, "calibration")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("calibration", lambda: measure(options), render, options.out)


def measure(options: Options) -> CalibrationRun:
    """Measure coverage on every part."""
    artifact = load_artifact(options.model)
    selector = Selector.load(artifact, options.threads)
    calibration = selector.calibration
    if calibration is None:
        raise TerselyError(f"{artifact.path} has no calibration: export it again, or run `tersely calibrate`")
    compressor = Compressor(CachedScorer(selector), threads=options.threads)
    questions: dict[str, int] = {}
    rows: list[CoverageRow] = []
    for part in (*PROMISED, *OTHER):
        examples = load(
            part.task,
            "eval",
            data=options.data,
            limit=options.limit,
            seed=options.seed,
            negatives=part.negatives,
        )
        answerable = [e for e in examples if _has_answer_in_unit(e)]
        questions[part.task] = len(answerable)
        rows += measure_part(part, compressor, answerable)
    return CalibrationRun(
        benchmark="calibration",
        model=name_model(artifact),
        seed=options.seed,
        environment=read_environment(),
        calibration=dict(calibration.questions),
        thresholds={str(recall): calibration.threshold(recall) for recall in RECALLS},
        questions=questions,
        rows=tuple(rows),
        mixed=mix(rows, calibration),
    )


def _has_answer_in_unit(example: Example) -> bool:
    """Whether a single sentence holds an answer, as in the calibration's questions."""
    return any(
        contains_answer(d.text[u.start : u.end], example.answers)
        for d in example.documents
        for u in split_units(d.text)
    )


def measure_part(part: Part, compressor: Compressor, examples: Sequence[Example]) -> list[CoverageRow]:
    """A row for each promised recall."""
    progress = Progress(len(examples))
    kept: dict[float, list[int]] = {recall: [] for recall in RECALLS}
    rates: dict[float, list[float]] = {recall: [] for recall in RECALLS}
    for example in examples:
        documents = example.to_documents()
        for recall in RECALLS:
            result = compressor.compress(example.question, documents, recall=recall)
            score = score_kept(example, [(s.doc, s.start, s.end) for s in result.kept])
            kept[recall].append(int(bool(score.answer_kept)))
            rates[recall].append(result.rate)
        progress.step("questions")
    progress.close()
    return [
        CoverageRow(
            part.task, part.title, recall, round(float(np.mean(rates[recall])), 4), tuple(kept[recall])
        )
        for recall in RECALLS
    ]


def mix(rows: Sequence[CoverageRow], calibration: Calibration) -> tuple[MixedRow, ...]:
    """Coverage of the promised tasks, weighted in the proportions of the calibration."""
    weights = np.array(
        [sum(calibration.questions.get(s, 0) for s in part.sets) for part in PROMISED], dtype=float
    )
    weights /= weights.sum()
    by_key = {(row.task, row.recall): row for row in rows}
    mixed: list[MixedRow] = []
    for recall in RECALLS:
        chosen = [by_key[part.task, recall] for part in PROMISED]
        kept = [np.array(row.kept, dtype=float) for row in chosen]
        mean = sum(w * k.mean() for w, k in zip(weights, kept, strict=True))
        variance = sum(w**2 * k.var() / len(k) for w, k in zip(weights, kept, strict=True))
        rate = sum(w * row.rate for w, row in zip(weights, chosen, strict=True))
        values = (mean, 1.96 * np.sqrt(variance), rate)
        mixed.append(MixedRow(recall, *(round(float(value), 4) for value in values)))
    return tuple(mixed)


def render(run: CalibrationRun) -> str:
    """The section of RESULTS.md."""
    header = ["Answers kept, %"]
    for row in run.mixed:
        header += [f"promised {100 * row.recall:g}", "share of tokens"]
    sets = ", ".join(f"{name} {count}" for name, count in run.calibration.items())
    together = ["**all three, mixed as the calibration is**"]
    for row in run.mixed:
        together += [f"**{100 * row.coverage:.1f}** ± {100 * row.half:.1f}", f"{row.rate:.3f}"]
    promised = {part.task for part in PROMISED}
    return "\n\n".join(
        [
            f"Model {run.model}, calibrated on {sum(run.calibration.values())} held-out questions of the "
            f"training sets ({sets}). {run.environment.describe()} Seed {run.seed}.",
            "The promise holds for questions like those of the calibration. Here they come from dev splits "
            "and are mixed in its proportions. HotpotQA also stands for 2WikiMultihopQA and SQuAD for "
            "SQuADShifts, which have no such split here; SelQA is missing. A single set may lie above or "
            "below the promise.",
            format_table(header, [together, *(_list_cells(run, t) for t in run.questions if t in promised)]),
            "Nothing is promised for other sets; `tersely calibrate` makes a promise for your own.",
            format_table(header, [_list_cells(run, t) for t in run.questions if t not in promised]),
        ]
    )


def _list_cells(run: CalibrationRun, task: str) -> list[str]:
    rows = [row for row in run.rows if row.task == task]
    cells = [f"{rows[0].title} ({run.questions[task]})"]
    for row in rows:
        share = estimate_share(sum(row.kept), len(row.kept))
        cells += [format_percent(share), f"{row.rate:.3f}"]
    return cells


if __name__ == "__main__":
    sys.exit(main())
