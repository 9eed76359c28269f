"""Check random and pathological requests by oracles that do not use the SDK.

python -m tests.audit.requests                           # 50,000 random requests, all pathological ones
python -m tests.audit.requests --count 1 --first 4711    # one again
python -m tests.audit.requests --out requests.json       # the counts as JSON too

One request in `MODEL_EVERY` goes through the bundled model, the others through a scorer with random scores,
so that ties, zeros and failures occur. Every broken guarantee is printed with its request; the exit code is 1
if there is any.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import math
import random
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tersely import Compressor, Document
from tersely.score import DocumentScores, ScoredInput
from tests.audit.request_inputs import (
    PATHOLOGICAL,
    PATHOLOGICAL_OPTIONS,
    QUERIES,
    Known,
    Request,
    make_request,
)
from tests.audit.request_oracles import check
from tests.sdk.counters import COUNTERS

MODEL_EVERY = 50
AGAIN_EVERY = 10
"""One request in this many is repeated: alone, in a batch, and on one thread."""


class DrawnScorer:
    """A scorer that draws scores that depend only on the texts. One request in 25 fails, or gets NaN as
    scores."""

    threshold = 0.5
    length_price = 0.5

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        texts = "\n".join([query, *(document.text for document in documents)])
        r = random.Random(zlib.crc32(texts.encode("utf-8", "surrogatepass")))
        fate = r.random()
        if fate < 0.02:
            raise RuntimeError("drawn")
        draw = r.choice([r.random, lambda: r.choice([0.0, 0.5, 1.0]), lambda: 0.5])
        scores = [[math.nan if fate > 0.98 else draw() for _ in d.units] for d in documents]
        return [DocumentScores(max(own, default=0.0), own) for own in scores]


@cache
def compressors(bundled: bool, threads: int | None = None) -> list[Compressor]:
    """Return a compressor for each way of counting."""
    scorer = Compressor(threads=threads)._scorer if bundled else DrawnScorer()
    return [Compressor(scorer, token_counter=counter, threads=threads) for counter in COUNTERS]


def run_random(number: int) -> str:
    """Make and check one request; return its status."""
    request = make_request(number)
    which, bundled = number % len(COUNTERS), number % MODEL_EVERY == 0
    compressor = compressors(bundled)[which]
    before = [(d.text, d.title) for d in request.documents]
    result = compressor.compress(request.query, request.documents, **request.options)
    assert before == [(d.text, d.title) for d in request.documents]
    check(result.to_dict(), request, COUNTERS[which])
    if number % AGAIN_EVERY == 0 and "timeout" not in request.options:
        again = (request.query, request.documents)
        single = compressors(bundled, 1)[which]
        assert single.compress(*again, **request.options) == result, "not deterministic"
        batch = compressor.compress_batch([("other", ["text"]), again, again], **request.options)
        assert batch[1] == batch[2] == result, "not the same in a batch"
    return result.status


def pathological() -> list[tuple[str, Callable[[], str]]]:
    """Return names and checks of the pathological requests."""

    def run(name: str, query: str, options: dict[str, Any]) -> str:
        docs = [d if isinstance(d, Document) else Document(d) for d in PATHOLOGICAL[name]()]
        request = Request(query, docs, [Known()] * len(docs), options)
        which = len(options) % len(COUNTERS)
        result = compressors(bundled=True)[which].compress(query, docs, **options)
        check(result.to_dict(), request, COUNTERS[which])
        return result.status

    named: list[tuple[str, Callable[[], str]]] = []
    for number, name in enumerate(PATHOLOGICAL):
        for at, options in enumerate(PATHOLOGICAL_OPTIONS):
            query = QUERIES[(number + at) % len(QUERIES)]
            named.append((f"{name} {options} {query[:9]!r}", lambda n=name, q=query, o=options: run(n, q, o)))
    return named


def run_all(first: int, count: int, extremes: bool, patience: float) -> dict[str, Any]:
    """Return counts, failures and the slowest request."""
    named = [(str(n), lambda n=n: run_random(n)) for n in range(first, first + count)]
    extra = pathological() if extremes else []
    statuses: Counter[str] = Counter()
    failures: list[str] = []
    slowest = (0.0, "")
    for name, work in (*named, *extra):
        faulthandler.dump_traceback_later(patience, exit=True)
        started = time.perf_counter()
        try:
            statuses[work()] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, the request did not hold
            failures.append(f"{name}: {type(error).__name__}: {error}"[:300])
            print(failures[-1], file=sys.stderr, flush=True)
        slowest = max(slowest, (round(time.perf_counter() - started, 2), name))
    faulthandler.cancel_dump_traceback_later()
    return {
        "random": count,
        "pathological": len(extra),
        "became": dict(sorted(statuses.items())),
        "failures": failures,
        "slowest": slowest,
    }


def main() -> int:
    """Run the requests of the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first request")
    parser.add_argument("--no-pathological", dest="extremes", action="store_false")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds that one request may take")
    parser.add_argument("--out", type=Path, help="write the counts as JSON")
    args = parser.parse_args()
    logging.getLogger("tersely").addHandler(logging.NullHandler())
    started = time.perf_counter()
    counts = run_all(args.first, args.count, args.extremes, args.patience)
    counts["seconds"] = round(time.perf_counter() - started)
    for name, value in counts.items():
        print(f"{name}: {len(value) if name == 'failures' else value}")
    if args.out:
        args.out.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    return 1 if counts["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
