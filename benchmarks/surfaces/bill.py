"""`python -m benchmarks.surfaces.bill --data DIR`: what recorded agent runs would have cost with and without
the proxy, and with its advisor, where providers charge less for what their cache of the prompt holds.

Every reply of the model is a request with all messages before it. A provider's cache holds the messages in
which a request begins like the one before it. Prints a table, writes the JSON and fills RESULTS.md.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tersely.speed import Speed

from benchmarks.arguments import add_data, add_out, add_seed, make_parser
from benchmarks.markdown import format_table
from benchmarks.memory.transcripts import read_transcripts
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.shared.statistics import Estimate, bootstrap
from benchmarks.shared.tasks.rows import find_data_folder
from tersely import Advisor, Compressor
from tersely.adapters import ToolLimits
from tersely.runtime.artifacts import load_artifact
from tersely_proxy.formats import read_chat
from tersely_proxy.rewriting import Rewriter

LIMITS = (200, 400)
"""Most tokens of a tool's result."""
PRICES = {"cache reads at 0.1, writes at 1.25": (0.1, 1.25), "cache reads at 0.5, writes at 1": (0.5, 1.0)}
"""Of a token that the cache holds, and of one that it does not, as shares of the price of an input token."""

PRICE, SECOND = 3.0, 0.01
"""What a million input tokens cost, and a second of waiting."""
ADVISOR: dict[str, float] = {
    "price": PRICE, "second": SECOND, "cache_read": 0.1, "cache_write": 1.25, "repeats": 6.0
}  # fmt: skip
"""The first prices; six is about half of the requests of a run."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BillRow:
    """One limit, compared with no proxy."""

    limit: int
    advised: bool
    """Whether the advisor left texts as they were that it does not pay to shorten."""
    shortened: int
    """Texts that were shortened, in all runs."""
    seconds: float
    """Of compressions a run, by the measured speed."""
    total: Estimate
    """Cost of the input by the first prices, and of these seconds, as a share of the input's without."""
    tokens: Estimate
    """Input tokens, as a share of those without the proxy."""
    hit_rate: float
    """Share of the input tokens that the cache holds."""
    bills: dict[str, Estimate]
    """By prices, the cost of the input as a share of that without the proxy."""


@dataclass(frozen=True, slots=True)
class BillRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    seed: int
    environment: Environment
    runs: int
    requests: int
    hit_rate: float
    """Without the proxy."""
    speed: dict[str, float]
    """Seconds of a compression on this machine, by tokens."""
    rows: tuple[BillRow, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    runs: int
    seed: int
    out: Path


@dataclass(frozen=True, slots=True)
class Usage:
    """Input tokens of a run's requests."""

    read: int
    """Held by the cache."""
    written: int
    """All others."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """A run as the proxy sends it."""

    messages: list[Json]
    tokens: list[int]
    """Of each text that was shortened, before."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.surfaces.bill", __doc__)
    add_data(parser)
    parser.add_argument("--runs", type=int, default=40, help="recorded runs, drawn by seed")
    add_seed(parser)
    add_out(parser, "bill")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("bill", lambda: measure(options), render, options.out)


def measure(options: Options) -> BillRun:
    """Replay recorded runs of tau-bench, with each limit and without a proxy."""
    artifact = load_artifact(None)
    compressor = Compressor(artifact.path)
    transcripts = read_transcripts(find_data_folder(options.data), "taubench", options.seed)
    drawn = random.Random(options.seed).sample(transcripts, min(options.runs, len(transcripts)))
    runs = [[*transcript.first, *transcript.rest] for transcript in drawn]
    plain = [replay(messages, messages, compressor) for messages in runs]
    rows: list[BillRow] = []
    speed = compressor.find_speed(again=True)
    advised = Compressor(artifact.path, advisor=Advisor(**ADVISOR, speed=speed))
    for limit in LIMITS:
        for own in (compressor, advised):
            rewriter = Rewriter(own, ToolLimits(limit))
            sent = [shorten(rewriter, messages) for messages in runs]
            rows.append(compare(limit, runs, sent, plain, compressor, speed, options.seed, own is advised))
    return BillRun(
        benchmark="bill",
        model=name_model(artifact),
        seed=options.seed,
        environment=read_environment(),
        runs=len(runs),
        requests=sum(count_requests(messages) for messages in runs),
        hit_rate=hit_rate(plain),
        speed={f"{tokens:,}": round(seconds, 3) for tokens, seconds in speed.times},
        rows=tuple(rows),
    )


