"""Compress tool results of every kind, and mixtures of them, and read each result to check it.

    python -m tests.audit.tool_results --count 20000
    python -m tests.audit.tool_results --count 1 --first 4711     # one case again
    python -m tests.audit.tool_results --without-query             # compress without a question

Ctrl-C prints the results so far.

A fake model scores by shared words and noise, so that the kept units vary.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from typing import Any

from tersely import Compressor, Document
from tests.sdk import tool_oracle, tool_results
from tests.sdk.checks import check_all
from tests.sdk.counters import COUNTERS
from tests.sdk.fakes import FakeScorer

COMPRESSORS = [Compressor(FakeScorer(), token_counter=counter) for counter in COUNTERS]
KINDS = [*tool_results.KINDS, "mixture"]
BUDGETS = [10, 25, 60, 120, 250, 600, 1500]
RATES = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.8]


def run_case(number: int, *, asks: bool, **more: Any) -> tuple[str, str]:
    """Build, compress and check one case, with or without a question; return its kind and status."""
    r = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    source = tool_results.KINDS[kind](r) if kind in tool_results.KINDS else tool_results.mixture(r)
    options = r.choice([{"budget": r.choice(BUDGETS)}, {"rate": r.choice(RATES)}, {}])
    if not asks and not options:
        options = {"budget": 120}
    compressor = r.choice(COMPRESSORS)
    docs = [Document(source)]
    query = tool_results.question(r)
    result = compressor.compress(query if asks else None, docs, **options, **more)
    limits = {name: options.get(name) for name in ("budget", "rate")}
    check_all(result, docs, compressor.count_tokens, **limits)
    tool_oracle.check(kind, source, result.text)
    return kind, result.status if result.text or not source else "empty"


def main() -> int:
    """Run the cases of the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--keep-going", action="store_true", help="count the failures instead of stopping")
    parser.add_argument("--without-query", action="store_true", help="compress without a question")
    arguments = parser.parse_args()
    statuses: Counter[tuple[str, str]] = Counter()
    failures: Counter[str] = Counter()
    start = time.perf_counter()
    try:
        for number in range(arguments.first, arguments.first + arguments.count):
            kind = KINDS[number % len(KINDS)]
            try:
                statuses[run_case(number, asks=not arguments.without_query)] += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, print the number of the case
                failures[kind] += 1
                print(f"case {number} ({kind}) failed: {str(error)[:200]}", file=sys.stderr)
                if not arguments.keep_going:
                    traceback.print_exc()
                    break
    except KeyboardInterrupt:
        print("stopped from the keyboard", file=sys.stderr)
    for (kind, status), count in sorted(statuses.items()):
        print(f"{kind:12} {status:12} {count}")
    seconds = time.perf_counter() - start
    cases = statuses.total() + failures.total()
    print(f"{cases} cases in {seconds:.0f} s, {failures.total()} failed: {dict(failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
