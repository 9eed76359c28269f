"""Random inputs through every way of limiting a compression, with every guarantee checked.

    python -m tests.sdk.stress --count 10000                    # the bundled model
    python -m tests.sdk.stress --count 10000 --model fake       # no model: seconds instead of minutes
    python -m tests.sdk.stress --count 1 --first 4711           # one case again

A failure prints the number of its case and ends the program with exit code 1; a case that takes more than
--patience seconds prints every thread's stack and ends it too.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from tersely import Compressor
from tersely.text.tokens import encodable
from tests.sdk import inputs
from tests.sdk.checks import check_all
from tests.sdk.fakes import FakeScorer

LONG_EVERY = 500
"""One case in so many has a document of 200,000 words."""
LONG_WORDS = 200_000


def words(text: str) -> int:
    return len(text.split())


def odd(text: str) -> int:
    """Neither additive nor monotone, as no tokenizer should be."""
    return len(text) // 3 + len(set(text)) % 5


COUNTERS: list[Callable[[str], int] | None] = [None, words, len, odd]


def compressors(model: str | None) -> list[Compressor]:
    """One for each way of counting."""
    scorer = FakeScorer() if model == "fake" else model
    return [Compressor(scorer, token_counter=counter) for counter in COUNTERS]


def run_case(number: int, available: list[Compressor], long_every: int = LONG_EVERY) -> str:
    """Build and check one case; returns its status. The same number is always the same case."""
    r = random.Random(number)
    docs = inputs.documents(r)
    if long_every and number % long_every == 0:
        docs.insert(
            r.randint(0, len(docs)), inputs.long_document(r, LONG_WORDS, r.randrange(inputs.LONG_KINDS))
        )
    query = inputs.query(r)
    compressor = r.choice(available)
    options = _options(r)
    result = compressor.compress(query, docs, **options)

    def count(text: str) -> int:
        return compressor.token_counter.count(encodable(text))

    limits = {name: options.get(name) for name in ("budget", "rate", "max_docs")}
    check_all(result, docs, count, **limits)
    assert result.status != "failed_open", result.reason
    if number % 20 == 0 and number % (long_every or 1):
        assert compressor.compress_batch([("other", ["text"]), (query, docs)], **options)[1] == result
    return result.status


def _options(r: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    mode = r.randrange(5)
    if mode in (0, 1):
        options["budget"] = r.choice([1, 2, 5, 10, 30, 100, 300, 1000, 10**9])
    elif mode in (2, 3):
        options["rate"] = r.choice([1e-9, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0, r.random() or 1.0])
    if r.random() < 0.2:
        options["max_docs"] = r.randint(1, 4)
    if r.random() < 0.3:
        options["order"] = "rerank"
    if r.random() < 0.2:
        options["level"] = r.choice(["auto", 1, 2, 3, 5])
    return options


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--model", help="'fake', a folder, or nothing for the bundled model")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that one case may take")
    arguments = parser.parse_args()
    available = compressors(arguments.model)
    statuses: Counter[str] = Counter()
    slowest = (0.0, 0)
    began = time.perf_counter()
    for number in range(arguments.first, arguments.first + arguments.count):
        faulthandler.dump_traceback_later(arguments.patience, exit=True)
        start = time.perf_counter()
        try:
            statuses[run_case(number, available)] += 1
        except Exception:  # noqa: BLE001  # whatever it is, the case's number belongs to it
            traceback.print_exc()
            print(f"case {number} failed", file=sys.stderr)
            return 1
        slowest = max(slowest, (time.perf_counter() - start, number))
    faulthandler.cancel_dump_traceback_later()
    seconds = time.perf_counter() - began
    print(f"{arguments.count} cases in {seconds:.0f} s, all guarantees hold: {dict(statuses)}")
    print(f"slowest: case {slowest[1]}, {slowest[0]:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
