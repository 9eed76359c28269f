"""`python -m benchmarks.latency.structure`: seconds for tool results, beside prose of the same length.

Each text is compressed with a question and without one, in turn with prose of as many characters, so that
other work on the machine affects all of them. Times are medians; CPU seconds are those of all threads.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.table import Column, Row, Table
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
COLUMNS = (
    Column("text"),
    Column("characters", format=","),
    Column("target", "s"),
    *(
        Column(name, "s", format=".2f")
        for name in ("with a question", "CPU", "without a question", "CPU without")
    ),
    Column("CPU of prose", "s", format=".2f"),
    Column("of prose", "%", format=".0f"),
)


def make_text(kind: str, length: int, seed: int) -> tuple[str, str]:
    """Return a tool result of about `length` characters, and a question about one of its records."""
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


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.latency.structure", __doc__, "model", "threads", rounds=7)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Time every text."""
    compressor = Compressor(options.model, threads=options.threads)
    rows: list[Row] = []
    for kind, length, target in track(CASES, "texts"):
        text, times = _time_text(compressor, kind, length, options)
        share = times["CPU"] / times["CPU of prose"]
        rows.append({"text": kind, "characters": len(text), "target": target, **times, "of prose": share})
    return Measured([Table("Times", COLUMNS, tuple(rows))], compressor.model, {"rounds": options.rounds})


def _time_text(
    compressor: Compressor, kind: str, length: int, options: Options
) -> tuple[str, dict[str, float]]:
    """Return a text and the medians of its times: with its question, without one, and of prose."""
    text, question = make_text(kind, length, options.seed)
    prose = write_documents(1, len(text) // 5, options.seed)[0]
    calls = {"asked": (question, text), "open": (None, text), "prose": (QUERY, prose[: len(text)])}
    wall: dict[str, list[float]] = {name: [] for name in calls}
    cpu: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(options.rounds + 1):
        for name, (query, document) in calls.items():
            start, used = time.perf_counter(), time.process_time()
            compressor.compress(query, [document], budget=BUDGET)
            if number:  # the first round warms up
                wall[name].append(time.perf_counter() - start)
                cpu[name].append(time.process_time() - used)
    return text, {
        "with a question": statistics.median(wall["asked"]),
        "CPU": statistics.median(cpu["asked"]),
        "without a question": statistics.median(wall["open"]),
        "CPU without": statistics.median(cpu["open"]),
        "CPU of prose": statistics.median(cpu["prose"]),
    }


if __name__ == "__main__":
    sys.exit(main())
