"""Score every unit and every document of a request: the second step of a compression.

With a question, the scores come from the model, or from BM25 if the model fails; without one, from coverage.
All are in [0, 1], but only the model's are probabilities. With `max_docs` or `order="rerank"`, the relevance
comes from the caller's reranker if there is one.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from tersely.errors import is_failure
from tersely.options import CompressionOptions
from tersely.prepared import PreparedDocument
from tersely.runtime.cancellation import TimeIsUpError, current_time_limit, run_in_time
from tersely.score.bm25 import BM25
from tersely.score.loading import Thresholds
from tersely.score.matching import Floats
from tersely.score.protocol import (
    DocumentScores,
    Judge,
    Reranker,
    Scored,
    ScoredInput,
    Scorer,
    Scores,
)
from tersely.split.documents import CHARACTERS_PER_TOKEN, Bypass, Split, choose_documents
from tersely.types import COVERAGE, Document
from tersely.units import UNLINKED, Unit

logger = logging.getLogger("tersely")

_HEAD_GAIN = 0.3
"""Share that a unit gains from its best head: see "Units gain from their heads" in training/LOG.md."""


class _ScoringError(Exception):
    """The model or the reranker gave no scores; the message says why."""


def score(
    query: str | None,
    split: Split,
    options: CompressionOptions,
    scorer: Scorer,
    reranker: Reranker | None,
    thresholds: Thresholds,
) -> Scored | Bypass:
    """Score all units: by the model, by exact matches if the model fails, or by coverage without a query.

    With a query but neither a `budget` nor a `rate`, return a `Bypass` instead if the model fails or the
    request's time is up.
    """
    time = current_time_limit()
    if query is None:
        scores = score_by_coverage(split, options)
        failure = (
            f"the time limit of {time.seconds:g} s was too short to read everything" if split.unread else None
        )
        return Scored(scores, COVERAGE, failure=failure)
    try:
        scores, warnings = run_in_time(lambda: score_by_model(scorer, reranker, query, split, options))
        failure = None
        if time.was_reached:
            failure = f"the time limit of {time.seconds:g} s was up before the model had read everything"
    except (_ScoringError, TimeIsUpError) as error:
        scores, warnings, failure = None, (), str(error)
    if failure is not None:
        logger.warning("%s; see the status of the result", failure)
        if not options.is_limited:
            return Bypass("failed_open", failure)
    if scores is None:
        return Scored(score_by_matches(query, split), failure=failure)
    threshold = thresholds.recall
    if threshold is None and not options.is_limited:
        threshold = scorer.threshold
    if failure is not None:
        scores = replace(scores, judgement=None)
    abstention, judgement = thresholds.abstention, scores.judgement
    refusal = None if abstention is None or judgement is None else abstention.refuse(judgement)
    return Scored(scores, "score", threshold, scorer.length_price, failure, warnings, refusal)


def score_by_model(
    scorer: Scorer, reranker: Reranker | None, query: str, split: Split, options: CompressionOptions
) -> tuple[Scores, tuple[str, ...]]:
    """Return the model's scores, and warnings.

    A reranker that fails is replaced by the model's own relevance, with a warning.

    Raises:
        _ScoringError: the model raised an error, or returned something other than finite scores.
        TimeIsUpError: the time was up before there were scores.
    """
    warnings: tuple[str, ...] = ()
    relevance = None
    # Only these options use the order of the reranker. Without them it would only cost time.
    if reranker is not None and (options.max_docs is not None or options.order == "rerank"):
        try:
            with _wrap_errors("the reranker failed, so the model's own relevance counts"):
                relevance = _rerank(reranker, query, split)
        except _ScoringError as error:
            logger.warning(error)
            warnings = (str(error),)
    with _wrap_errors("the model failed"):
        return _run_model(scorer, relevance, query, split, options), warnings


def score_by_matches(query: str, split: Split) -> Scores:
    """Return scores by BM25 over the units: b / (1 + b) for a BM25 of b."""
    matches = BM25(split.texts, only=query).scores(query)
    return _add_relevance(matches / (1.0 + matches), split)


def score_by_coverage(split: Split, options: CompressionOptions) -> Scores:
    """Return scores without a query: how much each unit adds to the better ones, relative to its length."""
    from tersely.score.coverage import UnitText, score_units
    from tersely.score.structure import rate_errors

    cost_of_a_token = 1 if split.costs_in_tokens else CHARACTERS_PER_TOKEN
    texts = [
        UnitText(
            text=split.text(unit),
            position=position - split.offsets[unit.doc],
            cost=unit.cost / cost_of_a_token,
            error=error,
            is_event=unit.link.series is not None and unit.link.series.flows,
            is_content=unit.link.role == "content",
        )
        for position, (unit, error) in enumerate(zip(split.units, rate_errors(split).tolist(), strict=True))
    ]
    # Rank more units than fit, because some of the best do not fit. With a level, rank all.
    enough = 2.0 * split.limit if options.is_limited and options.level is None else math.inf
    return _add_relevance(np.array(score_units(texts, enough)), split)


def _add_relevance(scores: Floats, split: Split) -> Scores:
    """Return the scores with a relevance for each document: the score of its best unit."""
    relevance = np.zeros(len(split.documents))
    if len(scores):
        np.maximum.at(relevance, [unit.doc for unit in split.units], scores)
    read = np.ones(len(scores), dtype=np.bool_)
    return Scores(scores, scores, relevance, read, ~read)


@contextmanager
def _wrap_errors(problem: str) -> Generator[None]:
    """Turn any error of the model or the reranker inside the block into a `_ScoringError`.

    `TimeIsUpError`, `WorkCancelledError` and errors such as `KeyboardInterrupt` pass through.
    """
    try:
        yield
    except TimeIsUpError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise _ScoringError(f"{problem}: {type(error).__name__}: {error}") from error


def _run_model(
    scorer: Scorer, relevance: Floats | None, query: str, split: Split, options: CompressionOptions
) -> Scores:
    """Return the model's scores, with the reranker's `relevance` if there is one.

    Raises ValueError unless there is a finite score for each unit. Errors of the model pass through.
    """
    to_read = range(len(split.documents))
    if relevance is not None and options.max_docs is not None:
        # All but the best `max_docs` documents will be dropped, so the model need not read them.
        with_text = split.documents_with_units()
        to_read = sorted(choose_documents(relevance.tolist(), with_text, options.max_docs))
    structure = None
    if any(unit.link is not UNLINKED and unit.is_member for unit in split.units):  # prose does not need it
        from tersely.score.structure import Structure

        structure = Structure(query, split)
    positions = [
        [at for at in split.positions(doc) if structure is None or structure.is_read[at]] for doc in to_read
    ]
    inputs = [
        _make_input(split.documents[doc], [split.units[at] for at in unit_positions])
        for doc, unit_positions in zip(to_read, positions, strict=True)
    ]
    document_scores, judgement = (
        scorer.judge(query, inputs) if isinstance(scorer, Judge) else (scorer.score(query, inputs), None)
    )
    scores = replace(_flatten(document_scores, to_read, positions, split), judgement=judgement)
    if not all(np.isfinite(x).all() for x in (scores.relevance, scores.scores, scores.packing)):
        raise ValueError("the model gave scores that are not numbers")
    if structure is not None:
        scores = structure.merge(scores, to_read)
    if any(unit.divisible for unit in split.units):
        scores = _hold_back_parts(query, split, scores)
    scores = replace(scores, packing=_raise_under_heads(split.units, scores.packing))
    return scores if relevance is None else replace(scores, relevance=relevance)


def _hold_back_parts(query: str, split: Split, scores: Scores) -> Scores:
    """Return the scores, with lower `packing` for units in blocks that echo the question."""
    from tersely.score.echo import HELD_BACK_SHARE, lower_parts

    shares = lower_parts(query, split, scores.packing)
    return replace(
        scores,
        packing=np.where(scores.held_back, 1.0, shares) * scores.packing,
        held_back=scores.held_back | (shares <= HELD_BACK_SHARE),
    )


def _raise_under_heads(units: Sequence[Unit], packing: Floats) -> Floats:
    """Return higher scores for packing for units under good heads, except for sentences of prose.

    The model reads a unit apart from its heads. A score s becomes s + _HEAD_GAIN * h * (1 - s), where h is
    the best score among the unit's heads.
    """
    raised = packing.copy()
    for at, unit in enumerate(units):
        if unit.link.needs and unit.kind != "sentence":
            best = packing[list(unit.link.needs)].max()
            raised[at] += _HEAD_GAIN * best * (1.0 - packing[at])
    return raised


def _make_input(document: Document, units: Sequence[Unit]) -> ScoredInput:
    preparation = document.preparation if isinstance(document, PreparedDocument) else None
    return ScoredInput(document.title, document.text, units, preparation)


def _flatten(
    document_scores: Sequence[DocumentScores],
    to_read: Sequence[int],
    positions: Sequence[Sequence[int]],
    split: Split,
) -> Scores:
    """Return the scores of all units; 0 for those that were not given to the model.

    `document_scores` are for the documents `to_read`, and their units at `positions`.

    Raises ValueError unless there is one score per unit.
    """
    count = len(split.units)
    scores, packing = np.zeros(count), np.zeros(count)
    read, held_back = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    relevance = np.zeros(len(split.documents))
    counts = [len(document.scores) for document in document_scores]
    ranked = [d.scores if d.packing_scores is None else d.packing_scores for d in document_scores]
    if not counts == list(map(len, ranked)) == list(map(len, positions)):
        raise ValueError("the model did not give one score per unit")
    for doc, at, document, packing_scores in zip(to_read, positions, document_scores, ranked, strict=True):
        relevance[doc] = document.relevance
        scores[at], packing[at] = document.scores, packing_scores
        read[at] = True if document.read is None else document.read
        held_back[at] = False if document.held_back is None else document.held_back
    return Scores(scores, packing, relevance, read, held_back)


def _rerank(reranker: Reranker, query: str, split: Split) -> Floats:
    """Return the reranker's score of every document; 0.0 for one without text."""
    with_text = split.documents_with_units()
    ranked = [float(x) for x in reranker.rank(query, [split.documents[doc] for doc in with_text])]
    if len(ranked) != len(with_text):
        raise ValueError("it did not give one score per document")
    if not all(map(math.isfinite, ranked)):
        raise ValueError("it gave scores that are not numbers")
    relevance = np.zeros(len(split.documents))
    relevance[with_text] = ranked
    return relevance
