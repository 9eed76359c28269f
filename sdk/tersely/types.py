"""Input documents, and the compression with its receipt. All of them are frozen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tersely.view import Source

COVERAGE = "coverage"
"""Name of the scorer that works without a query: the `model` of its results, and the reason of the units that
it keeps."""

Status = Literal["compressed", "unchanged", "abstained", "bypassed", "failed_open", "degraded"]


@dataclass(frozen=True, slots=True)
class Document:
    """One source text. `title` is shown in front of the kept sentences, and its tokens count."""

    text: str
    title: str | None = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a source document: `docs[doc].text[start:end]`, offsets in code points."""

    doc: int
    start: int
    end: int
    score: float
    """The score of the unit, in [0, 1]. Higher means more likely to be needed. 0.0 if nothing was scored. If
    the model failed, the score is higher for more exact matches, but is not a probability. Without a query,
    it says how much the unit covers, for its length, that units with higher scores do not. The best unit has
    1.0."""
    reason: str
    """The reason why it was kept or dropped; docs/options-and-results.md explains each reason."""


@dataclass(frozen=True, slots=True)
class CompressedDocument:
    """The kept part of one source document. Documents without a kept unit are not listed."""

    source: int
    """Index of the document among those that the caller passed."""
    text: str
    """The kept units, without the title."""
    title: str | None
    id: str | None
    metadata: Mapping[str, Any]
    relevance: float
    """Score of the whole document. It comes from the caller's reranker if that was used (for `max_docs` or
    `order="rerank"`), or else from the caller's model if there is one. Otherwise it is close to the score of
    the document's best unit. 0.0 if nothing was scored."""
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """`text[text_start:text_end]` of a compression is exactly `docs[doc].text[start:end]`."""

    text_start: int
    text_end: int
    doc: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mark:
    """`text[text_start:text_end]` of a compression says that `docs[doc].text[start:end]` was left out there.

    A mark is between two kept units if anything between them is missing, unless these two and everything
    between them are whole sentences of prose without the number of a clause. A unit that was cut has a mark
    wherever pieces of it are missing next to a kept one. With `marks="all"`, every gap has a mark. Dropped
    HTML comments and tags leave none. In a list, the mark counts the missing entries.
    """

    text_start: int
    text_end: int
    doc: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Citations:
    """The source of each part of a compression's text, in order. Titles, separators and marks have none."""

    entries: tuple[Citation, ...]
    starts: tuple[tuple[int, int], ...] = ()
    """Index of each document, and the offset at which its text begins, after the title."""

    def __iter__(self) -> Iterator[Citation]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def locate(self, offset: int) -> tuple[int, int] | None:
        """Return (document, offset in its text) of a character; None in a title, a separator or a mark."""
        index = bisect_right(self.entries, offset, key=lambda entry: entry.text_start) - 1
        if index < 0 or offset >= self.entries[index].text_end:
            return None
        entry = self.entries[index]
        return entry.doc, entry.start + offset - entry.text_start

    def of(self, doc: int) -> Citations:
        """Return the entries of one document, with offsets in its compressed text
        (`CompressedDocument.text`)."""
        entries = [entry for entry in self.entries if entry.doc == doc]
        first = dict(self.starts).get(doc, 0)
        moved = (replace(e, text_start=e.text_start - first, text_end=e.text_end - first) for e in entries)
        return Citations(tuple(moved), ((doc, 0),))


