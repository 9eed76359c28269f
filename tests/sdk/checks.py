"""The guarantees of a compression, as assertions on an input and its result."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from tersely import Compression, Document
from tersely.split.cutting import LONGEST_SENTENCE
from tersely.split.sentences import split_units
from tersely.types import Citation, Mark

_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
FULL = ("unchanged", "bypassed", "failed_open")


def check_all(
    result: Compression,
    docs: Sequence[Document],
    count: Callable[[str], int],
    *,
    budget: int | None = None,
    rate: float | None = None,
    max_docs: int | None = None,
) -> None:
    """Assert guarantees 1, 2, 5 and 6, and that all parts of the receipt agree."""
    check_cover(result, docs)
    check_pieces(result, docs)
    check_size(result, docs, count, budget=budget, rate=rate)
    check_wholeness(result, docs)
    check_documents(result, docs, max_docs)


def check_cover(result: Compression, docs: Sequence[Document]) -> None:
    """Assert that kept and dropped spans contain every non-blank code point exactly once."""
    for index, document in enumerate(docs):
        spans = sorted((s for s in (*result.kept, *result.dropped) if s.doc == index), key=lambda s: s.start)
        assert all(left.end <= right.start for left, right in pairwise(spans)), "spans overlap"
        edges = [0, *(edge for span in spans for edge in (span.start, span.end)), len(document.text)]
        outside = "".join(document.text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
        assert not outside.strip(), f"text outside of every span: {outside.strip()[:40]!r}"
        assert all(document.text[s.start : s.end].strip() for s in spans), "a span is empty"


def check_pieces(result: Compression, docs: Sequence[Document]) -> None:
    """Assert that the text is titles, separators, marks and exact pieces, and that kept spans are in source
    order and cited."""
    pieces = result.citations().entries
    pieces_of: dict[int, list[Citation]] = {}
    for piece in pieces:
        pieces_of.setdefault(piece.doc, []).append(piece)
        assert result.text[piece.text_start : piece.text_end] == docs[piece.doc].text[piece.start : piece.end]
    for before, after in pairwise((None, *pieces, None)):
        _check_gap(result, docs, before, after)
    for span in result.kept:
        own = pieces_of[span.doc]
        piece = own[bisect_right(own, span.start, key=lambda p: p.start) - 1]
        assert piece.start <= span.start
        assert span.end <= piece.end, f"{span} is not in the text"
    cited = sum(_visible(docs[p.doc].text[p.start : p.end]) for p in pieces)
    assert cited == sum(_visible(docs[s.doc].text[s.start : s.end]) for s in result.kept)
    for piece in (*pieces[:3], *pieces[-3:]):
        assert result.citations().locate(piece.text_start) == (piece.doc, piece.start)
        assert result.citations().locate(piece.text_end - 1) == (piece.doc, piece.end - 1)
    assert result.citations().locate(len(result.text)) is None


def _check_gap(
    result: Compression, docs: Sequence[Document], before: Citation | None, after: Citation | None
) -> None:
    """Assert that a separator or a mark is between two pieces, and also a blank line and a title between two
    documents."""
    start = before.text_end if before is not None else 0
    end = after.text_start if after is not None else len(result.text)
    gap = result.text[start:end]
    marks = [m for m in result.marks if start <= m.text_start < m.text_end <= end]
    if before is not None and after is not None and before.doc == after.doc:
        assert before.end < after.start, "pieces are out of order"
        if marks:
            assert not _without(marks, result.text, start, end).strip(), f"more than marks: {gap!r}"
        else:
            assert gap in ("", " ", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n"), f"unexpected separator {gap!r}"
            has_blank_line = _BLANK_LINE.search(docs[before.doc].text, before.end, after.start) is not None
            assert has_blank_line or gap.count("\n") < 2
        assert len(gap) <= after.start - before.end, "a separator is longer than what it replaces"
        return
    own = [m for m in marks if before is not None and m.doc == before.doc]
    title = None if after is None else docs[after.doc].title
    head = f"{title}\n" if title and title.strip() else ""
    blank = "\n\n" if before is not None and after is not None else ""
    middle = own[-1].text_end if own else start
    trail, rest = result.text[start:middle], result.text[middle:end]
    assert not _without(own, result.text, start, middle).strip(), f"more than marks: {trail!r}"
    assert rest.startswith(blank + head)
    lead = _without(marks[len(own) :], result.text, middle + len(blank + head), end)
    assert not lead.strip(), f"more than marks: {lead!r}"


def _without(marks: Sequence[Mark], text: str, start: int, end: int) -> str:
    """Return `text[start:end]` without marks."""
    edges = [start, *(edge for mark in marks for edge in (mark.text_start, mark.text_end)), end]
    return "".join(text[left:right] for left, right in zip(edges[::2], edges[1::2], strict=True))


def _visible(text: str) -> int:
    return sum(map(len, text.split()))


def check_size(
    result: Compression,
    docs: Sequence[Document],
    count: Callable[[str], int],
    *,
    budget: int | None,
    rate: float | None,
) -> None:
    """Assert that the text exceeds neither limit nor input, and that the token counts are those of the
    counter."""
    assert result.tokens_after == (count(result.text) if result.text else 0)
    assert result.tokens_after <= result.tokens_before
    heads = sum(len(d.title) + 1 for d in docs if d.title and d.title.strip() and d.text.strip())
    filled = [d for d in docs if d.text.strip()]
    assert len(result.text) <= sum(len(d.text) for d in filled) + heads + 2 * max(0, len(filled) - 1)
    if result.status == "failed_open":
        return
    if budget is not None:
        assert result.tokens_after <= budget
    if rate is not None:
        assert result.tokens_after <= rate * result.tokens_before + 1e-6


def check_wholeness(result: Compression, docs: Sequence[Document]) -> None:
    """Assert that kept units are whole, except units of structure that are marked as truncated."""
    units = [{(u.start, u.end): u for u in split_units(document.text)} for document in docs]
    for span in result.kept:
        if span.reason != "truncated":
            assert (span.start, span.end) in units[span.doc], f"{span} is not a unit"
            continue
        owner = next(u for u in units[span.doc].values() if u.start <= span.start and span.end <= u.end)
        assert owner.divisible or owner.end - owner.start > LONGEST_SENTENCE, "a sentence was cut"


def check_documents(result: Compression, docs: Sequence[Document], max_docs: int | None) -> None:
    """Assert that the documents agree with the text and the spans."""
    assert [span for document in result.documents for span in document.spans] == list(result.kept)
    for document in result.documents:
        source = docs[document.source]
        assert (document.title, document.id, document.metadata) == (source.title, source.id, source.metadata)
        assert all(span.doc == document.source for span in document.spans)
        assert document.text in result.text
    if max_docs is not None and result.status != "failed_open":
        assert len(result.documents) <= max_docs
    for span in (*result.kept, *result.dropped):
        assert 0.0 <= span.score <= 1.0
        assert math.isfinite(span.score)
    assert (result.reason is None) == (result.status == "compressed")
    if result.status in FULL:
        assert not result.dropped
    if result.status == "bypassed":
        assert result.text == ""
