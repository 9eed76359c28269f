"""The main path from end to end, with a scorer that knows nothing but shared words."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tersely import Compressor, Document, InvalidInputError
from tersely.score import DocumentScores, ScoredInput
from tests.sdk.checks import check_all
from tests.sdk.compressor_cases import DOCS, QUERY, TOTAL_WORDS
from tests.sdk.counters import count_words
from tests.sdk.fakes import FakeScorer


class FixedScorer:
    """A scorer that gives the same scores of one document for every request."""

    threshold = 0.5

    def __init__(self, scores: DocumentScores, length_price: float = 0.0) -> None:
        self.scores = scores
        self.length_price = length_price

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        return [self.scores]


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


def test_where_nothing_reaches_the_threshold_the_text_is_empty(compressor: Compressor) -> None:
    result = compressor.compress("Zebra?", DOCS)
    assert (result.text, result.documents, result.tokens_after) == ("", (), 0)
    assert result.status == "compressed"


def test_the_input_is_counted_before_anything_is_dropped(compressor: Compressor) -> None:
    assert compressor.compress(QUERY, ["a " * 100], rate=0.29).tokens_before == 100


@pytest.mark.parametrize(
    "options", [{"budget": TOTAL_WORDS}, {"budget": 10**9}, {"rate": 1.0}, {"rate": 1, "max_docs": 3}]
)
def test_a_limit_that_fits_everything_leaves_it_unchanged(
    compressor: Compressor, options: dict[str, Any]
) -> None:
    result = compressor.compress(QUERY, DOCS, **options)
    assert result.status == "unchanged"
    assert result.tokens_after == result.tokens_before == TOTAL_WORDS
    assert result.text == (
        f"Cape Ferro\n{DOCS[0].text}\n\nHarbour\n{DOCS[1].text}\n\n{DOCS[2].text.rstrip()}"
    )
    assert not result.dropped


@pytest.mark.parametrize("docs", [[], [""], ["", " \n\t", Document("", title="Only a title")]])
@pytest.mark.parametrize("options", [{}, {"budget": 1}, {"rate": 0.1, "order": "rerank"}])
def test_documents_without_text_are_bypassed(
    compressor: Compressor, docs: list[Any], options: dict[str, Any]
) -> None:
    result = compressor.compress(QUERY, docs, **options)
    assert (result.status, result.text, result.tokens_before) == ("bypassed", "", 0)
    assert result.reason


def test_structure_is_cut_only_where_it_alone_exceeds_the_limit(compressor: Compressor) -> None:
    table = "| light | year |\n|---|---|\n" + "".join(f"| lamp {n} | {1800 + n} |\n" for n in range(100))
    docs = [Document("The lighthouse was built of stone. Bread is baked.\n\n" + table)]
    tight = compressor.compress("Which lamp is from 1877?", docs, budget=60)
    assert "| lamp 77 | 1877 |" in tight.text
    assert {span.reason for span in tight.kept} >= {"truncated"}
    check_all(tight, docs, count_words, budget=60)
    almost_all = tight.tokens_before - 5
    wide = compressor.compress("Which lamp is from 1877?", docs, budget=almost_all)
    assert table.strip() in wide.text
    assert "truncated" not in {span.reason for span in (*wide.kept, *wide.dropped)}
    check_all(wide, docs, count_words, budget=almost_all)


def test_a_sentence_is_never_cut(compressor: Compressor) -> None:
    docs = [
        Document(
            "The treaty is not valid unless both sides sign it in the capital before the summer of 1903."
        )
    ]
    result = compressor.compress("Is the treaty valid?", docs, budget=5)
    assert result.text == ""
    check_all(result, docs, count_words, budget=5)


def test_text_without_punctuation_is_cut_rather_than_lost(compressor: Compressor) -> None:
    docs = [
        Document(
            "so we went there and then " * 100 + "the lighthouse was built in 1861 " + "and so on " * 100
        )
    ]
    result = compressor.compress(QUERY, docs, budget=80)
    assert "1861" in result.text
    check_all(result, docs, count_words, budget=80)


def test_packing_scores_decide_only_under_a_limit() -> None:
    text = "One stands first. Two comes after. Three is apart."
    scores = DocumentScores(0.9, np.array([0.9, 0.1, 0.3]), np.array([0.9, 0.4, 0.3]))
    compressor = Compressor(FixedScorer(scores), token_counter=count_words)
    assert compressor.compress("?", [text]).text == "One stands first."
    limited = compressor.compress("?", [text], budget=6)
    assert limited.text == "One stands first. Two comes after."
    assert [span.score for span in limited.kept] == [0.9, 0.1]


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
