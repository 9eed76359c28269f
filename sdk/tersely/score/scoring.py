"""The second step of a compression: every unit gets a score, every document a relevance.

The scores come from the model. The relevance comes from the caller's reranker where there is one.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tersely.options import CompressionOptions
from tersely.pack.choose import choose_documents
from tersely.prepared import PreparedDocument
from tersely.runtime.cancellation import TimeIsUpError
from tersely.score.protocol import DocumentScores, ScoredInput, Scorer
from tersely.split.sentences import Unit
from tersely.split.splitting import (
    CHARACTERS_PER_TOKEN,
    Scored,
    SplitDocuments,
    cut_to_level,
    cut_to_limit,
)
from tersely.types import Document

if TYPE_CHECKING:
    from tersely.rerank.protocol import Reranker


logger = logging.getLogger("tersely")


COVERAGE = "coverage"
"""What chooses where there is no query, in the place of a model; also the reason of what it keeps."""


class ScoringError(Exception):
    """The model gave no scores; the message says why."""


def score(
    scorer: Scorer,
    reranker: Reranker | None,
    query: str,
    source: SplitDocuments,
    options: CompressionOptions,
    count: Callable[[str], int],
) -> Scored:
    """Cut the units that are too large for limit and level, and score what results.

    Args:
        source: the documents as whole units.
        count: tokens of a text. What it raises is passed on.

    Raises:
        ScoringError: the model raised, or gave something else than finite scores. A reranker that does so is
            replaced by the model's own relevance, with a warning.
        TimeIsUpError: the time was up before there were scores.
    """

    warnings: list[str] = []

    def run(split: SplitDocuments) -> list[DocumentScores]:
        relevance = None
        # Where documents are neither selected nor sorted by it, a reranker would only cost time.
        if reranker is not None and (options.max_docs is not None or options.order == "rerank"):
            try:
                relevance = _rerank(reranker, query, split)
            except TimeIsUpError:
                raise
            except BaseException as error:
                if not _is_failure(error):
                    raise
                problem = f"the reranker failed, so the model's own relevance counts: {_describe(error)}"
                logger.warning(problem)
                warnings.append(problem)
        try:
            return _score(scorer, relevance, query, split, options)
        except TimeIsUpError:
            raise
        except BaseException as error:
            if not _is_failure(error):
                raise
            raise ScoringError(f"the model failed: {_describe(error)}") from error

    bounds = options.bounds
    split = source if bounds is None else cut_to_level(source, bounds[1])
    split = cut_to_limit(split, count) if options.is_limited else split
    return Scored(split, run(split), bounds, tuple(warnings))


def score_by_matches(query: str, source: SplitDocuments, count: Callable[[str], int]) -> Scored:
    """Scores by BM25 over the units, where the model gave none. Units above the limit are cut.

    A score is b / (1 + b) for a BM25 of b; a document's relevance is its best score.
    """
    from tersely.score.bm25 import BM25  # numpy, which `import tersely` need not wait for

    split = cut_to_limit(source, count)
    texts = [
        document.text[unit.start : unit.end]
        for document, own in zip(split.documents, split.units, strict=True)
        for unit in own
    ]
    flat = iter(BM25(texts, only=query).scores(query).tolist())
    scores = [[match / (1.0 + match) for match in islice(flat, len(own))] for own in split.units]
    return Scored(split, [DocumentScores(max(s, default=0.0), s, s, [True] * len(s)) for s in scores], None)


def score_by_coverage(
    source: SplitDocuments, options: CompressionOptions, count: Callable[[str], int]
) -> Scored:
    """Scores where there is no query: what each unit adds to those before it. What is too large is cut.

    A document's relevance is the score of its best unit.
    """
    from tersely.score.coverage import UnitText, score_units
    from tersely.score.structure import rate_failures  # numpy, which `import tersely` need not wait for

    bounds = options.bounds
    split = source if bounds is None else cut_to_level(source, bounds[1])
    if options.is_limited:
        split = cut_to_limit(split, count)
    failures = rate_failures(split)
    texts = [
        UnitText(
            text=document.text[unit.start : unit.end],
            position=position,
            cost=unit.cost if split.costs_in_tokens else unit.cost / CHARACTERS_PER_TOKEN,
            failure=failures.get((doc, position), 0.0),
            is_event=unit.link is not None and unit.link.series is not None and unit.link.series.flows,
            is_open=unit.is_content,
        )
        for doc, (document, own) in enumerate(zip(split.documents, split.units, strict=True))
        for position, unit in enumerate(own)
    ]
    # Some of the best do not fit, and levels fill document by document, so more are ranked than fit.
    enough = 2.0 * split.limit if options.is_limited and bounds is None else math.inf
    flat = iter(score_units(texts, enough))
    scores = [list(islice(flat, len(own))) for own in split.units]
    return Scored(
        split,
        [DocumentScores(max(s, default=0.0), s, s, [True] * len(s)) for s in scores],
        bounds,
        kept_by=COVERAGE,
    )


def _is_failure(error: BaseException) -> bool:
    """Whether the model or the reranker failed. Else the caller is stopping us."""
    # A panic in Rust is no `Exception`.
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _score(
    scorer: Scorer,
    relevance: Sequence[float] | None,
    query: str,
    split: SplitDocuments,
    options: CompressionOptions,
) -> list[DocumentScores]:
    """Complete scores for each document, with the reranker's `relevance` where there is one.

    Raises whatever the model raises, and ValueError for scores that are too few or no numbers.
    """
    documents, units = split.documents, split.source_units
    to_read = list(range(len(documents)))
    if relevance is not None and options.max_docs is not None:
        # A document behind the best is dropped whatever its units score, so it is not read.
        with_text = [doc for doc in to_read if units[doc]]
        to_read = sorted(choose_documents(relevance, with_text, options.max_docs))
    from tersely.score.structure import Structure  # numpy, which `import tersely` need not wait for

    structure = Structure.match(query, split)
    read = [structure.choose_units(doc, units[doc]) for doc in to_read]
    # A promised recall was calibrated on sentences that the model has read.
    may_sift = options.recall is None
    inputs = [
        _make_input(documents[doc], [units[doc][position] for position in own], may_sift)
        for doc, own in zip(to_read, read, strict=True)
    ]
    given = _complete(scorer.score(query, inputs), inputs)
    scores = [DocumentScores.unscored(len(own)) for own in units]
    for doc, positions, own in zip(to_read, read, given, strict=True):
        scores[doc] = structure.merge(doc, positions, own, len(units[doc]))
    if relevance is not None:
        scores = [replace(own, relevance=r) for own, r in zip(scores, relevance, strict=True)]
    if not all(math.isfinite(x) for s in scores for x in (s.relevance, *s.scores, *(s.packing_scores or ()))):
        raise ValueError("the model gave scores that are not numbers")
    return scores


def _make_input(document: Document, units: Sequence[Unit], may_sift: bool) -> ScoredInput:
    """`may_sift`: whether what was prepared may rule units out."""
    preparation = document.preparation if isinstance(document, PreparedDocument) else None
    if preparation is not None and not may_sift:
        preparation = replace(preparation, vectors=b"")
    return ScoredInput(document.title, document.text, units, preparation)


def _rerank(reranker: Reranker, query: str, split: SplitDocuments) -> list[float]:
    """The reranker's score of every document; 0.0 for one without text."""
    with_text = [doc for doc, own in enumerate(split.units) if own]
    ranked = [float(x) for x in reranker.rank(query, [split.documents[doc] for doc in with_text])]
    if len(ranked) != len(with_text):
        raise ValueError("it did not give one score per document")
    if not all(map(math.isfinite, ranked)):
        raise ValueError("it gave scores that are not numbers")
    by_document = dict(zip(with_text, ranked, strict=True))
    return [by_document.get(doc, 0.0) for doc in range(len(split.documents))]


def _complete(given: Sequence[DocumentScores], inputs: Sequence[ScoredInput]) -> list[DocumentScores]:
    """The scores with nothing left to default. Raises ValueError unless there is one score per unit."""
    complete: list[DocumentScores] = []
    for own in given:
        scores = [float(score) for score in own.scores]
        packing = scores if own.packing_scores is None else [float(score) for score in own.packing_scores]
        read = [True] * len(scores) if own.read is None else [bool(read) for read in own.read]
        held_back = None if own.held_back is None else [bool(held) for held in own.held_back]
        complete.append(DocumentScores(own.relevance, scores, packing, read, held_back))
    counts = [len(document.units) for document in inputs]
    if [len(s.scores) for s in complete] != counts or [
        len(s.packing_scores or ()) for s in complete
    ] != counts:
        raise ValueError("the model did not give one score per unit")
    return complete