@dataclass(frozen=True, slots=True)
class Compression:
    """The compressed context and its receipt."""

    text: str
    """The compressed text, ready for a prompt. A blank line separates documents, and each title has its own
    line."""
    documents: tuple[CompressedDocument, ...]
    kept: tuple[Span, ...]
    """The kept spans, in the order of `text`. Together with `dropped` they cover every unit of every document
    exactly once."""
    dropped: tuple[Span, ...]
    """The dropped spans, in source order."""
    tokens_before: int
    """Number of tokens that `text` would have if nothing were dropped, by the compressor's counter."""
    tokens_after: int
    status: Status
    """Outcome of the request.

    - "compressed": something was left out, or documents were reordered.
    - "unchanged": everything fits or scores high enough.
    - "abstained": the documents seem not to answer the query, so the text is empty.
    - "bypassed": there was nothing to compress, or the input has fewer tokens than `min_tokens`.
    - "failed_open": the model failed or its time was up, and there was no `budget` or `rate`. `text` has all
      documents.
    - "degraded": the model failed or its time was up, and there was a `budget` or `rate`; or the time was up,
      and there was no query. With a query, units were chosen by the model's scores if it had read some of
      them, otherwise by exact matches. Without a query, they were chosen from those that had been read.
    """
    reason: str | None
    """The reason why the status is not "compressed"; None if it is."""
    model: str
    """Name and checksum of the model, as "name@12345678"; the class name of a scorer of your own; "coverage"
    without a query."""
    timings: Mapping[str, float] = field(compare=False)
    """Seconds per stage: "split" (into units), "score", "pack" (choose and render), "total"."""
    recall_met: bool | None = None
    """True if everything that `recall` needs was kept; None without `recall`."""
    answerable: float | None = None
    """Probability that the documents answer the query; None without a query, if the model failed or cannot
    say, and if nothing was scored."""
    refused: float | None = None
    """Promised share of the unanswerable questions that get no text; `abstain` itself is about the answerable
    ones. None without `abstain`, and if the request was not judged."""
    distance: float | None = None
    """Distance of the request from the requests of the calibration. Above 1.0, `calibrated` is false. None if
    it was not measured."""
    calibrated: bool | None = None
    """True if the request is like the calibration's requests, so that `answerable` can be trusted and the
    promises of `recall` and `abstain` hold. With `abstain` it is also false if the documents are like
    documentation of software packages; `recall` nearly holds there. None if nothing was judged, as without a
    query or after a failure."""
    best_fits: bool | None = None
    """True if the limit has room for the unit with the highest score, its heads (units that a reader needs to
    understand it) and its document's title. If it is false, units with lower scores fill the text. None if
    nothing was chosen by scores."""
    warnings: tuple[str, ...] = ()
    """Problems that did not stop the compression, such as a reranker that failed."""
    marks: tuple[Mark, ...] = ()
    """Every mark in `text`, in order. Apart from marks, tersely adds no words to `text`."""
    relevance: tuple[float, ...] = ()
    """One entry per input document, in order, including empty ones; see `CompressedDocument.relevance`."""
    _citations: Citations = field(default=Citations(()), repr=False)
    _request: tuple[str | None, tuple[Source, ...]] | None = field(default=None, repr=False, compare=False)
    """The query and the documents, for `_repr_html_`."""

    @property
    def rate(self) -> float:
        """Share of tokens kept; 1.0 for an input without tokens."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

    def citations(self) -> Citations:
        """Return the sources of `text`, to find the source of any offset."""
        return self._citations

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result as JSON values; metadata is passed on unchanged."""
        documents = [{**_fields(d), "spans": [_fields(span) for span in d.spans]} for d in self.documents]
        return {
            **{name: value for name, value in _fields(self).items() if not name.startswith("_")},
            "documents": documents,
            "kept": [_fields(span) for span in self.kept],
            "dropped": [_fields(span) for span in self.dropped],
            "citations": [_fields(entry) for entry in self._citations.entries],
            "marks": [_fields(mark) for mark in self.marks],
            "relevance": list(self.relevance),
            "warnings": list(self.warnings),
            "rate": self.rate,
            "timings": dict(self.timings),
        }

    def _repr_html_(self) -> str | None:
        """Return the view that notebooks show; None for a result that was not made by `compress`."""
        from tersely.view import make_fragment  # here: only notebooks need it

        if self._request is None:
            return None
        return make_fragment(self.to_dict(), *self._request)


def _fields(record: Span | Citation | Mark | CompressedDocument | Compression) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
