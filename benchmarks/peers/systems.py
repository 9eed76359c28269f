"""The outputs of every system: tersely, its controls, no compression, and the peers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import floor

from benchmarks.latency import probes
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.process import Output, PeerProcess, search_budget
from benchmarks.peers.rows import ALL, TIMED, UNCOMPRESSED, SystemRow
from benchmarks.progress import Progress
from benchmarks.quality.controls import CachedScorer, make_scorers
from benchmarks.shared.tasks import Example
from tersely import Compressor
from tersely.errors import TerselyError
from tersely.metrics import contains_answer
from tersely.runtime.artifacts import load_artifact
from tersely.score.selector import Selector

RATES = (0.1, 0.25, 0.5)
TRIES, SLOW_TRIES = 2, 1
"""Of a peer to come near the rate. Where it does not, tersely is compared at the size of its output."""

Tasks = Mapping[str, Sequence[Example]]
Key = tuple[str, str, float]
"""System, task and budget."""
Outputs = dict[Key, list[Output]]
Count = Callable[[str], int]


def run_ours(tasks: Tasks, threads: int | None, *, minilm: bool) -> tuple[list[SystemRow], Outputs]:
    """tersely, the controls in its own packer, and no compression at all."""
    selector = Selector.load(load_artifact(None), threads)
    systems: list[SystemRow] = []
    outputs: Outputs = {}
    for name, scorer in make_scorers(selector, minilm=minilm, seed=13).items():
        compressor = Compressor(CachedScorer(scorer), threads=threads)
        systems.append(SystemRow(name, "ours"))
        for task, examples in tasks.items():
            rows = [_compress_at_rates(compressor, example) for example in examples]
            outputs |= {(name, task, rate): [row[rate] for row in rows] for rate in RATES}
    for task, examples in tasks.items():
        outputs[ALL, task, UNCOMPRESSED] = [Output(e.full_text, 0.0) for e in examples]
    return [*systems, SystemRow(ALL, "whole")], outputs


def measure_size(row: SystemRow, tasks: Tasks) -> SystemRow:
    """`row` with the RAM of tersely in a process of its own, and with its size installed."""
    first = next(iter(tasks.values()))[0]
    texts = [document.text for document in first.documents]
    alone = probes.compress_alone(probes.Job(None, None, first.question, texts, 0.25, times=3))
    size = probes.measure_install()
    return replace(row, peak_bytes=alone.peak_bytes, installed_bytes=size.installed_bytes)


def run_peer(peer: Peer, tasks: Tasks, count: Count, limit: int) -> tuple[SystemRow, Outputs]:
    """A peer's outputs for the first `limit` questions of each task; where it fails, the reason."""
    try:
        with PeerProcess(peer.name) as process:
            return _run_process(process, peer, tasks, count, limit)
    except TerselyError as error:
        return SystemRow(peer.name, "peer", failed=str(error)[:300]), {}


def _run_process(
    process: PeerProcess, peer: Peer, tasks: Tasks, count: Count, limit: int
) -> tuple[SystemRow, Outputs]:
    rates = RATES if peer.is_trained else (TIMED,)
    outputs: Outputs = {(peer.name, task, rate): [] for task in tasks for rate in rates}
    failures: list[str] = []
    progress = Progress(sum(min(limit, len(examples)) for examples in tasks.values()) * len(rates))
    for task, examples in tasks.items():
        for example in examples[:limit]:
            for rate in rates:

                def compress(share: float, example: Example = example) -> Output:
                    return compress_or_keep_all(process, example, share, failures)

                output = compress_to_rate(peer, example, rate, compress, count)
                outputs[peer.name, task, rate].append(output)
                progress.step(f"{peer.name} {task}")
    progress.close()
    if len(failures) >= sum(map(len, outputs.values())):
        raise TerselyError(failures[0])
    first = next(iter(tasks.values()))[0]
    facts = process.facts
    row = SystemRow(
        peer.name,
        "peer",
        version=facts.version,
        load_seconds=facts.load_seconds,
        installed_bytes=facts.installed_bytes,
        peak_bytes=process.measure_peak(first.question, list_documents(first)),
        failures=tuple(failures),
    )
    return row, outputs


def compress_to_rate(
    peer: Peer, example: Example, rate: float, compress: Callable[[float], Output], count: Count
) -> Output:
    """A peer's largest output within a rate, in as many tries as it has; see `search_budget`."""
    total = count(example.full_text)
    tries = (SLOW_TRIES if peer.is_slow else TRIES) if peer.takes_size else 1
    return search_budget(floor(rate * total), total, compress, count, tries)


def compress_or_keep_all(process: PeerProcess, example: Example, share: float, failures: list[str]) -> Output:
    """A peer's output; all documents where it fails, as a user would do. The error is added to `failures`."""
    started = time.perf_counter()
    try:
        return process.compress(example.question, list_documents(example), share)
    except TerselyError as error:
        failures.append(str(error)[:300])
        return Output(example.full_text, time.perf_counter() - started)


def compare_at_sizes(
    outputs: Outputs, tasks: Tasks, count: Count, threads: int | None
) -> dict[Key, list[int]]:
    """For each peer's output, 1 if tersely keeps an answer in as many tokens, else 0."""
    selector = Selector.load(load_artifact(None), threads)
    compressor = Compressor(CachedScorer(selector), token_counter=count)
    kept: dict[Key, list[int]] = {key: [] for key in outputs}
    for task, examples in tasks.items():
        keys = [key for key in outputs if key[1] == task]
        progress = Progress(len(examples))
        for number, example in enumerate(examples):
            documents = example.to_documents()
            for key in keys:
                if number < len(outputs[key]):
                    size = max(1, count(outputs[key][number].text))
                    result = compressor.compress(example.question, documents, budget=size)
                    kept[key].append(int(contains_answer(result.text, example.answers)))
            progress.step(f"at the peers' sizes, {task}")
        progress.close()
    return kept


def _compress_at_rates(compressor: Compressor, example: Example) -> dict[float, Output]:
    """The outputs at every rate. All have the seconds of the first, in which the units are scored."""
    timed = _compress(compressor, example, TIMED)
    return {
        rate: timed if rate == TIMED else replace(_compress(compressor, example, rate), seconds=timed.seconds)
        for rate in RATES
    }


def _compress(compressor: Compressor, example: Example, rate: float) -> Output:
    documents = example.to_documents()
    started = time.perf_counter()
    result = compressor.compress(example.question, documents, rate=rate)
    return Output(result.text, time.perf_counter() - started)


def list_documents(example: Example) -> list[tuple[str | None, str]]:
    return [(d.title, d.text) for d in example.documents]
