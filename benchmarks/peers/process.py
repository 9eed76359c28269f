"""A peer in a process of its own, asked over its standard input, and brought to a budget."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.install import python
from benchmarks.results import environment
from benchmarks.shared import cache
from tersely.errors import MissingDependencyError, TerselyError

WORKER = Path(__file__).with_name("worker.py")
CLOSE = (0.94, 1.02)
"""Sizes, as shares of the budget, that need no further try."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a peer made of one question's documents."""

    text: str
    seconds: float


class Peer:
    """One system of `worker.py`. Its answers are cached by version, question, documents and target."""

    def __init__(self, name: str) -> None:
        if not python().exists():
            raise MissingDependencyError("the peers are not installed: python -m benchmarks.peers.install")
        self.name = name
        self._place = f"{WORKER.read_text(encoding='utf-8')} {environment()['cpu']}"
        """Outputs belong to the worker's settings, seconds to a processor."""
        self._process: subprocess.Popen[str] | None = None
        self.facts: dict[str, Any] = {}
        """What the worker says of itself: version, seconds to load, bytes installed, its knob."""

    def __enter__(self) -> Peer:
        self._process = subprocess.Popen(
            [str(python()), str(WORKER), self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            self.facts = self._read()
        except TerselyError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def compress(self, question: str, documents: Sequence[tuple[str | None, str]], share: float) -> Output:
        """The peer's text when it is asked to keep `share` of the tokens. Raises TerselyError where it
        fails."""
        key = cache.digest(
            self.name, self.facts["version"], self._place, repr(share), question, json.dumps(documents)
        )
        stored = cache.fetch("peers", [key])
        if key not in stored:
            answer = self._ask({"question": question, "documents": documents, "share": share})
            if "error" in answer:
                raise TerselyError(f"{self.name} failed: {answer['error']}")
            stored[key] = json.dumps(answer).encode()
            cache.keep("peers", stored)
        found = json.loads(stored[key])
        return Output(found["text"], found["seconds"])

    def peak_bytes(self, question: str, documents: Sequence[tuple[str | None, str]]) -> int:
        """The most memory that the process has held, after these documents at least: outputs may come from
        the cache."""
        self._ask({"question": question, "documents": documents, "share": 0.25})
        return int(self._ask({"peak": True})["peak_bytes"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):  # what the peers print themselves is passed over
                return json.loads(line)
        raise TerselyError(f"{self.name} ended with code {self._process.wait()}")


def bring_to(
    budget: int, total: int, compress: Callable[[float], Output], count: Callable[[str], int], tries: int
) -> Output:
    """The output nearest below `budget` tokens, by changing what is asked for; where the peer never gets that
    low, the smallest."""
    share = min(1.0, budget / max(1, total))
    low, high = 0.0, 1.0
    found: list[tuple[int, Output]] = []
    for _ in range(tries):
        output = compress(share)
        size = count(output.text)
        found.append((size, output))
        if CLOSE[0] * budget <= size <= CLOSE[1] * budget or (share == 1.0 and size < budget):
            break
        if size <= budget:
            low = share
        else:
            high = share
        step = share * budget / max(1, size)
        share = min(1.0, step if low < step < high else (low + high) / 2)
    fitting = [pair for pair in found if pair[0] <= CLOSE[1] * budget]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else min(found, key=lambda pair: pair[0])[1]
