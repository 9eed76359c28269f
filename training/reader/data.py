"""Contexts with a marked answer, for the span reader: whole passages, and compressed ones.

Questions that the selector is trained or validated on are left out, so that the reader that rewards Phase II
has not memorised its answers. The multi-hop sets are too small for that: Phase I uses all of their questions,
half of them are for readers, and the other half for Phase II.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shared.tasks.negatives import Passage, PassagePool
from tersely.metrics import Range
from tersely.pack.render import RenderedDocument, join_documents, render_ranges
from tersely.split.sentences import split_units
from tersely.types import Document
from training.selector_model.groups import MULTI_HOP, belongs_to_readers, name_question
from training.selector_model.questions import LabelledDocument, Question, read_questions

SOURCES: tuple[str, ...] = ("squad_train44", "squadshifts_wiki", "qed_nq", "hotpotqa", "twowiki")
NEGATIVES = 3
"""Number of hard negatives for each gold passage."""

WHOLE, WITHOUT = 0.35, 0.15
"""Shares of examples with only the gold passage, and with only a negative; the rest is compressed."""

ANSWER_LOST = 0.15
"""Share of the compressed contexts that lose the answer's sentence."""


@dataclass(frozen=True, slots=True)
class Source:
    """A question, its documents, and the span of the answer in the first of them."""

    name: str
    question: str
    documents: tuple[LabelledDocument, ...]
    answer: Range


def read_sources(
    folder: Path, names: Sequence[str], trained: set[str], heldout: set[str], rng: random.Random
) -> list[Source]:
    """Read the questions of the sets `names`, shuffled, each with up to `NEGATIVES` documents of its own that
    hold no answer, filled up with hard negatives.

    Questions with an id in `heldout` are left out. So are those with an id in `trained`, or for multi-hop
    sets the half that is for policies. Raises ValueError if no question is left.
    """
    sources: list[Source] = []
    for name in names:
        questions = read_questions(folder, name, "string")
        if name in MULTI_HOP:
            own = [q for q in questions if q.id not in heldout and belongs_to_readers(name, q.id)]
            sources += [s for q in own if (s := _make_multi_hop_source(name, q))]
            continue
        passages = {d.text: Passage(d.title, d.text) for q in questions for d in q.documents}
        used = trained | heldout
        unused = [q for q in questions if q.id not in used and any(d.support for d in q.documents)]
        pool = PassagePool(list(passages.values()), [q.text for q in unused], "bm25")
        for number, q in enumerate(unused):
            gold = next(d for d in q.documents if d.support)
            span = _find_answer(gold, q.answers)
            if span:
                others = [d for d in q.documents if not d.support and not d.gold][:NEGATIVES]
                count, own = NEGATIVES - len(others), {d.text for d in q.documents}
                others += [
                    LabelledDocument(pool.passages[i].title, pool.passages[i].text, ())
                    for i in pool.negatives(number, q.answers, own, count)
                ]
                sources.append(Source(name_question(name, q.id), q.text, (gold, *others), span))
    if not sources:
        raise ValueError(
            f"no question of {', '.join(names)} can train a reader: all are used by the selector's run, or no"
            " document holds an answer as it is written"
        )
    rng.shuffle(sources)
    return sources


def _make_multi_hop_source(name: str, q: Question) -> Source | None:
    for gold in (d for d in q.documents if d.support):
        span = _find_answer(gold, q.answers)
        if span:
            others = (d for d in q.documents if d is not gold)
            return Source(name_question(name, q.id), q.text, (gold, *others), span)
    return None


def _find_answer(document: LabelledDocument, answers: Sequence[str]) -> Range | None:
    """Return the first occurrence of an answer inside the support spans."""
    for start, end in document.support:
        for answer in answers:
            at = document.text.find(answer, start, end)
            if at >= 0 and answer.strip():
                return at, at + len(answer)
    return None


@dataclass(frozen=True, slots=True)
class MarkedContext:
    """A question and a context with the span of the answer."""

    question: str
    context: str
    answer: Range | None
    """Range of the answer, in code points of the context; None if the answer is not in it."""


def draw_context(source: Source, rng: random.Random) -> MarkedContext:
    """Draw a context for a question."""
    kind = rng.random()
    if kind < WHOLE:
        return _mark_answer(source, [(0, None)])
    if kind < WHOLE + WITHOUT and len(source.documents) > 1:
        return _mark_answer(source, [(rng.randrange(1, len(source.documents)), None)])
    share = rng.uniform(0.1, 0.6)
    lost = rng.random() < ANSWER_LOST
    chosen: list[tuple[int, list[int] | None]] = []
    for number, document in enumerate(source.documents):
        units = [(u.start, u.end) for u in split_units(document.text)]
        kept = [i for i, u in enumerate(units) if rng.random() < share or _is_support(document, u)]
        if not number and lost:
            kept = [i for i in kept if not _overlap(units[i], source.answer)]
        if kept:
            chosen.append((number, kept))
    rng.shuffle(chosen)
    return _mark_answer(source, chosen)


def _is_support(document: LabelledDocument, unit: Range) -> bool:
    return any(_overlap(unit, span) for span in document.support)


def _overlap(left: Range, right: Range) -> bool:
    return left[0] < right[1] and right[0] < left[1]


def _mark_answer(source: Source, chosen: Sequence[tuple[int, list[int] | None]]) -> MarkedContext:
    """Render the context like the compressor, and mark the answer in it.

    `chosen` has document numbers with the indices of their kept units; None keeps all.
    """
    rendered = join_documents(_render_parts(source, chosen))
    start, end = source.answer
    for citation in rendered.citations:
        if citation.doc == 0 and citation.start <= start and end <= citation.end:
            shift = citation.text_start - citation.start
            return MarkedContext(source.question, rendered.text, (start + shift, end + shift))
    return MarkedContext(source.question, rendered.text, None)


def _render_parts(
    source: Source, chosen: Sequence[tuple[int, list[int] | None]]
) -> Iterator[tuple[int, Document, RenderedDocument]]:
    for number, kept in chosen:
        document = source.documents[number]
        units = [(u.start, u.end) for u in split_units(document.text)]
        body = render_ranges(document.text, units, range(len(units)) if kept is None else kept)
        yield number, Document(document.text, document.title), body
