"""The main path from end to end, with a scorer that knows nothing but shared words."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest

from tersely import Compressor, InvalidInputError
from tersely.score import DocumentScores, ScoredInput
from tests.sdk.checks import check_all
from tests.sdk.compressor_cases import DOCS, QUERY, TOTAL_WORDS
from tests.sdk.counters import count_words
from tests.sdk.fakes import FakeScorer


@pytest.fixture(scope="module")
def compressor() -> Compressor:
    return Compressor(FakeScorer(), token_counter=count_words)


def test_the_answer_is_kept_with_its_title_and_receipt(compressor: Compressor) -> None:
    result = compressor.compress(QUERY, DOCS, budget=12)
    assert result.text == "Cape Ferro\nThe lighthouse at Cape Ferro was built in 1861."
    assert (result.tokens_before, result.tokens_after, result.status) == (TOTAL_WORDS, 11, "compressed")
    assert result.reason is None
    assert result.rate == 11 / TOTAL_WORDS
    (document,) = result.documents
    assert (document.source, document.title, document.id) == (0, "Cape Ferro", "a")
    assert document.metadata == {"url": "local"}
    (span,) = result.kept
    assert DOCS[0].text[span.start : span.end] == "The lighthouse at Cape Ferro was built in 1861."
    assert {span.reason for span in result.dropped} == {"budget"}
    assert result.citations().locate(result.text.index("1861")) == (0, DOCS[0].text.index("1861"))
    assert result.citations().locate(3) is None  # in the title
    check_all(result, DOCS, count_words, budget=12)


def test_without_a_limit_the_threshold_decides(compressor: Compressor) -> None:
    result = compressor.compress(QUERY, DOCS)
    assert result.kept
    assert result.dropped
    assert all(span.score >= FakeScorer.threshold for span in result.kept)
    assert all(span.score < FakeScorer.threshold and span.reason == "threshold" for span in result.dropped)


def test_a_batch_and_an_awaited_call_give_the_same_results(compressor: Compressor) -> None:
    requests = [(QUERY, DOCS), ("bread", DOCS[1:]), ("steps", [DOCS[2], ""])]
    singles = [compressor.compress(query, docs, rate=0.4, order="rerank") for query, docs in requests]
    assert compressor.compress_batch(requests, rate=0.4, order="rerank") == singles
    assert asyncio.run(compressor.acompress(*requests[0], rate=0.4, order="rerank")) == singles[0]


def test_a_batch_takes_documents_as_a_generator_gives_them(compressor: Compressor) -> None:
    rows = [("a", DOCS[0]), ("a", DOCS[1]), ("b", DOCS[2])]
    requests = (
        (QUERY, (document for _, document in group))
        for _, group in itertools.groupby(rows, key=lambda row: row[0])
    )
    results = compressor.compress_batch(requests, rate=0.5)
    assert results == [compressor.compress(QUERY, docs, rate=0.5) for docs in (DOCS[:2], DOCS[2:])]


def test_the_receipt_is_json(compressor: Compressor) -> None:
    result = compressor.compress(QUERY, DOCS, budget=20)
    receipt = json.loads(json.dumps(result.to_dict()))
    assert receipt["text"] == result.text
    assert receipt["rate"] == result.rate
    assert receipt["documents"][0]["spans"][0] == receipt["kept"][0]
    assert receipt["model"] == "FakeScorer"
    assert set(receipt["timings"]) == {"split", "score", "pack", "total"}
    assert set(receipt["citations"][0]) == {"text_start", "text_end", "doc", "start", "end"}


def test_a_model_that_cannot_score_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="The model is a float"):
        Compressor(3.5)


def test_a_scorer_that_lacks_a_number_is_refused() -> None:
    class Scorer:
        threshold = 0.5

        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            return []

    with pytest.raises(InvalidInputError, match=r"The model is a Scorer\. .* threshold and length_price"):
        Compressor(Scorer())


@pytest.mark.parametrize("count", [-1, 1.5, None, True])
def test_a_token_counter_that_gives_no_count_is_refused(count: Any) -> None:
    with pytest.raises(InvalidInputError, match="token_counter returned"):
        Compressor(FakeScorer(), token_counter=lambda _: count).compress(QUERY, DOCS, budget=5)
