"""`python -m benchmarks.quality.reading --reader extractive:DIR --model-reader openai:URL#MODEL`

Does a reader answer as well from compressed documents as from all of them?

Measured is the token F1 of each reader's answer, question by question. Readers given by --reader read the
output of every system. Readers given by --model-reader cost more: they read fewer questions, and only
tersely's output, random sentences and all documents.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.arguments import add_data, add_out, add_seed, add_threads, make_parser
from benchmarks.markdown import format_table
from benchmarks.progress import Progress
from benchmarks.quality.answers import score_answers
from benchmarks.quality.controls import OURS, CachedScorer, make_scorers
from benchmarks.quality.rows import OWN
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.shared.readers import CachedReader, Reader, open_reader
from benchmarks.shared.statistics import bootstrap_mean, bootstrap_mean_difference
from benchmarks.shared.tasks import TASKS, Example, load_findable
from tersely import Compressor
from tersely.runtime.artifacts import load_artifact
from tersely.score import Scorer
from tersely.score.selector import Selector

NAMES = ("hotpotqa", "qed_nq_10", "squad")
RATES = (0.1, 0.25, 0.5)
ALL, RANDOM = "all documents", "random"
UNCOMPRESSED = "1.0"
SETTINGS = (*map(str, RATES), OWN, UNCOMPRESSED)
"""Each rate, tersely's own threshold, and no compression."""
FEW = (OURS, RANDOM, ALL)
"""What a costly reader reads."""

Texts = dict[tuple[str, str], list[str]]
"""By system and setting, the context of each question."""


