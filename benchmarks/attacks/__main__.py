"""`python -m benchmarks.attacks`: does the honest sentence survive hostile documents beside it?

Every system gets the same made cases at the same rate; no data folder is needed. Run `python -m
benchmarks.peers.install` first, or name `--systems` without the packages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor
from pathlib import Path

from benchmarks.arguments import add_model, add_out, add_seed, make_parser
from benchmarks.attacks.cases import ATTACKS, Case, make_cases
from benchmarks.attacks.report import AttackRow, AttacksRun, render
from benchmarks.peers.catalogue import BY_NAME, PEERS
from benchmarks.peers.process import PeerProcess
from benchmarks.peers.systems import compress_to_rate, list_documents
from benchmarks.quality.controls import OURS, BM25Scorer, HeadScorer, MiniLMScorer, RandomScorer
from benchmarks.quality.slim import PACKAGE, compress_to, count_rendered, require_slim
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.shared.tasks import KeptSpan
from tersely.compressor import Compressor
from tersely.metrics import contains_answer, count_covered
from tersely.runtime.artifacts import load_artifact
from tersely.score import Scorer
from tersely.score.selector import Selector
from tersely.tokens import resolve_counter

RATE = 0.1
PACKAGES = tuple(p.name for p in PEERS if p.is_trained and not p.is_slow and p.name != PACKAGE)
SYSTEMS = (OURS, "bm25", "minilm", PACKAGE, "head", "random", *PACKAGES)

Keep = Callable[[Case], Sequence[KeptSpan]]
"""What a system keeps of a case."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    model: str | None
    systems: list[str]
    seed: int
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.attacks", __doc__)
    add_model(parser)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    add_seed(parser)
    add_out(parser, "attacks")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("attacks", lambda: measure(options), render, options.out)


def measure(options: Options) -> AttacksRun:
    """Every system on every kind of attack."""
    artifact = load_artifact(options.model)
    ours = Selector.load(artifact)
    rows: list[AttackRow] = []
    for system in options.systems:
        if system in PACKAGES:
            rows += measure_package(system, options.seed)
        else:
            keep = _make_system(system, ours, options.seed)
            rows += [measure_attack(kind, system, keep, options.seed) for kind in ATTACKS]
    return AttacksRun("attacks", name_model(artifact), options.seed, RATE, read_environment(), tuple(rows))


def measure_attack(kind: str, system: str, keep: Keep, seed: int) -> AttackRow:
    """The row of a system that keeps what `keep` says."""
    survived: list[bool] = []
    shares: list[float] = []
    for case in make_cases(kind, seed):
        kept = keep(case)
        doc, start, end = case.honest
        covered = count_covered((start, end), [(a, b) for d, a, b in kept if d == doc])
        survived.append(2 * covered >= end - start)
        if case.hostile:
            total = sum(len(case.example.documents[d].text) for d in case.hostile)
            shares.append(sum(b - a for d, a, b in kept if d in case.hostile) / total)
    return AttackRow(kind, system, tuple(survived), tuple(shares))


def measure_package(name: str, seed: int) -> list[AttackRow]:
    """The rows of a package that runs in a process of its own and gives texts without places."""
    count = resolve_counter(None).count
    rows: list[AttackRow] = []
    with PeerProcess(name) as process:
        for kind in ATTACKS:
            survived: list[bool] = []
            rates: list[float] = []
            for case in make_cases(kind, seed):
                example = case.example
                compress = partial(process.compress, example.question, list_documents(example))
                output = compress_to_rate(BY_NAME[name], example, RATE, compress, count)
                survived.append(contains_answer(output.text, example.answers))
                rates.append(round(count(output.text) / count(example.full_text), 4))
            rows.append(AttackRow(kind, name, tuple(survived), (), tuple(rates)))
    return rows


def _make_system(name: str, ours: Selector, seed: int) -> Keep:
    if name == PACKAGE:
        require_slim()
        count = Compressor(ours).token_counter.count
        return lambda case: _compress_slim(case, count)
    scorers: dict[str, Scorer] = {
        OURS: ours,
        "bm25": BM25Scorer(),
        "minilm": MiniLMScorer(),
        "head": HeadScorer(),
        "random": RandomScorer(seed),
    }
    compressor = Compressor(scorers[name])
    return lambda case: _compress(compressor, case)


def _compress(compressor: Compressor, case: Case) -> list[KeptSpan]:
    result = compressor.compress(case.example.question, case.example.to_documents(), rate=RATE)
    if result.status == "failed_open":
        raise RuntimeError(f"failed on {case.example.id}: {result.reason}")
    return [(span.doc, span.start, span.end) for span in result.kept]


def _compress_slim(case: Case, count: Callable[[str], int]) -> list[KeptSpan]:
    example = case.example
    whole = [(i, 0, len(d.text)) for i, d in enumerate(example.documents)]
    return compress_to(example, floor(RATE * count_rendered(example, whole, count)), count)


if __name__ == "__main__":
    sys.exit(main())
