"""`python -m benchmarks.quality.allocation`: how a budget is shared between documents.

ZipRL's Theorem 4.1 states that detail which rises with relevance beats the same detail for every document,
at the same budget. The benchmark compares three ways to spend a budget, with the same scores of the same
sentences:

- uniform: each turn goes to the document that has the fewest tokens, which adds its best sentence;
- by level: the same, but tokens count in relation to the detail of the document's relevance level (one of
  five);
- one pool: no shares; the packer takes the best sentences of all documents, as `compress` does.

Each goes on until nothing fits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path

import numpy as np

from benchmarks.arguments import add_data, add_out, add_seed, add_threads, make_parser
from benchmarks.markdown import format_lead, format_table
from benchmarks.progress import Progress
from benchmarks.quality.rows import QuestionRow, QuestionRows, kept_and_total, score_question
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_difference
from benchmarks.shared.tasks import TASKS, Example, KeptSpan, load
from tersely.pack.fill import Candidate, Place, pack, priority, sort_by_priority
from tersely.runtime.artifacts import load_artifact
from tersely.score import DocumentScores, ScoredInput
from tersely.score.selector import Selector
from tersely.split.sentences import split_units
from tersely.tokens import resolve_counter
from tersely_agents.levels import choose_level

NAMES = ("hotpotqa", "qed_nq_10", "squad")
RATES = (0.05, 0.1, 0.25)
UNIFORM = "uniform"

Shares = Callable[[Sequence[DocumentScores]], list[float]]


def share_equally(scored: Sequence[DocumentScores]) -> list[float]:
    """The same share for each document."""
    return [1.0 for _ in scored]


def share_by_level(scored: Sequence[DocumentScores]) -> list[float]:
    """The middle of the character range of each document's level."""
    return [sum(choose_level(s.relevance).characters) / 2 for s in scored]


SYSTEMS: dict[str, Shares | None] = {UNIFORM: share_equally, "by level": share_by_level, "one pool": None}


@dataclass(frozen=True, slots=True)
class AllocationRow:
    """One system at one rate on one task."""

    system: str
    rate: float
    answers: float
    """Share of answers kept."""
    lead: Estimate
    """Answers kept, minus those that uniform shares keep."""
    support: float | None
    """Share of supporting sentences kept; None where the task labels none."""


@dataclass(frozen=True, slots=True)
class AllocationTask:
    """One task, measured."""

    name: str
    questions: int
    rows: tuple[AllocationRow, ...]

    def find_row(self, system: str, rate: float) -> AllocationRow:
        """The row of a system at a rate. Raises StopIteration where there is none."""
        return next(row for row in self.rows if (row.system, row.rate) == (system, rate))


