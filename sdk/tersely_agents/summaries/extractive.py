"""Summaries from the documents' own sentences."""

from __future__ import annotations

from collections.abc import Iterable

from tersely.types import Compression
from tersely_agents.summaries.request import Request
from tersely_agents.summaries.types import Summary, SummarySentence, Support


def extract_summary(request: Request, reason: str | None) -> Summary:
    """The sentences that the query needs, each its own support. `reason`: why no model wrote the summary."""
    compressor = request.compressor
    compression = compressor.compress(request.query, request.documents, budget=request.budget)
    if compression.status in ("failed_open", "degraded"):
        reason = compression.reason
    return Summary(
        text=compression.text,
        sentences=tuple(_list_sentences(compression)),
        backend="extractive",
        reason=reason,
        dropped=(),
        tokens_before=compression.tokens_before,
        tokens_after=compression.tokens_after,
        model=compressor.model,
        timings=request.timer.stop("extract"),
    )


def _list_sentences(compression: Compression) -> Iterable[SummarySentence]:
    """The kept spans of a compression, as sentences of its text."""
    citations = iter(compression.citations().entries)
    citation = next(citations, None)
    for span in compression.kept:
        while citation is not None and not (
            citation.doc == span.doc and citation.start <= span.start < citation.end
        ):
            citation = next(citations, None)
        if citation is None:
            return
        start = citation.text_start + span.start - citation.start
        support = Support(span.doc, span.start, span.end, 1.0)
        yield SummarySentence(start, start + span.end - span.start, (support,))
