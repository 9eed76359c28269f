"""Tool results of ten kinds, made from a seed, each with a question and its answer.

Each result holds entities that each have a name and a value. A text is false if the value of one entity
follows the name of another.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ENTITIES = 200
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu")


@dataclass(frozen=True, slots=True)
class Case:
    """A tool result and a question."""

    text: str
    question: str
    needed: tuple[str, ...]
    """Texts that the result must all hold to answer the question."""
    values: dict[str, str]
    """Value of each entity by its name. All are different words."""
    parses: Callable[[str], bool] | None
    """A function that tells if a text still parses; None for kinds that nothing can break."""

    def is_answered(self, text: str) -> bool:
        """Return whether `text` holds the answer."""
        return all(part in text for part in self.needed)

    def is_false(self, text: str) -> bool:
        """Return whether a value follows the name of another entity, without a mark or a name between
        them."""
        owner = {value: name for name, value in self.values.items()}
        last: str | None = None
        for word in re.findall(r"\[…|\.\.\.|…|[A-Z][a-z]+-\d+|v[a-z]+\d+", text):
            if word in self.values:
                last = word
            elif word in owner:
                if last is not None and owner[word] != last:
                    return True
            else:
                last = None
        return False


Record = tuple[str, str, str]
"""Name, value and a word that many share."""


def _make_records(r: random.Random) -> list[Record]:
    records: list[Record] = []
    for number in r.sample(range(1000, 9999), ENTITIES):
        name = "".join(r.choices(_SYLLABLES, k=3)).capitalize() + f"-{number}"
        value = "v" + "".join(r.choices(_SYLLABLES, k=3)) + str(number + r.randrange(90_000))
        records.append((name, value, r.choice(["north", "south", "east", "west"])))
    return records


def _parses_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _parses_lines(text: str) -> bool:
    return all(_parses_json(line) or line.startswith("[…") for line in text.splitlines() if line.strip())


def _parses_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _is_table(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return all(line.startswith("|") and line.endswith("|") for line in lines) and "| --- " in text


def _has_columns(text: str) -> bool:
    return text.startswith("name,value,region\n")


def _make_json(records: Sequence[Record], r: random.Random) -> str:
    rows = [{"name": n, "value": v, "region": g, "active": r.random() < 0.5} for n, v, g in records]
    return json.dumps({"status": "ok", "results": rows, "total": len(rows)}, indent=r.choice([None, 2]))


def _make_json_lines(records: Sequence[Record], _: random.Random) -> str:
    return "\n".join(json.dumps({"name": n, "value": v, "region": g}) for n, v, g in records)


def _make_csv(records: Sequence[Record], _: random.Random) -> str:
    return "\n".join(["name,value,region", *(",".join(record) for record in records)])


def _make_table(records: Sequence[Record], _: random.Random) -> str:
    return "\n".join(
        ["| name | value | region |", "| --- | --- | --- |", *(f"| {n} | {v} | {g} |" for n, v, g in records)]
    )


def _make_settings(records: Sequence[Record], _: random.Random) -> str:
    return "\n".join(
        [
            "hosts:",
            *(f"  - name: {n}\n    value: {v}\n    region: {g}\n    retries: 3" for n, v, g in records),
        ]
    )


def _make_matches(records: Sequence[Record], _: random.Random) -> str:
    return "\n".join(
        f"src/{g}/{n.lower()}.py:{k}: register('{n}', {v})" for k, (n, v, g) in enumerate(records)
    )


def _make_page(records: Sequence[Record], _: random.Random) -> str:
    rows = "\n".join(f"<tr><td>{n}</td><td>{v}</td><td>{g}</td></tr>" for n, v, g in records)
    head = "<html><head><style>td { color: red }</style></head><body><nav>Home | About</nav>"
    return f"{head}<table><tr><th>name</th><th>value</th><th>region</th></tr>\n{rows}\n</table></body></html>"


def _make_code(records: Sequence[Record], _: random.Random) -> str:
    functions = (
        f"def {n.lower().replace('-', '_')}(client):\n    # {n}\n    answer = client.fetch('{g}')\n"
        f"    return answer or '{v}'\n"
        for n, v, g in records
    )
    return "import client\n\n\n" + "\n\n".join(functions)


def _make_diff(records: Sequence[Record], _: random.Random) -> str:
    return "\n".join(
        f"diff --git a/{g}/{n}.cfg b/{g}/{n}.cfg\n--- a/{g}/{n}.cfg\n+++ b/{g}/{n}.cfg\n@@ -1,2 +1,2 @@\n"
        f" [host]\n-value = none\n+value = {v}"
        for n, v, g in records
    )


def _make_log(records: Sequence[Record], r: random.Random) -> str:
    lines = [
        f"2026-05-01 {k // 3600:02d}:{k // 60 % 60:02d}:{k % 60:02d} INFO api: "
        f"{n} answered {v} in {r.randrange(90)} ms"
        for k, (n, v, _) in enumerate(r.choices(records, k=3000))
    ]
    return "\n".join(lines)


_LOOKED_UP: dict[
    str, tuple[Callable[[Sequence[Record], random.Random], str], Callable[[str], bool] | None]
] = {
    "JSON": (_make_json, _parses_json),
    "JSON lines": (_make_json_lines, _parses_lines),
    "CSV": (_make_csv, _has_columns),
    "table": (_make_table, _is_table),
    "YAML": (_make_settings, None),
    "search results": (_make_matches, None),
    "page": (_make_page, None),
    "code": (_make_code, _parses_python),
    "diff": (_make_diff, None),
}

KINDS = (*_LOOKED_UP, "log: error")


def make_case(kind: str, seed: int) -> Case:
    """Return the case of a kind with this seed."""
    r = random.Random(f"{kind} {seed}")
    records = _make_records(r)
    name, value, _ = r.choice(records)
    values = {n: v for n, v, _ in records}
    if kind == "log: error":
        return _make_error(records, values, r)
    make, parses = _LOOKED_UP[kind]
    question = r.choice(["What is the value of {}?", "Which value does {} have?", "value of {}"]).format(name)
    return Case(make(records, r), question, (name, value), values, parses)


def _make_error(records: Sequence[Record], values: dict[str, str], r: random.Random) -> Case:
    """Return a log of 3,000 lines with one error that has a trace."""
    name, value, _ = r.choice(records)
    lines = _make_log(records, r).split("\n")
    at = r.randrange(len(lines))
    error = f"ConnectionRefusedError: {name} {value}"
    trace = ["Traceback (most recent call last):", '  File "/srv/api.py", line 40, in call', f"{error}"]
    lines[at:at] = [f"{lines[at][:19]} ERROR api: request to the backend failed", *trace]
    question = r.choice(["Why did requests fail?", "What went wrong?", "Which error occurred, and where?"])
    return Case("\n".join(lines), question, (error, "line 40, in call"), values, None)