def shorten(rewriter: Rewriter, messages: Sequence[Json]) -> Shortened:
    """The messages as the proxy sends them in the last request of a run."""
    body = json.dumps({"messages": messages}).encode()
    rewritten = rewriter.rewrite(body, read_chat)
    tokens = [change.tokens_before for change in rewritten.changes]
    return Shortened(json.loads(rewritten.body)["messages"], tokens)


def count_requests(messages: Sequence[Json]) -> int:
    """Replies of the model in a run."""
    return sum(message["role"] == "assistant" for message in messages)


def replay(original: Sequence[Json], sent: Sequence[Json], compressor: Compressor) -> Usage:
    """The usage of a run. Before each reply of the model, all messages up to it are sent."""
    costs = [compressor.count_tokens(json.dumps(message, ensure_ascii=False)) for message in sent]
    read = written = known = 0
    for position, message in enumerate(original):
        if message["role"] == "assistant":
            total = sum(costs[:position])
            read += known
            written += total - known
            known = total
    return Usage(read, written)


def hit_rate(usages: Sequence[Usage]) -> float:
    """Share of the input tokens that the cache holds."""
    read = sum(usage.read for usage in usages)
    return round(read / (read + sum(usage.written for usage in usages)), 4)


def compare(
    limit: int,
    runs: Sequence[Sequence[Json]],
    sent: Sequence[Shortened],
    plain: Sequence[Usage],
    compressor: Compressor,
    speed: Speed,
    seed: int,
    advised: bool,
) -> BillRow:
    """A limit's row: all shares are sums over runs, with intervals over runs."""
    usages = [replay(whole, own.messages, compressor) for whole, own in zip(runs, sent, strict=True)]
    seconds = np.array([sum(map(speed.seconds, own.tokens)) for own in sent])

    def cost(usages: Sequence[Usage], read_price: float, write_price: float) -> NDArray[np.float64]:
        return np.array([usage.read * read_price + usage.written * write_price for usage in usages])

    def share(read_price: float, write_price: float, waiting: float = 0.0) -> Estimate:
        own, other = cost(usages, read_price, write_price), cost(plain, read_price, write_price)
        return bootstrap(own + waiting * seconds, other, seed).round()

    first = next(iter(PRICES.values()))
    return BillRow(
        limit=limit,
        advised=advised,
        shortened=sum(len(own.tokens) for own in sent),
        seconds=round(float(seconds.mean()), 2),
        total=share(*first, waiting=SECOND / (PRICE / 1e6)),
        tokens=share(1, 1),
        hit_rate=hit_rate(usages),
        bills={name: share(*prices) for name, prices in PRICES.items()},
    )


def render(run: BillRun) -> str:
    """The section of RESULTS.md."""

    def percent(estimate: Estimate) -> str:
        return f"{estimate.value:.0%} ({estimate.low:.0%} to {estimate.high:.0%})"

    header = ["most tokens of a result", "shortened", "seconds a run"]
    header += ["input tokens", "held by the cache", *PRICES, "first prices, and waiting"]
    rows = [["no proxy", "0", "0", "100%", f"{run.hit_rate:.1%}", *("100%" for _ in PRICES), "100%"]]
    for row in run.rows:
        bills = (percent(row.bills[name]) for name in PRICES)
        name = f"{row.limit}, with advisor" if row.advised else str(row.limit)
        head = [name, str(row.shortened), f"{row.seconds:.2f}"]
        rows.append([*head, percent(row.tokens), f"{row.hit_rate:.1%}", *bills, percent(row.total)])
    shown = ", ".join(f"{seconds:.2g} s for {tokens} tokens" for tokens, seconds in run.speed.items())
    return "\n\n".join(
        [
            f"Model {run.model}, seed {run.seed}. {run.environment.describe()}",
            f"{run.runs} recorded runs of tau-bench with {run.requests} requests. Tokens by the built-in "
            "estimate. Costs are those of the input alone, as shares of those without the proxy, with 95 % "
            "bootstrap intervals over runs. Seconds are those of the compressions, by the speed measured in "
            f"the same run ({shown}). The last column adds {SECOND:g} for each of them, at a price of "
            f"{PRICE:g} a million tokens. The advisor counts the same, the first prices of the cache, and "
            f"{ADVISOR['repeats']:g} later requests with each text.",
            format_table(header, rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
