"""`python -m benchmarks.bill`: when does compression lower a provider's bill, if the provider has a cache?

Nothing is measured. A plain input token costs 1, one that is written to the cache costs `--write`, and one
that is read from it costs `--read`. Answers cost the same everywhere and are left out.

Retrieval: some documents are the same for every question, and a cache serves them. The kept parts of
    documents depend on the question, so their tokens are plain. Agents: every call sends the whole
    conversation again. A result that is shortened as it arrives does not change later, so the cache
    keeps serving it. The model asks for the originals of some results later. Shortening the history
    afterwards changes the cached tokens, so all of them are written again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks import command
from benchmarks.command import Measured, make_parser, run
from benchmarks.table import Column, Row, Table

RATES = (0.1, 0.25, 0.5)
"""Shares of the documents or of a result that are kept."""
REPEATED = (0.0, 0.9, 1.0)
"""Shares of the documents that are the same for every question."""
REOPENED = (0.0, 0.3, 1.0)
"""Shares of the results for which the model asks for the original."""
COLUMNS = (Column("case"), Column("rate"), Column("change of the bill", "%", format="+.0f"))
AFTERWARDS = (1, 5, 20)
"""Calls that follow after the history was shortened."""


class Options(command.Options):
    """The options of the command."""

    write: float
    read: float
    calls: int
    result: int
    other: int


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of an input token, relative to a plain one."""

    write: float
    read: float


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and return the exit code."""
    parser = make_parser("benchmarks.bill", __doc__)
    parser.add_argument("--write", type=float, default=1.25, help="price of writing a token to the cache")
    parser.add_argument("--read", type=float, default=0.1, help="price of reading a token from the cache")
    parser.add_argument("--calls", type=int, default=20, help="calls of an agent, each after a tool result")
    parser.add_argument("--result", type=int, default=2_000, help="tokens of a tool result")
    parser.add_argument("--other", type=int, default=300, help="tokens of a call beside the result")
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Compute the tables."""
    prices = Prices(options.write, options.read)
    cases: dict[str, Callable[[float], float]] = {
        f"retrieval, {share:.0%} of the documents repeat": partial(compare_retrieval, share, prices=prices)
        for share in REPEATED
    }
    cases |= {
        f"an agent's results as they arrive, {share:.0%} of the originals asked for": partial(
            _compare_agent, options, reopened=share
        )
        for share in REOPENED
    }
    cases |= {
        f"an agent's history, {calls} calls before its end": partial(compare_rewriting, calls, prices=prices)
        for calls in AFTERWARDS
    }
    rows: list[Row] = [
        {"case": case, "rate": rate, "change of the bill": compare(rate)}
        for case, compare in cases.items()
        for rate in RATES
    ]
    tables = [Table("Bills", COLUMNS, tuple(rows), across="rate")]
    settings = {name: getattr(options, name) for name in ("write", "read", "calls", "result", "other")}
    return Measured(tables, settings=settings)


def compare_retrieval(repeated: float, rate: float, prices: Prices) -> float:
    """Return the change of the bill of a question's documents, as a share of the bill with a warm cache."""
    cached = repeated * prices.read + (1 - repeated)
    return round(rate / cached - 1, 4)


def price_agent(sizes: Iterator[int], other: int, prices: Prices) -> float:
    """Return the bill of an agent. Each call adds a result of one of the sizes, and `other` tokens."""
    bill = 0.0
    sent = 0
    for size in sizes:
        bill += sent * prices.read + (size + other) * prices.write
        sent += size + other
    return bill


def shorten_results(calls: int, result: int, rate: float, reopened: float) -> Iterator[int]:
    """Yield the size of each call's result: shortened, and of some also the original, evenly spread."""
    opened = 0
    for call in range(1, calls + 1):
        asked = int(call * reopened + 1e-9) - opened
        opened += asked
        yield round(rate * result) + asked * result


def _compare_agent(options: Options, rate: float, reopened: float) -> float:
    prices = Prices(options.write, options.read)
    whole = price_agent(iter([options.result] * options.calls), options.other, prices)
    shortened = shorten_results(options.calls, options.result, rate, reopened)
    return round(price_agent(shortened, options.other, prices) / whole - 1, 4)


def compare_rewriting(calls: int, rate: float, prices: Prices) -> float:
    """Return the change of the bill of a cached history over `calls` calls, if it is shortened now."""
    shortened = rate * (prices.write + (calls - 1) * prices.read)
    return round(shortened / (calls * prices.read) - 1, 4)


if __name__ == "__main__":
    sys.exit(main())
