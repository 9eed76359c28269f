"""`python -m benchmarks.quality --data DIR`: every task, every system, every rate; table, JSON,
RESULTS.md."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.progress import Progress
from benchmarks.quality.controls import (
    BM25Scorer,
    DocumentScorer,
    HeadScorer,
    MiniLMScorer,
    RandomScorer,
    Scorer,
)
from benchmarks.quality.report import markdown, summarise
from benchmarks.quality.runner import OURS, RATES, Remembering, run_task
from benchmarks.quality.slim import require_slim
from benchmarks.results import BASELINES, environment, fill_section, write_json
from benchmarks.shared.tasks import TASKS, Example, Split
from benchmarks.shared.tasks.negatives import Neighbours
from tersely.errors import TerselyError
from tersely.runtime.artifacts import load_artifact
from tersely.selector.selector import Selector

RECORD = BASELINES / "quality.json"
CONTROLS = ("reranker", "random", "head", "bm25", "minilm", "llmslim")


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    options = _parser().parse_args(arguments)
    try:
        result = run(options)
    except TerselyError as error:
        print(f"benchmarks.quality: {error}", file=sys.stderr)
        return 1
    print(markdown(result))
    if options.out:
        write_json(options.out, result)
    if _is_whole(result):
        recorded = merged(result, RECORD)
        write_json(RECORD, recorded)
        fill_section("quality", markdown(recorded))
    else:
        print("RESULTS.md keeps its numbers: only whole runs on the eval split are recorded", file=sys.stderr)
    return 0


def merged(result: dict[str, Any], record: Path) -> dict[str, Any]:
    """`result` with the tasks it did not run taken from the record, where that is of the same model and
    seed."""
    if not record.is_file():
        return result
    old = json.loads(record.read_text(encoding="utf-8"))
    if any(old[key] != result[key] for key in ("model", "seed", "rates")):
        return result
    tasks = {**old["tasks"], **result["tasks"]}
    return {**result, "tasks": {name: tasks[name] for name in TASKS if name in tasks}}


def _is_whole(result: dict[str, Any]) -> bool:
    """Whether each task was run as it is meant to be."""
    complete = result["split"] == "eval" and result["limit"] is None and result["neighbours"] == "mixed"
    return complete and set(result["systems"]) == set(CONTROLS)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run."""
    if "llmslim" in options.systems:
        require_slim()
    artifact = load_artifact(options.model)
    scorer = Remembering(Selector.load(artifact, options.threads))
    names = options.tasks or [name for name, task in TASKS.items() if options.split in task.sources]
    examples = {name: _load(name, options) for name in names}
    progress = Progress(sum(map(len, examples.values())))
    summaries: dict[str, Any] = {}
    for name, questions in examples.items():
        controls = _controls(scorer, options)
        slim = "llmslim" in options.systems
        title = TASKS[name].title
        cells = run_task(questions, scorer, controls, slim=slim, advance=lambda t=title: progress.step(t))
        summaries[name] = summarise(title, questions, cells, options.seed)
    progress.close()
    return {
        "benchmark": "quality",
        "model": f"{artifact.name}@{artifact.fingerprint}",
        "split": options.split,
        "seed": options.seed,
        "limit": options.limit,
        "neighbours": options.neighbours,
        "rates": list(RATES),
        "systems": list(options.systems),
        "environment": environment(),
        "tasks": summaries,
    }


def _load(name: str, options: argparse.Namespace) -> list[Example]:
    task = TASKS[name]
    limits = [limit for limit in (options.limit, task.sample) if limit is not None]
    split: Split = options.split
    neighbours: Neighbours = options.neighbours
    return task.load(
        split, data=options.data, limit=min(limits, default=None), seed=options.seed, neighbours=neighbours
    )


def _controls(ours: Scorer, options: argparse.Namespace) -> dict[str, Scorer]:
    made: dict[str, Scorer] = {
        "reranker": DocumentScorer(ours),
        "random": RandomScorer(options.seed),
        "head": HeadScorer(),
        "bm25": BM25Scorer(),
        "minilm": MiniLMScorer(),
    }
    return {name: scorer for name, scorer in made.items() if name in options.systems}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--data", type=Path, help="the data folder (default: the environment's TERSELY_DATA)")
    parser.add_argument("--model", help=f"artifact folder of {OURS} (default: the bundled model)")
    parser.add_argument("--split", choices=("train", "eval"), default="eval")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    parser.add_argument(
        "--systems",
        nargs="*",
        choices=CONTROLS,
        default=list(CONTROLS),
        metavar="SYSTEM",
        help=f"what to compare with (default: {' '.join(CONTROLS)})",
    )
    parser.add_argument("--limit", type=int, help="most questions of each task")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument(
        "--neighbours",
        choices=("mixed", "bm25"),
        default="mixed",
        help="how hard negatives are ranked; bm25 needs no MiniLM weights",
    )
    parser.add_argument("--threads", type=int, help="threads that run a model (default: every usable core)")
    parser.add_argument("--out", type=Path, help="also write the JSON here")
    return parser


if __name__ == "__main__":
    sys.exit(main())
