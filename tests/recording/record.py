"""Write `expected.jsonl.gz` anew: python -m tests.recording.record

Only to be done where compressions are meant to change, or to add requests; the differences show which do.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import Counter
from pathlib import Path

import tersely
from tests.recording.requests import requests
from tests.recording.run import Outcome, run

FILE = Path(__file__).parent / "expected.jsonl.gz"


def read() -> dict[str, Outcome]:
    """The recorded outcomes, by id."""
    with gzip.open(FILE, "rt", encoding="ascii") as lines:
        outcomes = map(json.loads, lines)
        return {outcome["id"]: outcome for outcome in outcomes}


def write() -> None:
    count, started, seconds = Counter[str](), time.perf_counter(), Counter[str]()
    # Without a name and a time in the header, the same outcomes give the same bytes.
    with open(FILE, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        for request in requests():
            began = time.perf_counter()
            for outcome in run(request):
                line = json.dumps(outcome, separators=(",", ":"), sort_keys=True, default=repr)
                packed.write(f"{line}\n".encode("ascii"))
            count[request.kind] += 1
            seconds[request.kind] += time.perf_counter() - began
    for kind in count:
        print(f"{kind:12}{count[kind]:5}{seconds[kind]:8.1f} s")
    total = time.perf_counter() - started
    print(f"{count.total()} requests in {total:.0f} s, with {tersely.__file__}")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(write())
