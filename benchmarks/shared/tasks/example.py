"""One question with its documents, and two scores for the parts that a compressor kept.

*Answer kept*: some normalised answer occurs in one contiguous kept text of one document. This is EFFCOMP's
Acc, except that two distant sentences cannot form an answer together. It is None, and the question is left
out, if the answer is yes or no, or occurs in no document.

*Supporting sentence kept*: at least half of the characters of a labelled sentence or speaker turn are kept
(EFFCOMP's RQ4). It is None if nothing is labelled. If several sets of sentences would be enough, only the one
that is kept most counts, as one span. Titles never count: both look at document texts only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tersely.metrics import Range, contains_answer, span_recall
from tersely.types import Document

KeptSpan = tuple[int, int, int]
"""(document, start, end): a half-open range of code points of that document's text."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One document as retrieved."""

    title: str | None
    text: str
    gold: bool | None
    """True if the document holds the answer; None if the set does not label it."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question, its documents in the order a compressor sees them, and its labels."""

    id: str
    question: str
    answers: tuple[str, ...]
    """The right answers; empty if the documents do not answer the question."""
    documents: tuple[SourceDocument, ...]
    support: tuple[KeptSpan, ...] | None
    """Supporting sentences or turns; None if the set does not label them."""
    support_sets: tuple[tuple[KeptSpan, ...], ...] = field(default=(), kw_only=True)
    """Sets of sentences. Any one set is enough. Empty if all of `support` is needed."""
    answer_spans: tuple[KeptSpan, ...] | None
    """Places of the answer by the annotators; None if the set does not label them."""
    findable: bool
    """True if a document contains an answer, so that the answer can be kept."""

    def to_documents(self) -> list[Document]:
        """Return the documents as a compressor takes them."""
        return [Document(document.text, document.title) for document in self.documents]

    @property
    def full_text(self) -> str:
        """All documents with their titles, as a reader gets them without compression."""
        return "\n\n".join(f"{d.title}\n{d.text}" if d.title else d.text for d in self.documents)


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of one example; None if it has no answer or no support to keep."""

    answer_kept: bool | None
    support_kept: float | None
    """Share of the example's supporting spans that were kept, in [0, 1]."""
    supports: int
    """Number of supporting spans: the weight of this example in an average over sentences."""


def score_kept(example: Example, kept: Sequence[KeptSpan]) -> Score:
    """Score the ranges of `example.documents` that a compressor kept. Ranges must not overlap."""
    by_document = join_kept(example, kept)
    answer: bool | None = None
    if example.findable:
        answer = any(
            contains_answer(example.documents[doc].text[start:end], example.answers)
            for doc, ranges in by_document.items()
            for start, end in ranges
        )
    if example.support_sets:
        shares = [_measure_support(spans, by_document) for spans in example.support_sets]
        return Score(answer, max(shares), 1)
    if not example.support:
        return Score(answer, None, 0)
    return Score(answer, _measure_support(example.support, by_document), len(example.support))


def _measure_support(spans: Sequence[KeptSpan], by_document: Mapping[int, list[Range]]) -> float:
    shares = [span_recall([(start, end)], by_document.get(doc, [])) for doc, start, end in spans]
    return sum(shares) / len(shares)


def join_kept(example: Example, kept: Sequence[KeptSpan]) -> dict[int, list[Range]]:
    """Return the kept ranges by document, in order, joined if only white space is between them.

    Raises ValueError for a range outside its document or ranges that overlap.
    """
    joined: dict[int, list[Range]] = {}
    for doc, start, end in sorted(kept):
        text = example.documents[doc].text
        if not 0 <= start <= end <= len(text):
            raise ValueError(f"range {start}:{end} lies outside document {doc} of {len(text)} code points")
        ranges = joined.setdefault(doc, [])
        if ranges and start < ranges[-1][1]:
            raise ValueError(f"kept ranges overlap in document {doc} at {start}")
        if ranges and not text[ranges[-1][1] : start].strip():
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return joined
