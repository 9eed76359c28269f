"""`python -m benchmarks.latency.structure`: seconds for tool results, beside prose of the same length.

Each text is compressed with a question and without one, in turn with prose of as many characters, so that
other work on the machine falls on all of them. CPU seconds are those of all threads. Prints a table, and with
`--out` writes it as JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.arguments import add_model, add_seed, add_threads
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.shared.environment import read_environment
from tersely import Compressor

BUDGET = 500
CASES = (
    ("JSON", 40_000, 0.3),
    ("JSON", 100_000, 0.5),
    ("Python", 100_000, 0.5),
    ("log", 100_000, 0.5),
    ("log", 300_000, 0.6),
)
"""Kind and characters of a text, and the seconds that a call with a question may take on two cores with
AVX-512 VNNI."""


def make_text(kind: str, length: int, seed: int) -> tuple[str, str]:
    """A tool result of about `length` characters, and a question about one of its records."""
    r = random.Random(f"{kind} {seed}")
    records: list[str] = []
    size = 0
    while size < length:
        records.append(_MAKERS[kind](len(records), r))
        size += len(records[-1]) + 2
    name = f"pump_{len(records) // 2}"
    if kind == "JSON":
        return f'{{"status": "ok", "results": [{", ".join(records)}]}}', f"What is the pressure of {name}?"
    if kind == "Python":
        return "import valves\n\n\n" + "\n\n".join(records), f"What does {name} return?"
    return "\n".join(records), "Why did requests fail?"


def _make_record(number: int, r: random.Random) -> str:
    record = {"id": number, "name": f"pump_{number}", "pressure": r.randrange(900), "site": r.choice("NESW")}
    return json.dumps({**record, "checked": f"2026-0{r.randrange(1, 9)}-1{r.randrange(9)}"})


def _make_function(number: int, r: random.Random) -> str:
    return (
        f"def pump_{number}(pressure, limit={r.randrange(900)}):\n"
        f'    """Open valve {r.randrange(90)} while the pressure is below the limit."""\n'
        f"    if pressure > limit:\n        raise ValueError(pressure)\n"
        f"    for step in range({r.randrange(9)}):\n        pressure += valves.read(step)\n"
        f"    return valves.close(pressure)\n"
    )


def _make_line(number: int, r: random.Random) -> str:
    clock = f"2026-05-01 {number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}"
    if number == 1000:
        return f"{clock} ERROR api: connection to pump_7 refused"
    return f"{clock} INFO api: GET /pumps/{r.randrange(9999)} took {r.randrange(90)} ms status=200"


_MAKERS = {"JSON": _make_record, "Python": _make_function, "log": _make_line}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency.structure", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=7)
    add_model(parser)
    add_threads(parser)
    add_seed(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the rows as JSON")
    args = parser.parse_args(arguments)
    compressor = Compressor(args.model, threads=args.threads)
    rows = [_measure(compressor, *case, args.repetitions, args.seed) for case in CASES]
    names = ["text", "characters", "target, s", "seconds", "CPU", "without a question", "CPU", "of prose"]
    print(f"| {' | '.join(names)} |", "|---|" + "---:|" * (len(names) - 1), sep="\n")
    for row in rows:
        times = [row[key] for key in ("asked", "asked_cpu", "open", "open_cpu")]
        cells = [row["kind"], f"{row['characters']:,}", f"{row['target']:g}", *(f"{t:.2f}" for t in times)]
        print(f"| {' | '.join(cells)} | {100 * row['asked_cpu'] / row['prose_cpu']:.0f} % |", flush=True)
    if args.out is not None:
        run = {"benchmark": "structure", "environment": asdict(read_environment()), "rows": rows}
        args.out.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    return 0


def _measure(
    compressor: Compressor, kind: str, length: int, target: float, repetitions: int, seed: int
) -> dict[str, Any]:
    """Medians of wall and CPU seconds: of the text with its question, without one, and of prose."""
    text, question = make_text(kind, length, seed)
    prose = write_documents(1, len(text) // 5, seed)[0]
    calls = {"asked": (question, text), "open": (None, text), "prose": (QUERY, prose[: len(text)])}
    wall: dict[str, list[float]] = {name: [] for name in calls}
    cpu: dict[str, list[float]] = {name: [] for name in calls}
    for repetition in range(repetitions + 1):
        for name, (query, document) in calls.items():
            start, used = time.perf_counter(), time.process_time()
            compressor.compress(query, [document], budget=BUDGET)
            if repetition:  # the first one warms up
                wall[name].append(time.perf_counter() - start)
                cpu[name].append(time.process_time() - used)
    return {
        "kind": kind,
        "characters": len(text),
        "target": target,
        **{name: statistics.median(values) for name, values in wall.items()},
        **{f"{name}_cpu": statistics.median(values) for name, values in cpu.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
