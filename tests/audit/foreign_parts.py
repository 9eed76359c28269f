"""Marks, the smallest parts of a source, and their places in a result."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.audit.foreign_readers import SENTENCE_END, Line, Path, indent_of

MARK = re.compile(r"\[…[^\]]*\](?: \(\d+(?: like [^)]*)?\))?")
SHORT_MARK = re.compile(r"(?m)(?<!\S)…(?!\S)|\"…\"")

JUDGES = ("lines", "heads", "lost", "parses", "gaps", "edges", "orphans")
"""`heads` counts values that read as if they belonged elsewhere, and `lost` those that lack a head.
`edges` counts gaps next to running text from which only running text is missing."""


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
                rows.append(
                    re.sub(r"\s+(#|//|--|<!--|/\*|;)?\s*$", "", piece)
                    if at == 0
                    else " " * indent_of(row) + piece.lstrip()
                )
    return rows, marked


def is_bare_mark(row: str) -> bool:
    """Return whether a row has nothing but a mark and the signs around it."""
    if "…" not in row:
        return False
    return not re.search(r"\w", SHORT_MARK.sub(" ", MARK.sub(" ", row)))


Words = tuple[str, ...]


def is_wrapped(above: str, below: str, width: int) -> bool:
    """Return whether a row continues the one above it.

    A short row was not wrapped, nor was one before a title, or between an address and a capital.
    """
    ends = re.search(r"://\S+>$", above) is not None and below[:1].isupper()
    return not (ends or len(above) < 0.75 * width or below.startswith("Copyright"))


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
                whole += (" " if is_wrapped(above.text, line.text, width) else "\n") + line.text
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

    def __init__(self, lines: Sequence[Line], limit_tokens: float | None = None, loose: bool = False) -> None:
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
            if (atom.prose or loose) and atom.words:
                self.sentences[atom.words[0]].append(at)

    def place(self, rows: Sequence[str], marked: set[int], verdict: Verdict) -> list[Placed]:
        """Find the atoms that each row consists of; complain about rows that do not consist of atoms."""
        placed: list[Placed] = []
        waiting: list[tuple[str, int]] = []
        for number, row in enumerate(rows):
            if number in marked:
                self.tile(waiting, placed, rows, marked, verdict)
            words = tuple(row.split())
            whole = self.find_whole(words)
            if whole and words not in self.rows:
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
            rest = [other for other, number in waiting[at:] if number == row]
            whole = self.find_whole(tuple(rest))
            if whole and len(rest) >= max(fits, default=0):
                fits[len(rest)] += whole
            if fits:
                longest = max(fits)
                placed.append(Placed(row, fits[longest]))
                at += longest
                continue
            between_marks = waiting[0][1] in marked or waiting[-1][1] + 1 in marked
            everything = [other for other, _ in waiting[at:]]
            cut = self.find_cut(everything) if between_marks else []
            if cut:
                rest = everything
            else:
                cut = self.find_row(tuple(rest), between_marks) or (
                    self.find_cut(rest) if between_marks else []
                )
            if not cut:
                verdict.add("lines", f"not a row or sentence of the source: {rows[row].strip()!r}")
            placed.append(Placed(row, cut, cut=True))
            at += len(rest)
        waiting.clear()

    def find_whole(self, words: Words) -> list[int]:
        """Return the atoms that are a row of their own and have these words, perhaps without a last comma."""
        found = self.by_words.get(words) or self.by_words.get(tuple(" ".join(words).rstrip(",").split()), [])
        return [at for at in found if not self.atoms[at].prose]

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
