"""Judges of texts made of rows: lines, heads, gaps and orphans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tests.audit.foreign_parts import Atom, Placed, Source, Verdict, split_marks
from tests.audit.foreign_readers import Line, Path, Reader, indent_of


def read_rows(read: Reader, rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read rows; spaces inside them do not matter."""

    def clean(text: str) -> str:
        return " ".join(text.split())

    return [
        replace(
            line, path=tuple(map(clean, line.path)), text=clean(line.text), name=clean(line.name or line.text)
        )
        for line in read(rows, source)
    ]


def judge_rows(
    source: Sequence[str],
    result: str,
    read: Reader,
    verdict: Verdict,
    limit_tokens: float | None = None,
    loose: bool = False,
) -> None:
    """Judge a text of rows: lines, heads, gaps and orphans.

    With `loose`, rows may be joined or broken like running text.
    """
    lines = read_rows(read, source, source)
    known = Source(lines, limit_tokens, loose)
    atoms = known.atoms
    rows, marked = split_marks(result)
    texts = {line.row: line.text for line in read(rows, source)}
    placed = known.place([texts.get(number, "") for number in range(len(rows))], marked, verdict)
    indented: set[int] = set()
    for part in placed:
        # A sentence from the middle of a row has no indentation of its own.
        first = [at for at in part.places if atoms[at].prose]
        if first and part.row not in indented and not indent_of(rows[part.row]):
            indented.add(part.row)
            rows[part.row] = " " * indent_of(source[atoms[first[0]].row]) + rows[part.row].strip()
    read_again = {line.row: line for line in read_rows(read, rows, source)}
    judge_heads(atoms, placed, read_again, verdict)
    judge_gaps(atoms, placed, marked, verdict)
    judge_orphans(atoms, placed, read_again, verdict)


def is_within(path: Path, longer: Path) -> bool:
    remaining = iter(longer)
    return all(head in remaining for head in path)


def judge_heads(
    atoms: list[Atom], placed: list[Placed], read_again: dict[int, Line], verdict: Verdict
) -> None:
    """Complain about each part whose heads are not those of the source."""
    judged: set[int] = set()
    for part in placed:
        # The sentences after the first one of a row belong to it.
        if not part.places or part.row not in read_again or part.row in judged:
            continue
        judged.add(part.row)
        path = read_again[part.row].path
        paths = [atoms[at].path for at in part.places]
        if path in paths:
            continue
        text = atoms[part.places[0]].text
        if not re.search(r"\w", text):
            continue
        if any(is_within(path, longer) for longer in paths):
            verdict.add("lost", f"{text!r} is read under {path}, not under {paths[0]}")
        else:
            verdict.add("heads", f"{text!r} is read under {path}, not under {paths[0]}")


def needs_mark(atoms: list[Atom], before: int, after: int) -> bool:
    """Return whether a mark has to separate two parts that are neighbours in the result."""
    if after in (before, before + 1):
        return False
    first, second = atoms[before], atoms[after]
    if first.prose and second.prose:
        return False
    between = [atom for atom in atoms[before + 1 : after] if re.search(r"\w", atom.text)]
    if not between:
        return False
    below = second.prose and first.head and second.path == (*first.path, first.name)
    return not (below and all(atom.prose for atom in between))


def is_edge(atoms: list[Atom], before: int, after: int) -> bool:
    between = atoms[before + 1 : after]
    return (atoms[before].prose or atoms[after].prose) and all(atom.prose for atom in between)


Gaps = tuple[tuple[int, int], "Gaps"] | None


def judge_gaps(atoms: list[Atom], placed: list[Placed], marked: set[int], verdict: Verdict) -> None:
    """Complain about missing parts without a mark, in the placement that has the fewest of them."""
    best: dict[int, tuple[int, Gaps]] = {}
    last_row = -1
    for part in placed:
        if not part.places:
            report_gaps(atoms, best, verdict)
            best = {}
            continue
        if not best:
            best = dict.fromkeys(part.places, (0, None))
            last_row = part.row
            continue
        separated = any(row in marked for row in range(last_row + 1, part.row + 1))
        reached: dict[int, tuple[int, Gaps]] = {}
        for at in part.places:
            for before, (count, gaps) in best.items():
                if before > at or (before == at and not part.cut):
                    continue
                gap = not separated and needs_mark(atoms, before, at)
                option = (count + gap, ((before, at), gaps) if gap else gaps)
                if at not in reached or option[0] < reached[at][0]:
                    reached[at] = option
        if not reached:
            verdict.add("lines", f"out of order: {atoms[part.places[0]].text!r}")
            report_gaps(atoms, best, verdict)
            reached = dict.fromkeys(part.places, (0, None))
        best, last_row = reached, part.row
    report_gaps(atoms, best, verdict)


def report_gaps(atoms: list[Atom], best: dict[int, tuple[int, Gaps]], verdict: Verdict) -> None:
    gaps = min(best.values(), key=lambda option: option[0])[1] if best else None
    while gaps:
        (before, after), gaps = gaps
        verdict.add(
            "edges" if is_edge(atoms, before, after) else "gaps",
            f"no mark between {atoms[before].text[:90]!r} and {atoms[after].text[:90]!r}: "
            f"{after - before - 1} missing, such as {atoms[before + 1].text[:90]!r}",
        )


def judge_orphans(
    atoms: list[Atom], placed: list[Placed], read_again: dict[int, Line], verdict: Verdict
) -> None:
    """Complain about each head that is kept without anything of its body."""
    paths = {line.path for line in read_again.values()}
    prefixes = {path[:end] for path in paths for end in range(1, len(path) + 1)}
    bodies = {atom.path[:end] for atom in atoms for end in range(1, len(atom.path) + 1)}
    for part in placed:
        if not part.places or not all(atoms[at].head for at in part.places) or part.row not in read_again:
            continue
        line = read_again[part.row]
        text = atoms[part.places[0]].text
        heads = {(*atoms[at].path, atoms[at].name) for at in part.places}
        if heads <= bodies and (*line.path, line.name) not in prefixes:
            verdict.add("orphans", f"head without its body: {text!r}")
