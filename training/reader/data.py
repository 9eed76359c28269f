"""Contexts with a marked answer, for the span reader: whole passages, and what a compressor leaves of
several.

Questions that the selector is trained or validated on are left out, so that Phase II is not rewarded by a
reader that has learned its answers by heart. The exception are the training questions of multi-hop sets,
which are too small to share.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shared.tasks.negatives import Passage, PassagePool
from benchmarks.shared.tasks.rows import read_rows
from tersely.metrics import Range
from tersely.packing.render import join_documents, render_document
from tersely.text.sentences import split_units
from tersely.types import Document
from training.selector.data import MULTI_HOP, Labelled, Question, question

SOURCES = ("squad_train44", "squadshifts_wiki", "qed_nq", "hotpotqa", "twowiki")
NEGATIVES = 3

WHOLE, WITHOUT = 0.35, 0.15
"""Shares of examples with the gold passage alone, and with negatives alone; the rest is compressed."""

ANSWER_LOST = 0.15
"""Share of the compressed contexts from which the answer's sentence is missing too."""


@dataclass(frozen=True, slots=True)
class Source:
    """A question, its documents, and where the answer stands in the first of them."""

    question: str
    documents: tuple[Labelled, ...]
    answer: Range


def read_sources(folder: Path, trained: set[str], heldout: set[str], rng: random.Random) -> list[Source]:
    """Questions of every set with hard negatives, without the ids in `heldout`; those in `trained` are left
    to the selector, except in multi-hop sets."""
    out: list[Source] = []
    for name in SOURCES:
        everything = [question(row) for row in read_rows(folder, "train", name)]
        if name in MULTI_HOP:
            out += [s for q in everything if q.id not in heldout and (s := _multi_hop(q))]
            continue
        passages = {d.text: Passage(d.title, d.text) for q in everything for d in q.documents}
        taken = trained | heldout
        fresh = [q for q in everything if q.id not in taken and any(d.evidence for d in q.documents)]
        pool = PassagePool(list(passages.values()), [q.text for q in fresh], "bm25")
        for number, q in enumerate(fresh):
            gold = next(d for d in q.documents if d.evidence)
            span = _answer(gold, q.answers)
            if span:
                near = pool.negatives(number, q.answers, {d.text for d in q.documents}, NEGATIVES)
                others = [Labelled(pool.passages[i].title, pool.passages[i].text, ()) for i in near]
                out.append(Source(q.text, (gold, *others), span))
    rng.shuffle(out)
    return out


def _multi_hop(q: Question) -> Source | None:
    for gold in (d for d in q.documents if d.evidence):
        span = _answer(gold, q.answers)
        if span:
            return Source(q.text, (gold, *(d for d in q.documents if d is not gold)), span)
    return None


def _answer(document: Labelled, answers: Sequence[str]) -> Range | None:
    """The first occurrence of an answer inside the labelled ranges."""
    for start, end in document.evidence:
        for answer in answers:
            at = document.text.find(answer, start, end)
            if at >= 0 and answer.strip():
                return at, at + len(answer)
    return None


@dataclass(frozen=True, slots=True)
class Marked:
    """A context and the characters of its answer; None where it holds none."""

    question: str
    context: str
    answer: Range | None


def draw(source: Source, rng: random.Random) -> Marked:
    """One context of a question, another one each time."""
    kind = rng.random()
    if kind < WHOLE:
        return _marked(source, [(0, None)])
    if kind < WHOLE + WITHOUT and len(source.documents) > 1:
        return _marked(source, [(rng.randrange(1, len(source.documents)), None)])
    share = rng.uniform(0.1, 0.6)
    lost = rng.random() < ANSWER_LOST
    chosen: list[tuple[int, list[int] | None]] = []
    for number, document in enumerate(source.documents):
        units = [(u.start, u.end) for u in split_units(document.text)]
        kept = [i for i, u in enumerate(units) if rng.random() < share or _evidence(document, u)]
        if not number and lost:
            kept = [i for i in kept if not _overlap(units[i], source.answer)]
        if kept:
            chosen.append((number, kept))
    rng.shuffle(chosen)
    return _marked(source, chosen)


def _evidence(document: Labelled, unit: Range) -> bool:
    return any(_overlap(unit, e) for e in document.evidence)


def _overlap(left: Range, right: Range) -> bool:
    return left[0] < right[1] and right[0] < left[1]


def _marked(source: Source, chosen: Sequence[tuple[int, list[int] | None]]) -> Marked:
    """The context as the compressor would render it, and where the answer has come to stand in it."""
    parts = list(_parts(source, chosen))
    text, pieces = join_documents(parts)
    start, end = source.answer
    for piece in pieces:
        if piece.doc == 0 and piece.start <= start and end <= piece.end:
            shift = piece.text_start - piece.start
            return Marked(source.question, text, (start + shift, end + shift))
    return Marked(source.question, text, None)


def _parts(
    source: Source, chosen: Sequence[tuple[int, list[int] | None]]
) -> Iterator[tuple[int, Document, str, list]]:
    for number, kept in chosen:
        document = source.documents[number]
        units = [(u.start, u.end) for u in split_units(document.text)]
        text, own = render_document(document.text, units, range(len(units)) if kept is None else kept)
        yield number, Document(document.text, document.title), text, own