@dataclass(frozen=True, slots=True)
class AllocationRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    seed: int
    environment: Environment
    tasks: tuple[AllocationTask, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    limit: int
    seed: int
    threads: int | None
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.quality.allocation", __doc__)
    add_data(parser)
    parser.add_argument("--limit", type=int, default=200, help="questions of each set, at most")
    add_seed(parser)
    add_threads(parser)
    add_out(parser, "allocation")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("allocation", lambda: measure(options), render, options.out)


def measure(options: Options) -> AllocationRun:
    """Run every system over every task."""
    artifact = load_artifact(None)
    selector = Selector.load(artifact, options.threads)
    tasks: list[AllocationTask] = []
    for name in NAMES:
        examples = load(name, "eval", data=options.data, limit=options.limit, seed=options.seed)
        progress = Progress(len(examples))
        rows: QuestionRows = {(system, str(rate)): [] for system in SYSTEMS for rate in RATES}
        for example in examples:
            for (system, rate), kept in keep_at_rates(selector, example).items():
                rows[system, str(rate)].append(score_question(example, kept, 0, 0))
            progress.step(name)
        progress.close()
        tasks.append(AllocationTask(name, len(examples), _summarise(rows, options.seed)))
    return AllocationRun(
        benchmark="allocation",
        model=name_model(artifact),
        seed=options.seed,
        environment=read_environment(),
        tasks=tuple(tasks),
    )


def keep_at_rates(selector: Selector, example: Example) -> dict[tuple[str, float], list[KeptSpan]]:
    """What each system keeps at each rate, all from one pass over the model."""
    count = resolve_counter(None).count
    units = [split_units(d.text) for d in example.documents]
    inputs = [ScoredInput(d.title, d.text, u) for d, u in zip(example.documents, units, strict=True)]
    scored = selector.score(example.question, inputs)
    costs = [[count(d.text[u.start : u.end]) for u in d.units] for d in inputs]
    titles = [count(f"{d.title}\n") if d.title else 0 for d in example.documents]
    sizes = [sum(c) + t for c, t in zip(costs, titles, strict=True)]
    items = sort_by_priority(
        [
            Candidate(
                doc, unit, priority(float(score), costs[doc][unit], selector.length_price), costs[doc][unit]
            )
            for doc, s in enumerate(scored)
            for unit, score in enumerate(s.scores if s.packing_scores is None else s.packing_scores)
        ]
    )
    kept: dict[tuple[str, float], list[KeptSpan]] = {}
    for system, shares in SYSTEMS.items():
        for rate in RATES:
            room = floor(rate * sum(sizes))
            if shares is None:
                chosen, _ = pack(items, titles, room)
            else:
                chosen = take_turns(items, titles, room, shares(scored))
            kept[system, rate] = [(d, units[d][u].start, units[d][u].end) for d, u in sorted(chosen)]
    return kept


def take_turns(
    items: Sequence[Candidate], titles: Sequence[int], room: int, shares: Sequence[float]
) -> frozenset[Place]:
    """Fill `room` with one sentence after the other; `items` are best first.

    Each document offers its best sentence that fits. The document that would then have the fewest tokens for
    its share takes the turn.
    """
    remaining: dict[int, list[Candidate]] = {}
    for item in items:
        remaining.setdefault(item.doc, []).append(item)
    spent = dict.fromkeys(remaining, 0)
    chosen: set[tuple[int, int]] = set()
    while True:
        offers: list[tuple[float, int, int, Candidate]] = []
        for doc, own in remaining.items():
            title = 0 if spent[doc] else titles[doc]
            item = next((i for i in own if i.cost + title <= room), None)
            if item:
                price = item.cost + title
                offers.append(((spent[doc] + price) / shares[doc], doc, price, item))
        if not offers:
            return frozenset(chosen)
        _, doc, price, item = min(offers, key=lambda offer: offer[:2])
        remaining[doc].remove(item)
        room -= price
        spent[doc] += price
        chosen.add((doc, item.unit))


def _summarise(rows: QuestionRows, seed: int) -> tuple[AllocationRow, ...]:
    return tuple(
        _summarise_system(system, rate, rows[system, str(rate)], rows[UNIFORM, str(rate)], seed)
        for system in SYSTEMS
        for rate in RATES
    )


def _summarise_system(
    system: str, rate: float, own: Sequence[QuestionRow], uniform: Sequence[QuestionRow], seed: int
) -> AllocationRow:
    answers, total = kept_and_total(own, "answers")
    others, _ = kept_and_total(uniform, "answers")
    # Questions without an answer to keep are left out here, so that each resample has as many with one.
    answerable = total > 0
    ones = np.ones(int(answerable.sum()))
    support, supports = kept_and_total(own, "support")
    return AllocationRow(
        system=system,
        rate=rate,
        answers=bootstrap(answers[answerable], ones, seed).round().value,
        lead=bootstrap_difference(answers[answerable], others[answerable], ones, seed).round(),
        support=round(float(support.sum() / supports.sum()), 4) if supports.any() else None,
    )


def render(run: AllocationRun) -> str:
    """The section of RESULTS.md."""
    header = ["", "rate", UNIFORM, "by level", "lead over uniform", "one pool", "lead over uniform"]
    rows: list[list[str]] = []
    for task in run.tasks:
        for rate in RATES:
            cells = [f"{TASKS[task.name].title} ({task.questions})", str(rate)]
            for system in SYSTEMS:
                row = task.find_row(system, rate)
                support = "" if row.support is None else f" / {100 * row.support:.1f}"
                cells.append(f"{100 * row.answers:.1f}{support}")
                if system != UNIFORM:
                    cells.append(format_lead(row.lead))
            rows.append(cells)
    return "\n\n".join(
        [
            f"Model {run.model}. {run.environment.describe()} Seed {run.seed}.",
            "Answers / supporting sentences kept, in percent; the lead is that of answers.",
            format_table(header, rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
