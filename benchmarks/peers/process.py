"""A peer in a process of its own, which takes requests on its standard input, and the search for a budget."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

from benchmarks.peers.catalogue import Peer
from benchmarks.peers.install import find_python
from benchmarks.shared import cache
from benchmarks.shared.environment import read_processor
from benchmarks.shared.tasks import Example
from tersely.errors import MissingDependencyError, TerselyError

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
WORKER = "benchmarks.peers.worker"
CLOSE = (0.94, 1.02)
"""Smallest and largest size, as shares of the budget, that need no further try."""
TRIES, SLOW_TRIES = 2, 1
"""Tries of a peer to come near the rate."""

Documents = Sequence[tuple[str | None, str]]
"""Title and text of each document."""
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Output:
    """The text that a system made of one question's documents."""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """The worker's report after loading its peer."""

    version: str
    load_seconds: float
    installed_bytes: int
    """Size of the package with everything that it requires."""


class PeerProcess:
    """One peer of `worker.py`. Outputs are cached by version, question, documents and share.

    Raises:
        MissingDependencyError: the peers are not installed.
        TerselyError: the peer cannot be loaded, or fails.
    """

    def __init__(self, name: str) -> None:
        if not find_python().exists():
            raise MissingDependencyError("the peers are not installed: python -m benchmarks.peers.install")
        self.name = name
        # Outputs depend on the worker's settings, seconds on the processor.
        sources = ((FOLDER / file).read_text(encoding="utf-8") for file in ("worker.py", "catalogue.py"))
        self._origin = " ".join([*sources, read_processor()])
        self._process: subprocess.Popen[str] | None = None
        self._loaded: Loaded | None = None

    @property
    def loaded(self) -> Loaded:
        """The worker's report; only inside of the context manager."""
        assert self._loaded is not None
        return self._loaded

    def __enter__(self) -> PeerProcess:
        self._process = subprocess.Popen(
            [str(find_python()), "-m", WORKER, self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            self._loaded = Loaded(**self._read())
        except TerselyError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:  # it has given all its outputs
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def compress(self, question: str, documents: Documents, share: float) -> Output:
        """Return the peer's output for a target of `share` of the tokens."""
        version = self.loaded.version
        key = cache.digest(self.name, version, self._origin, repr(share), question, json.dumps(documents))
        stored = cache.fetch("peers", [key])
        if key not in stored:
            reply = self._send({"question": question, "documents": documents, "share": share})
            if "error" in reply:
                raise TerselyError(f"{self.name} failed: {reply['error']}")
            stored[key] = json.dumps(reply).encode()
            cache.keep("peers", stored)
        return Output(**json.loads(stored[key]))

    def measure_peak(self, question: str, documents: Documents) -> int:
        """Return the peak of the process's RAM in bytes.

        It compresses these documents first, because earlier outputs may all come from the cache.
        """
        self._send({"question": question, "documents": documents, "share": 0.25})
        return int(self._send({"peak": True})["peak_bytes"])

    def _send(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):  # the peers print lines of their own
                return json.loads(line)
        raise TerselyError(f"{self.name} ended with code {self._process.wait()}")


def list_documents(example: Example) -> list[tuple[str | None, str]]:
    """Return the documents as a peer takes them."""
    return [(d.title, d.text) for d in example.documents]


def compress_to_rate(
    peer: Peer, example: Example, rate: float, compress: Callable[[float], Output], count: Count
) -> Output:
    """Return a peer's largest output within a rate, in as many tries as it has; see `search_budget`."""
    total = count(example.full_text)
    tries = (SLOW_TRIES if peer.is_slow else TRIES) if peer.takes_size else 1
    return search_budget(floor(rate * total), total, compress, count, tries)


def search_budget(
    budget: int, total: int, compress: Callable[[float], Output], count: Count, tries: int
) -> Output:
    """Return the largest output of up to `tries` that fits into `budget` of `total` tokens.

    The share that `compress` gets changes from try to try. If no output fits, the smallest is taken.
    """
    share = min(1.0, budget / max(1, total))
    low, high = 0.0, 1.0
    outputs: list[tuple[int, Output]] = []
    for _ in range(tries):
        output = compress(share)
        size = count(output.text)
        outputs.append((size, output))
        if CLOSE[0] * budget <= size <= CLOSE[1] * budget or (share == 1.0 and size < budget):
            break
        if size <= budget:
            low = share
        else:
            high = share
        step = share * budget / max(1, size)
        share = min(1.0, step if low < step < high else (low + high) / 2)
    fitting = [pair for pair in outputs if pair[0] <= CLOSE[1] * budget]
    if fitting:
        return max(fitting, key=lambda pair: pair[0])[1]
    return min(outputs, key=lambda pair: pair[0])[1]
