"""Tool results of many kinds, from a seed. All tell which lighthouse was built when, so any can be checked.

Lighthouse n was built in `year(n)`. A text that says otherwise is false.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

Random = random.Random

KEEPERS = ["Ada", "Bo", "Cy", "Dee"]


def year(number: int) -> int:
    """Return the year in which lighthouse `number` was built."""
    return 1700 + (number * 37) % 250


def _numbers(r: Random) -> list[int]:
    return sorted(r.sample(range(300), r.choice([3, 8, 20, 60, 120])))


def _record(r: Random, n: int) -> dict[str, object]:
    record: dict[str, object] = {"name": f"lighthouse {n}", "built": year(n), "keeper": r.choice(KEEPERS)}
    if r.random() < 0.3:
        record["lamp"] = {"color": r.choice(["red", "white"]), "watts": r.randrange(900)}
    if r.random() < 0.1:
        record["notes"] = " ".join(f"It was painted in spring {k}." for k in range(r.randrange(40)))
    return record


def json_value(r: Random) -> str:
    records: object = [_record(r, n) for n in _numbers(r)]
    if r.random() < 0.5:
        records = {"status": "ok", "results": records, "total": 3, "error": None}
    if r.random() < 0.2:
        records = {"data": {"page": 1, "inner": records}}
    return json.dumps(records, indent=r.choice([None, 2, "\t"]), ensure_ascii=r.random() < 0.5)


def json_lines(r: Random) -> str:
    return "\n".join(json.dumps(_record(r, n)) for n in _numbers(r))


def yaml(r: Random) -> str:
    lines = ["lighthouses:"]
    for n in _numbers(r):
        lines += [f"  - name: lighthouse {n}", f"    built: {year(n)}"]
        if r.random() < 0.3:
            lines += ["    lamp:", f"      color: {r.choice(['red', 'white'])}", "      watts: 40"]
        if r.random() < 0.1:
            lines += ["    notes: |", *(f"      Painted in spring {k}." for k in range(r.randrange(1, 9)))]
    return "\n".join([*lines, "total: 3", "status: ok"])


def csv(r: Random) -> str:
    mark = r.choice([",", ";", "\t"])
    rows = [["name", "built", "keeper"]]
    rows += [[f"lighthouse {n}", str(year(n)), r.choice(KEEPERS)] for n in _numbers(r)]
    return "\n".join(map(mark.join, rows))


def key_values(r: Random) -> str:
    return "\n\n".join(
        f"Name: lighthouse {n}\nBuilt: {year(n)}\nKeeper: {r.choice(KEEPERS)}" for n in _numbers(r)
    )


def table(r: Random) -> str:
    rows = [f"| lighthouse {n} | {year(n)} | {r.choice(KEEPERS)} |" for n in _numbers(r)]
    return "| name | built | keeper |\n|---|---|---|\n" + "\n".join(rows)


def items(r: Random) -> str:
    mark = r.choice(["- ", "* ", "• "])
    return "\n".join(f"{mark}lighthouse {n}, built {year(n)} for {r.choice(KEEPERS)}" for n in _numbers(r))


def python(r: Random) -> str:
    lines = ["import math", "from coast import Lighthouse, Lamp", ""]
    for n in _numbers(r):
        lines += [f"class Lighthouse_{n}(Lighthouse):", f'    """Lighthouse {n}."""', ""]
        for k in range(r.randrange(1, 4)):
            lines += [f"    def method_{n}_{k}(self, oil):"]
            lines += [f"        step_{n}_{k}_{j} = math.sqrt(oil) + {j}" for j in range(r.choice([1, 3, 30]))]
            lines += [f"        return {year(n)}", ""]
    return "\n".join(lines)


def log(r: Random) -> str:
    lines: list[str] = []
    for second, n in enumerate(_numbers(r)):
        stamp = f"2026-05-01 12:{second // 60:02d}:{second % 60:02d},{r.randrange(1000):03d}"
        if r.random() < 0.05:
            lines += [f"{stamp} ERROR tower: lighthouse {n} built {year(n)} is dark"]
            lines += ["Traceback (most recent call last):", f'  File "/srv/t{n}.py", line {n}, in light']
            lines += [f"    lamp.on({n})", f"LampError: no oil in {n}"]
        else:
            lines += [f"{stamp} INFO tower: lighthouse {n} built {year(n)} is lit"] * r.choice([1, 1, 1, 9])
    return "\n".join(lines)


def diff(r: Random) -> str:
    lines: list[str] = []
    for n in _numbers(r)[:30]:
        lines += [f"diff --git a/t{n}.py b/t{n}.py", f"--- a/t{n}.py", f"+++ b/t{n}.py"]
        for k in range(r.randrange(1, 4)):
            added = r.choice([1, 2, 20])
            lines += [
                f"@@ -{k * 50 + 1},2 +{k * 50 + 1},{added + 1} @@",
                f" # lighthouse {n}",
                "-built = None",
            ]
            lines += [f"+built = {year(n)}  # step {n} {k} {j}" for j in range(added)]
    return "\n".join(lines)


def matches(r: Random) -> str:
    return "\n".join(f"src/t{n}.py:{n}:    lighthouse {n} built {year(n)}" for n in _numbers(r))


def html(r: Random) -> str:
    numbers = _numbers(r)
    rows = "".join(f"<tr><td>lighthouse {n}</td><td>{year(n)}</td></tr>\n" for n in numbers)
    prose = "".join(
        f"<p>The <a href='/l/{n}'>lighthouse {n}</a> was built in <b>{year(n)}</b>. It is lit.</p>"
        for n in numbers
    )
    return (
        "<html><head><title>Coast</title><script>var x = '<p>';</script></head><body><nav>Home</nav>"
        f"{prose}<table><tr><th>name</th><th>built</th></tr>\n{rows}</table></body></html>"
    )


def prose(r: Random) -> str:
    return " ".join(f"The lighthouse {n} was built in {year(n)}. Its lamp is lit." for n in _numbers(r)[:12])


KINDS: dict[str, Callable[[Random], str]] = {
    "json": json_value,
    "json lines": json_lines,
    "yaml": yaml,
    "csv": csv,
    "key values": key_values,
    "table": table,
    "list": items,
    "python": python,
    "log": log,
    "diff": diff,
    "matches": matches,
    "html": html,
}


def fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text}\n```"


def mixture(r: Random) -> str:
    """Write blocks of several kinds into prose: bare, fenced, quoted, after a label."""
    parts: list[str] = []
    for _ in range(r.randrange(2, 5)):
        kind = r.choice([name for name in KINDS if name != "html"])
        text = KINDS[kind](r)
        form = r.randrange(4)
        if form == 0:
            text = fenced("", text)
        elif form == 1:
            text = "\n".join("> " + line for line in fenced("", text).split("\n"))
        elif form == 2:
            text = f"Observation: {text}"
        parts += [prose(r), text]
    return "\n\n".join(parts)


QUESTIONS = [
    "When was lighthouse {n} built?",
    "Which lighthouse is dark, and why?",
    "What does method_{n}_1 do?",
    "Who keeps lighthouse {n}?",
    "red lamp",
]


def question(r: Random) -> str:
    return r.choice(QUESTIONS).format(n=r.randrange(300))
