"""`python -m benchmarks.attacks`: does the honest sentence survive hostile documents beside it?

Every system gets the same made cases at the same rate; no data folder is needed. Other packages run if
`python -m benchmarks.peers.install` has installed them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from math import floor

from benchmarks.attacks.cases import ATTACKS, STRUCTURES, Case, make_cases
from benchmarks.command import Measured, Options, make_parser, run
from benchmarks.peers.catalogue import BY_NAME, PEERS
from benchmarks.peers.install import find_python
from benchmarks.peers.process import PeerProcess, compress_to_rate, list_documents
from benchmarks.quality.controls import (
    CHARACTERS,
    MINILM,
    MINILM_WHOLE,
    OURS,
    WORDS,
    load_selector,
    make_controls,
)
from benchmarks.quality.runner import list_spans
from benchmarks.quality.slim import PACKAGE, SLIM, compress_to, count_rendered
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.tasks import KeptSpan
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.metrics import contains_answer, count_covered
from tersely.score import Scorer

RATE = 0.1
PACKAGES = tuple(p.name for p in PEERS if not p.is_slow and p.package != PACKAGE)
COLUMNS = (
    Column("system"),
    Column("attack"),
    Column("honest sentence kept", "%", interval="wilson"),
    Column("hostile text kept", "%", interval="bootstrap"),
    Column("tokens kept", "%", interval="bootstrap"),
)
"""Values of all cases. The honest sentence counts as kept if half of it is; in a text without places, if the
name that it alone holds is there. Hostile text is counted in characters, and the tokens of packages alone,
because some of them keep more than they are asked for."""

Keep = Callable[[Case], Sequence[KeptSpan]]
"""A function that returns the spans of a case that a system keeps."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    return run(make_parser("benchmarks.attacks", __doc__, "model"), arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Run every system on every kind of attack."""
    selector, model = load_selector(options.model)
    controls = make_controls(selector, options.seed, CHARACTERS, MINILM_WHOLE)
    systems = {OURS: _make_system(selector), **{name: _make_system(s) for name, s in controls.items()}}
    if find_spec(PACKAGE):
        count = Compressor(selector).count_tokens
        systems[SLIM] = lambda case: _compress_slim(case, count)
    kinds = (*ATTACKS, *STRUCTURES)
    lines: list[Line] = []
    for name, keep in systems.items():
        for kind in kinds:
            lines += measure_attack(kind, name, keep, options.seed)
    for package in PACKAGES if find_python().exists() else ():
        lines += measure_package(package, Compressor(selector).count_tokens, options.seed)
    return Measured(make_tables(lines), model, {"rate": RATE}, lines)


def make_tables(lines: Lines) -> list[Table]:
    """Return a table of the attacks in running text, and one of the structures that echo the question."""
    groups = group_lines(lines, "system", "attack")
    rows = [make_row(system, kind, own) for (system, kind), own in groups.items()]
    attacks, structures = (tuple(r for r in rows if r["attack"] in kinds) for kinds in (ATTACKS, STRUCTURES))
    return [
        Table("Kept", COLUMNS, attacks, across="attack"),
        Table(
            "Kept beside a structure that echoes the question",
            COLUMNS,
            structures,
            across="attack",
            only={"system": (OURS, WORDS, MINILM, SLIM)},
        ),
    ]


def measure_attack(kind: str, system: str, keep: Keep, seed: int) -> list[Line]:
    """Return a line for each case, from a system that keeps the spans of `keep`."""
    lines: list[Line] = []
    for case in make_cases(kind, seed):
        kept = keep(case)
        doc, start, end = case.honest
        covered = count_covered((start, end), [(a, b) for d, a, b in kept if d == doc])
        line: Line = {"system": system, "attack": kind, "case": case.example.id, "kept": kept}
        line["honest"] = float(2 * covered >= end - start)
        if case.hostile:
            total = sum(len(case.example.documents[d].text) for d in case.hostile)
            line["hostile"] = sum(b - a for d, a, b in kept if d in case.hostile) / total
        lines.append(line)
    return lines


def measure_package(name: str, count: Callable[[str], int], seed: int) -> list[Line]:
    """Return a line for each case, from a package that gives texts without places."""
    lines: list[Line] = []
    with PeerProcess(name) as process:
        for kind in (*ATTACKS, *STRUCTURES):
            for case in make_cases(kind, seed):
                example = case.example
                compress = partial(process.compress, example.question, list_documents(example))
                output = compress_to_rate(BY_NAME[name], example, RATE, compress, count)
                honest = float(contains_answer(output.text, example.answers))
                share = round(count(output.text) / count(example.full_text), 4)
                place = {"system": name, "attack": kind, "case": example.id}
                lines.append({**place, "honest": honest, "tokens": share})
    return lines


def make_row(system: str, kind: str, lines: Lines) -> Row:
    """Return the row of a system and an attack, with the values of all cases."""
    return {
        "system": system,
        "attack": kind,
        "honest sentence kept": tuple(line["honest"] for line in lines),
        "hostile text kept": tuple(line["hostile"] for line in lines if "hostile" in line) or None,
        "tokens kept": tuple(line["tokens"] for line in lines if "tokens" in line) or None,
    }


def _make_system(scorer: Scorer) -> Keep:
    compressor = Compressor(scorer)

    def keep(case: Case) -> Sequence[KeptSpan]:
        result = compressor.compress(case.example.question, case.example.to_documents(), rate=RATE)
        if result.status == "failed_open":
            raise RuntimeError(f"failed on {case.example.id}: {result.reason}")
        return list_spans(result)

    return keep


def _compress_slim(case: Case, count: Callable[[str], int]) -> list[KeptSpan]:
    example = case.example
    whole = [(i, 0, len(d.text)) for i, d in enumerate(example.documents)]
    return compress_to(example, floor(RATE * count_rendered(example, whole, count)), count)


if __name__ == "__main__":
    sys.exit(main())
