"""The second step of a compression: every unit gets a score, every document a relevance.

The scores come from the model. The relevance comes from the caller's reranker where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tersely.levels import LEVELS, choose_level_for
from tersely.options import CompressionOptions
from tersely.packing.prepare import Prepared, Scored, cut_to_levels, cut_to_limit
from tersely.selector.protocol import DocumentScores, ScoredInput, Scorer

if TYPE_CHECKING:
    from tersely.rerank.protocol import Reranker


class ScoringError(Exception):
    """The model or the reranker failed; the message says how."""


def score(
    scorer: Scorer,
    reranker: Reranker | None,
    query: str,
    source: Prepared,
    options: CompressionOptions,
    count: Callable[[str], int],
) -> Scored:
    """Cut the units that are too large for limit and level, and score what results.

    Where the level is "auto", the first scores tell each document's level. If that cuts further units, the
    pieces are scored too.

    Args:
        source: the documents as whole units.
        count: tokens of a text. What it raises is passed on.

    Raises:
        ScoringError: the model or the reranker raised, or gave something else than finite scores.
    """

    def cut(prepared: Prepared) -> Prepared:
        return cut_to_limit(prepared, count) if options.is_limited else prepared

    def run(prepared: Prepared) -> list[DocumentScores]:
        try:
            return _score(scorer, reranker, query, prepared, options)
        except BaseException as error:
            # A panic in Rust is no `Exception`. Everything else that is none is the caller stopping us.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise ScoringError(f"{type(error).__name__}: {error}") from error

    if options.level is None or options.level == "auto":
        prepared = cut(source)
        scores = run(prepared)
        if options.level is None:
            return Scored(prepared, scores, None)
        levels = [choose_level_for(own.scores) for own in scores]
        finer = cut_to_levels(prepared, levels)
        if finer is not prepared:
            prepared = cut(finer)
            scores = run(prepared)
        return Scored(prepared, scores, levels)
    levels = [LEVELS[options.level - 1]] * len(source.documents)
    prepared = cut(cut_to_levels(source, levels))
    return Scored(prepared, run(prepared), levels)


def _score(
    scorer: Scorer, reranker: Reranker | None, query: str, prepared: Prepared, options: CompressionOptions
) -> list[DocumentScores]:
    """Complete scores for each document. Raises whatever the model and the reranker raise, and ValueError for
    scores that are too few or no numbers."""
    documents, units = prepared.documents, prepared.source_units
    relevance = None
    # Where documents are neither selected nor sorted by it, a reranker would only cost time.
    if reranker is not None and (options.max_docs is not None or options.order == "rerank"):
        relevance = _rerank(reranker, query, prepared)
    to_read = list(range(len(documents)))
    if relevance is not None and options.max_docs is not None:
        # A document behind the best is dropped whatever its units score, so it is not read.
        with_text = [doc for doc in to_read if units[doc]]
        to_read = sorted(sorted(with_text, key=lambda doc: -relevance[doc])[: options.max_docs])
    inputs = [ScoredInput(documents[doc].title, documents[doc].text, units[doc]) for doc in to_read]
    given = _complete(scorer.score(query, inputs), inputs)
    scores = [DocumentScores.unscored(len(own)) for own in units]
    for doc, own in zip(to_read, given, strict=True):
        scores[doc] = own
    if relevance is not None:
        scores = [replace(own, relevance=r) for own, r in zip(scores, relevance, strict=True)]
    if not all(math.isfinite(x) for s in scores for x in (s.relevance, *s.scores, *(s.packing_scores or ()))):
        raise ValueError("the model or the reranker gave scores that are not numbers")
    return scores


def _rerank(reranker: Reranker, query: str, prepared: Prepared) -> list[float]:
    """The reranker's score of every document; 0.0 for one without text."""
    with_text = [doc for doc, own in enumerate(prepared.units) if own]
    ranked = [float(x) for x in reranker.rank(query, [prepared.documents[doc] for doc in with_text])]
    if len(ranked) != len(with_text):
        raise ValueError("the reranker did not give one score per document")
    by_document = dict(zip(with_text, ranked, strict=True))
    return [by_document.get(doc, 0.0) for doc in range(len(prepared.documents))]


def _complete(given: Sequence[DocumentScores], inputs: Sequence[ScoredInput]) -> list[DocumentScores]:
    """The scores with nothing left to default. Raises ValueError unless there is one score per unit."""
    complete: list[DocumentScores] = []
    for own in given:
        scores = [float(score) for score in own.scores]
        packing = scores if own.packing_scores is None else [float(score) for score in own.packing_scores]
        read = [True] * len(scores) if own.read is None else [bool(read) for read in own.read]
        complete.append(DocumentScores(own.relevance, scores, packing, read))
    counts = [len(document.units) for document in inputs]
    if [len(s.scores) for s in complete] != counts or [
        len(s.packing_scores or ()) for s in complete
    ] != counts:
        raise ValueError("the model did not give one score per unit")
    return complete
