"""Summaries from the documents' own sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from tersely.compressor import Compressor
from tersely.selector import DocumentScores, ScoredInput
from tersely.summarize.request import Request
from tersely.summarize.types import Summary, SummarySentence, Support
from tersely.types import Compression


def extract_summary(request: Request, reason: str | None) -> Summary:
    """The sentences that the query needs, each its own support. `reason`: why no model wrote the summary."""
    compressor = request.compressor
    compression = compressor.compress(request.query, request.documents, budget=request.budget)
    if compression.status == "failed_open":
        reason = compression.reason
        # Without scores the summary is the beginning of the documents, as far as the budget allows.
        in_order = Compressor(_InOrder(), token_counter=compressor.count_tokens)
        compression = in_order.compress(request.query, request.documents, budget=request.budget)
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


class _InOrder:
    """A scorer whose scores fall from the first sentence to the last."""

    threshold = 0.0
    length_price = 0.0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        """Scores for each document, in order."""
        counts = [len(document.units) for document in documents]
        falling = iter(np.linspace(1.0, 0.0, max(1, sum(counts))).tolist())
        return [DocumentScores(1.0, list(islice(falling, count))) for count in counts]


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