@dataclass(frozen=True, slots=True)
class RateRow:
    """How much one system keeps at one setting of one task."""

    task: str
    system: str
    setting: str
    rate: float
    """Mean share of tokens kept."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """How one reader answers from what one system kept at one setting of one task."""

    task: str
    reader: str
    system: str
    setting: str
    f1: tuple[float | None, ...]
    """Token F1 of each question; None where the reader failed."""


@dataclass(frozen=True, slots=True)
class ReadingRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    seed: int
    environment: Environment
    questions: dict[str, int]
    """By task."""
    rates: tuple[RateRow, ...]
    answers: tuple[AnswerRow, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    reader: list[str]
    model_reader: list[str]
    limit: int
    model_limit: int
    minilm: bool
    seed: int
    threads: int | None
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.quality.reading", __doc__)
    add_data(parser)
    parser.add_argument(
        "--reader", action="append", default=[], help="extractive:DIR and the like; repeatable"
    )
    parser.add_argument("--model-reader", action="append", default=[], help="a language model; repeatable")
    parser.add_argument("--limit", type=int, default=400, help="questions of each set")
    parser.add_argument("--model-limit", type=int, default=100, help="of these, for each --model-reader")
    parser.add_argument("--no-minilm", dest="minilm", action="store_false", help="without that control")
    add_seed(parser)
    add_threads(parser)
    add_out(parser, "reading")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("reading", lambda: measure(options), render, options.out)


def measure(options: Options) -> ReadingRun:
    """Compress every task with every system, and let the readers answer."""
    artifact = load_artifact(None)
    quick = [CachedReader(open_reader(spec)) for spec in options.reader]
    costly = [CachedReader(open_reader(spec)) for spec in options.model_reader]
    selector = Selector.load(artifact, options.threads)
    scorers = make_scorers(selector, minilm=options.minilm, seed=options.seed)
    questions: dict[str, int] = {}
    rates: list[RateRow] = []
    answers: list[AnswerRow] = []
    for task in NAMES:
        examples = load_findable(task, "eval", data=options.data, seed=options.seed, limit=options.limit)
        questions[task] = len(examples)
        texts, kept = _compress(task, scorers, examples, options.threads)
        rates += kept
        texts[ALL, UNCOMPRESSED] = [e.full_text for e in examples]
        for reader in quick:
            answers += _read(task, reader, texts, examples)
        for reader in costly:
            few = {key: contexts for key, contexts in texts.items() if key[0] in FEW}
            answers += _read(task, reader, few, examples[: options.model_limit])
    return ReadingRun(
        benchmark="reading",
        model=name_model(artifact),
        seed=options.seed,
        environment=read_environment(),
        questions=questions,
        rates=tuple(rates),
        answers=tuple(answers),
    )


def _compress(
    task: str, scorers: dict[str, Scorer], examples: Sequence[Example], threads: int | None
) -> tuple[Texts, list[RateRow]]:
    """The contexts of every system at every setting, and how much of the tokens they keep."""
    texts: Texts = {}
    rows: list[RateRow] = []
    progress = Progress(len(scorers) * len(examples))
    for system, scorer in scorers.items():
        compressor = Compressor(CachedScorer(scorer), threads=threads)
        limits: dict[str, float | None] = {str(rate): rate for rate in RATES}
        if system == OURS:
            limits[OWN] = None
        kept: dict[str, list[float]] = {setting: [] for setting in limits}
        texts |= {(system, setting): [] for setting in limits}
        for example in examples:
            documents = example.to_documents()
            for setting, rate in limits.items():
                result = compressor.compress(example.question, documents, rate=rate)
                texts[system, setting].append(result.text)
                kept[setting].append(result.rate)
            progress.step(f"{task}, {system}")
        rows += [RateRow(task, system, s, round(float(np.mean(values)), 4)) for s, values in kept.items()]
    progress.close()
    return texts, rows


def _read(task: str, reader: Reader, texts: Texts, examples: Sequence[Example]) -> list[AnswerRow]:
    rows: list[AnswerRow] = []
    progress = Progress(len(texts))
    for (system, setting), contexts in texts.items():
        f1 = score_answers(reader, examples, contexts[: len(examples)])
        rows.append(AnswerRow(task, reader.name, system, setting, f1))
        progress.step(f"{reader.name}, {system}")
    progress.close()
    return rows


def render(run: ReadingRun) -> str:
    """The section of RESULTS.md."""
    parts = [
        f"Model {run.model}. {run.environment.describe()} Seed {run.seed}.",
        "F1 of the reader's answer. In brackets: the difference to its answers from all documents, paired by "
        "question, with a bootstrap interval of 95 %.",
    ]
    for reader in dict.fromkeys(row.reader for row in run.answers):
        parts += [f"### {reader}", _render_reader(run, reader)]
    return "\n\n".join(parts)


def _render_reader(run: ReadingRun, reader: str) -> str:
    rates = {(row.task, row.system, row.setting): row.rate for row in run.rates}
    cells: list[list[str]] = []
    for task in run.questions:
        answers = [row for row in run.answers if (row.task, row.reader) == (task, reader)]
        (whole,) = (row.f1 for row in answers if row.system == ALL)
        title = f"{TASKS[task].title} ({len(whole)})"
        for row in sorted(answers, key=lambda row: SETTINGS.index(row.setting)):
            share = 1.0 if row.system == ALL else rates[task, row.system, row.setting]
            label = f"**{row.system}**" if row.system == OURS else row.system
            label += ", own threshold" if row.setting == OWN else ""
            base = None if row.system == ALL else whole
            cells.append([title, label, f"{share:.3f}", format_f1(row.f1, base, run.seed)])
    return format_table(["set (questions)", "system", "rate", "F1 [difference]"], cells)


def format_f1(values: Sequence[float | None], base: Sequence[float | None] | None, seed: int) -> str:
    """Mean F1 in percent and, if `base` is given, the difference to it; questions with a failure are left
    out."""
    pairs = [(a, b) for a, b in zip(values, base or values, strict=True) if a is not None and b is not None]
    if not pairs:
        return ""
    ours, theirs = zip(*pairs, strict=True)
    text = f"{100 * bootstrap_mean(ours, seed).value:.1f}"
    if base is None:
        return text
    lead = bootstrap_mean_difference(ours, theirs, seed)
    return f"{text} [{100 * lead.value:+.1f}: {100 * lead.low:+.1f}, {100 * lead.high:+.1f}]"


if __name__ == "__main__":
    sys.exit(main())
