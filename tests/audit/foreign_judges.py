"""Judges of a shortened text that know its source, its format, and what a mark looks like."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tests.audit.foreign_readers import SENTENCE_END, Line, Path, Reader, indent_of

MARK = re.compile(r"\[…[^\]]*\](?: \(\d+(?: like [^)]*)?\))?")
SHORT_MARK = re.compile(r"(?m)(?<!\S)…(?!\S)|\"…\"")

JUDGES = ("lines", "heads", "lost", "parses", "gaps", "edges", "orphans")
"""`heads` counts values that read as if they belonged elsewhere, and `lost` those that lack a head.
`edges` counts gaps beside running text of which only running text is missing."""


@dataclass
class Verdict:
    """Complaints by judge."""

    found: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, judge: str, complaint: str) -> None:
        self.found[judge].append(complaint[:300])


@dataclass(frozen=True)
class Atom:
    """A smallest part of the source that may be kept: a row, or a sentence of running text."""

    words: tuple[str, ...]
    path: Path
    row: int
    head: bool
    prose: bool
    name: str

    @property
    def text(self) -> str:
        return " ".join(self.words)


def split_marks(text: str) -> tuple[list[str], set[int]]:
    """Return the rows without marks, and the numbers of the rows that have a mark before them."""
    rows: list[str] = []
    marked: set[int] = set()
    for row in text.split("\n"):
        if "…" not in row:
            rows.append(row)
            continue
        pieces = MARK.sub("\0", row)
        pieces = SHORT_MARK.sub("\0", pieces)
        for at, piece in enumerate(pieces.split("\0")):
            if at:
                marked.add(len(rows))
            # The signs around a mark, such as those of a comment, belong to it.
            if re.search(r"\w", piece):
                rows.append(re.sub(r"\s+(#|//|--|<!--|/\*|;)?\s*$", "", piece) if at == 0 else piece)
    return rows, marked


def is_bare_mark(row: str) -> bool:
    """Return whether a row has nothing but a mark and the signs around it."""
    if "…" not in row:
        return False
    return not re.search(r"\w", SHORT_MARK.sub(" ", MARK.sub(" ", row)))


Words = tuple[str, ...]


def cut_into_atoms(lines: Sequence[Line]) -> tuple[list[Atom], dict[Words, list[int]]]:
    """Return the atoms, and for each row of running text the atoms of its paragraph."""
    atoms: list[Atom] = []
    rows: dict[Words, list[int]] = defaultdict(list)
    paragraph: list[Line] = []

    def flush() -> None:
        if paragraph:
            first = paragraph[0]
            width = max(len(line.text) for line in paragraph)
            whole = paragraph[0].text
            for above, line in pairwise(paragraph):
                # A short row, or a row after which a new one begins with a title, was not wrapped.
                whole += (
                    "\n" if len(above.text) < 0.75 * width or line.text.startswith("Copyright") else " "
                ) + line.text
            for sentence in (part for row in whole.split("\n") for part in split_sentences(row)):
                atoms.append(Atom(tuple(sentence.split()), first.path, first.row, False, True, sentence))
            own = [at for at, atom in enumerate(atoms) if atom.prose and atom.row == first.row]
            for line in paragraph:
                rows[tuple(line.text.split())] += own
            paragraph.clear()

    for line in lines:
        last = paragraph[-1] if paragraph else None
        if last and (not line.prose or line.row != last.row + 1 or line.path != last.path):
            flush()
        if line.prose:
            paragraph.append(line)
        else:
            atoms.append(Atom(tuple(line.text.split()), line.path, line.row, line.head, False, line.name))
    flush()
    return atoms, rows


def split_sentences(text: str) -> list[str]:
    """Split at every place that may be the end of a sentence."""
    cut = SENTENCE_END.sub(lambda found: f"{found[1] or ''}\n", text)
    return [sentence for sentence in cut.split("\n") if sentence.strip()]


@dataclass
class Placed:
    """A kept part: its row in the result and its possible places among the atoms of the source."""

    row: int
    places: list[int]
    cut: bool = False
    """A piece of a row that alone exceeds the limit."""


class Source:
    """The atoms of a source, found by their words."""

    def __init__(self, lines: Sequence[Line], limit_tokens: float | None = None) -> None:
        self.atoms, self.rows = cut_into_atoms(lines)
        atoms = self.atoms
        self.limit_tokens = limit_tokens
        self.by_words: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self.sentences: dict[str, list[int]] = defaultdict(list)
        for at, atom in enumerate(atoms):
            self.by_words[atom.words].append(at)
            bare = tuple(atom.text.rstrip(",").split())
            if bare != atom.words and bare:
                self.by_words[bare].append(at)
            if atom.prose and atom.words:
                self.sentences[atom.words[0]].append(at)

    def place(self, rows: Sequence[str], marked: set[int], verdict: Verdict) -> list[Placed]:
        """Find the atoms that each row consists of; complain about rows that do not consist of atoms."""
        placed: list[Placed] = []
        waiting: list[tuple[str, int]] = []
        for number, row in enumerate(rows):
            if number in marked:
                self.tile(waiting, placed, rows, marked, verdict)
            words = tuple(row.split())
            whole = [at for at in self.by_words.get(words, ()) if not self.atoms[at].prose]
            whole = whole or self.by_words.get(tuple(row.strip().rstrip(",").split()), [])
            if not words:
                continue
            if whole and not waiting:
                placed.append(Placed(number, whole))
            elif whole and any(not self.atoms[at].prose for at in whole):
                self.tile(waiting, placed, rows, marked, verdict)
                placed.append(Placed(number, whole))
            else:
                waiting.extend((word, number) for word in words)
        self.tile(waiting, placed, rows, marked, verdict)
        return placed

    def tile(
        self,
        waiting: list[tuple[str, int]],
        placed: list[Placed],
        rows: Sequence[str],
        marked: set[int],
        verdict: Verdict,
    ) -> None:
        """Cover the waiting words with sentences of the source, and empty them."""
        at = 0
        while at < len(waiting):
            word, row = waiting[at]
            fits: dict[int, list[int]] = defaultdict(list)
            for number in self.sentences.get(word, ()):
                words = self.atoms[number].words
                if tuple(other for other, _ in waiting[at : at + len(words)]) == words:
                    fits[len(words)].append(number)
            if fits:
                longest = max(fits)
                placed.append(Placed(row, fits[longest]))
                at += longest
                continue
            rest = [other for other, number in waiting[at:] if number == row]
            between_marks = waiting[0][1] in marked or waiting[-1][1] + 1 in marked
            whole = [other for other, _ in waiting[at:]]
            cut = self.find_cut(whole) if between_marks else []
            if cut:
                rest = whole
            else:
                cut = self.find_row(tuple(rest), between_marks) or (
                    self.find_cut(rest) if between_marks else []
                )
            if not cut:
                verdict.add("lines", f"not a row or sentence of the source: {rows[row].strip()!r}")
            placed.append(Placed(row, cut, cut=True))
            at += len(rest)
        waiting.clear()

    def find_row(self, words: Words, between_marks: bool) -> list[int]:
        """Return the atoms of the paragraph with this row; a part of a comment needs no mark."""
        return [
            at
            for at in self.rows.get(words, ())
            if between_marks or (self.atoms[at].path and not re.search(r"\w", self.atoms[at].path[-1]))
        ]

    def find_cut(self, words: list[str]) -> list[int]:
        """Return the atoms that alone exceed the limit and hold these words."""
        if self.limit_tokens is None:
            return []
        piece = f" {' '.join(words)} "
        return [
            at
            for at, atom in enumerate(self.atoms)
            if count_pieces(atom.text) + 6 > self.limit_tokens and piece in f" {atom.text} "
        ]


def count_pieces(text: str) -> int:
    """Return a number of tokens that no tokenizer of words exceeds by much."""
    return len(re.findall(r"\w{1,4}|[^\w\s]", text))


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
    source: Sequence[str], result: str, read: Reader, verdict: Verdict, limit_tokens: float | None = None
) -> None:
    """Judge a text of rows: lines, heads, gaps and orphans."""
    lines = read_rows(read, source, source)
    known = Source(lines, limit_tokens)
    atoms = known.atoms
    rows, marked = split_marks(result)
    texts = {line.row: line.text for line in read(rows, source)}
    placed = known.place([texts.get(number, "") for number in range(len(rows))], marked, verdict)
    indented: set[int] = set()
    for part in placed:
        # A sentence from the middle of a row has no indentation of its own.
        first = [at for at in part.places if atoms[at].prose]
        if first and part.row not in indented:
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
    """Complain about each part that is read under other heads than in the source."""
    for part in placed:
        if not part.places or part.row not in read_again:
            continue
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
