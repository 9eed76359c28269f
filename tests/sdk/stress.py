"""Random inputs through every way of limiting a compression, with every guarantee checked.

    python -m tests.sdk.stress --count 10000                    # the bundled model
    python -m tests.sdk.stress --count 10000 --model fake       # no model: seconds instead of minutes
    python -m tests.sdk.stress --count 1 --first 4711           # one case again

If a case breaks a guarantee, the program prints its number and ends with exit code 1. If a case takes more
than --patience seconds, the program prints every thread's stack and ends too.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tersely import Compressor
from tersely.tokens import replace_surrogates
from tests.sdk import inputs
from tests.sdk.checks import check_all
from tests.sdk.counters import COUNTERS
from tests.sdk.fakes import FakeScorer

LONG_EVERY = 500
"""One case in so many has a document of 200,000 words."""
LONG_WORDS = 200_000
BATCH_EVERY = 20
"""One case in so many is repeated as part of a batch."""


def make_compressors(model: str | None) -> list[Compressor]:
    """One for each way of counting. `model` is "fake", a folder, or None for the bundled model."""
    scorer = FakeScorer() if model == "fake" else model
    return [Compressor(scorer, token_counter=counter) for counter in COUNTERS]


def run_case(number: int, compressors: Sequence[Compressor], long_every: int = LONG_EVERY) -> str:
    """Build and check one case; returns its status. The same number is always the same case."""
    generator = random.Random(number)
    docs = inputs.documents(generator)
    if long_every and number % long_every == 0:
        position = generator.randint(0, len(docs))
        kind = generator.randrange(inputs.LONG_KINDS)
        docs.insert(position, inputs.long_document(generator, LONG_WORDS, kind))
    query = inputs.query(generator)
    compressor = generator.choice(compressors)
    options = _random_options(generator)
    result = compressor.compress(query, docs, **options)

    def count(text: str) -> int:
        return compressor.token_counter.count(replace_surrogates(text))

    limits = {name: options.get(name) for name in ("budget", "rate", "max_docs")}
    check_all(result, docs, count, **limits)
    assert result.status not in ("failed_open", "degraded"), result.reason
    if number % BATCH_EVERY == 0 and number % (long_every or 1):
        assert compressor.compress_batch([("other", ["text"]), (query, docs)], **options)[1] == result
    return result.status


def _random_options(generator: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    mode = generator.randrange(5)
    if mode in (0, 1):
        options["budget"] = generator.choice([1, 2, 5, 10, 30, 100, 300, 1000, 10**9])
    elif mode in (2, 3):
        rates = [1e-9, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0, generator.random() or 1.0]
        options["rate"] = generator.choice(rates)
    if generator.random() < 0.2:
        options["max_docs"] = generator.randint(1, 4)
    if generator.random() < 0.3:
        options["order"] = "rerank"
    if generator.random() < 0.2:
        options["level"] = generator.choice([1, 2, 3, 5])
    return options


def main() -> int:
    """Run the cases that the command line names; the exit code."""
    arguments = _parse_arguments()
    compressors = make_compressors(arguments.model)
    statuses: Counter[str] = Counter()
    slowest = (0.0, 0)
    start = time.perf_counter()
    for number in range(arguments.first, arguments.first + arguments.count):
        faulthandler.dump_traceback_later(arguments.patience, exit=True)
        start_of_case = time.perf_counter()
        try:
            statuses[run_case(number, compressors)] += 1
        except Exception:  # noqa: BLE001  # whatever it is, the case's number belongs to it
            traceback.print_exc()
            print(f"case {number} failed", file=sys.stderr)
            return 1
        slowest = max(slowest, (time.perf_counter() - start_of_case, number))
    faulthandler.cancel_dump_traceback_later()
    seconds = time.perf_counter() - start
    print(f"{arguments.count} cases in {seconds:.0f} s, all guarantees hold: {dict(statuses)}")
    print(f"slowest: case {slowest[1]}, {slowest[0]:.1f} s")
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--model", help="'fake', a folder, or nothing for the bundled model")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that one case may take")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
