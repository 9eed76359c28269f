"""`python -m benchmarks.quality --data DIR`: every task, every system, every rate.

Prints the tables. A whole run on the eval split also writes the recorded JSON and fills RESULTS.md; tasks
that it did not run keep their numbers where model, seed and rates are the same.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.arguments import add_data, add_model, add_seed, add_threads, make_parser
from benchmarks.progress import Progress
from benchmarks.quality.controls import (
    CONTROLS,
    BM25Scorer,
    CachedScorer,
    CharacterScorer,
    DocumentScorer,
    HeadScorer,
    MiniLMScorer,
    RandomScorer,
)
from benchmarks.quality.report import render, summarise
from benchmarks.quality.rows import RATES, QualityRun, TaskSummary
from benchmarks.quality.runner import SLIM, run_task
from benchmarks.quality.slim import require_slim
from benchmarks.records import read_record, write_record
from benchmarks.results import baseline_path, fill_section
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.shared.tasks import TASKS, Example, Split
from benchmarks.shared.tasks.negatives import Neighbours
from tersely.errors import TerselyError
from tersely.runtime.artifacts import load_artifact
from tersely.score import Scorer
from tersely.score.selector import Selector

NAMES = tuple(control.name for control in CONTROLS)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    model: str | None
    split: Split
    tasks: list[str] | None
    systems: list[str]
    limit: int | None
    seed: int
    neighbours: Neighbours
    threads: int | None
    out: Path | None


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0, or 1 with one line on standard error for an error that the caller can correct."""
    options = _parse(arguments)
    try:
        run = measure(options)
    except TerselyError as error:
        print(f"benchmarks.quality: {error}", file=sys.stderr)
        return 1
    print(render(run))
    if options.out:
        write_record(options.out, run)
    if _is_whole(run):
        recorded = merge(run, baseline_path("quality"))
        write_record(baseline_path("quality"), recorded)
        fill_section("quality", render(recorded))
    else:
        print("RESULTS.md keeps its numbers: only whole runs on the eval split are recorded", file=sys.stderr)
    return 0


def merge(run: QualityRun, record: Path) -> QualityRun:
    """`run`, with the tasks that it did not run from the record, if model, seed and rates are the same."""
    if not record.is_file():
        return run
    old = read_record(record, QualityRun)
    if (old.model, old.seed, old.rates) != (run.model, run.seed, run.rates):
        return run
    tasks = {task.name: task for task in (*old.tasks, *run.tasks)}
    return replace(run, tasks=tuple(tasks[name] for name in TASKS if name in tasks))


def _is_whole(run: QualityRun) -> bool:
    """Whether each task was run with all its questions and against every control."""
    complete = run.split == "eval" and run.limit is None and run.neighbours == "mixed"
    return complete and set(run.systems) == set(NAMES)


def measure(options: Options) -> QualityRun:
    """Run every task that the options name."""
    slim = SLIM in options.systems
    if slim:
        require_slim()
    artifact = load_artifact(options.model)
    ours = CachedScorer(Selector.load(artifact, options.threads))
    names = options.tasks or [name for name, task in TASKS.items() if options.split in task.sources]
    examples = {name: _load(name, options) for name in names}
    progress = Progress(sum(map(len, examples.values())))
    tasks: list[TaskSummary] = []
    for name, questions in examples.items():
        title = TASKS[name].title
        controls = _make_controls(ours, options, in_languages=TASKS[name].language is not None)
        rows = run_task(questions, ours, controls, slim=slim, advance=lambda t=title: progress.step(t))
        tasks.append(summarise(name, title, questions, rows, options.seed))
    progress.close()
    return QualityRun(
        benchmark="quality",
        model=name_model(artifact),
        split=options.split,
        seed=options.seed,
        limit=options.limit,
        neighbours=options.neighbours,
        rates=RATES,
        systems=tuple(options.systems),
        environment=read_environment(),
        tasks=tuple(tasks),
    )


def _load(name: str, options: Options) -> list[Example]:
    task = TASKS[name]
    limits = [limit for limit in (options.limit, task.sample) if limit is not None]
    return task.load(
        options.split,
        data=options.data,
        limit=min(limits, default=None),
        seed=options.seed,
        neighbours=options.neighbours,
    )


def _make_controls(ours: Scorer, options: Options, *, in_languages: bool) -> dict[str, Scorer]:
    """The scorers of the controls that the options name; LLMSlim has none, because it cuts texts itself."""
    scorers: dict[str, Scorer] = {
        "reranker": DocumentScorer(ours),
        "random": RandomScorer(options.seed),
        "head": HeadScorer(),
        "bm25": BM25Scorer(),
        "bm25_characters": CharacterScorer(),
        "minilm": MiniLMScorer(),
    }
    wanted = {c.name for c in CONTROLS if in_languages or not c.is_for_languages} & {*options.systems}
    return {name: scorer for name, scorer in scorers.items() if name in wanted}


def _parse(arguments: list[str] | None) -> Options:
    parser = make_parser("benchmarks.quality", __doc__)
    add_data(parser)
    add_model(parser)
    parser.add_argument("--split", choices=("train", "eval"), default="eval")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    parser.add_argument(
        "--systems",
        nargs="*",
        choices=NAMES,
        default=list(NAMES),
        metavar="SYSTEM",
        help=f"controls (default: {' '.join(NAMES)})",
    )
    parser.add_argument("--limit", type=int, help="most questions of each task")
    add_seed(parser)
    parser.add_argument(
        "--neighbours",
        choices=("mixed", "bm25"),
        default="mixed",
        help="how hard negatives are ranked; bm25 needs no MiniLM weights",
    )
    add_threads(parser)
    parser.add_argument("--out", type=Path, help="also write the JSON here")
    return Options(**vars(parser.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main())
