"""The main path from end to end, what callers may pass, and each level of detail."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tersely import Compressor, Document, InvalidInputError
from tersely.inputs import read_documents
from tersely.score import DocumentScores, ScoredInput
from tersely.score.calibration import Calibration
from tersely_agents.levels import LEVELS, Level
from tests.sdk import checks
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


def test_a_scorer_that_lacks_a_number_is_refused() -> None:
    class Scorer:
        threshold = 0.5

        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            return []

    with pytest.raises(InvalidInputError, match=r"The model is a Scorer\. .* threshold and length_price"):
        Compressor(Scorer())


def make_text(words: str, sentences: int) -> str:
    return " ".join(f"Number {i} of {words} stood here." for i in range(sentences))


FAR, NEAR = make_text("all tides", 200), make_text("the red light", 200)
LIGHT_QUERY = "red light"


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_every_document_keeps_what_the_level_allows(level: Level) -> None:
    compressor = Compressor(FakeScorer())
    result = compressor.compress(LIGHT_QUERY, [FAR, NEAR], level=level.number)
    low, high = level.characters
    assert [d.source for d in result.documents] == [0, 1]
    for document in result.documents:
        assert low <= len(document.text) <= high
    far, near = (len(document.text) for document in result.documents)
    assert far < low + 50, "sentences below the threshold fill only the lower bound"
    assert near > high - 50, "sentences above the threshold fill the upper bound"
    checks.check_all(result, [Document(FAR), Document(NEAR)], compressor.count_tokens)


def test_a_short_document_is_kept_whole() -> None:
    result = Compressor(FakeScorer()).compress(LIGHT_QUERY, ["The light is red. The sea is calm."], level=5)
    assert (result.text, result.status) == ("The light is red. The sea is calm.", "unchanged")


def test_length_counts_equally_with_and_without_a_limit() -> None:
    """Without a limit, lengths are characters instead of tokens. A long sentence must not gain by that."""

    class PricedScorer(FakeScorer):
        length_price = 0.5

        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            scores = [[0.98 if unit.end - unit.start > 200 else 0.8 for unit in d.units] for d in documents]
            return [DocumentScores(0.9, np.array(own)) for own in scores]

    long = f"The committee {'of the harbour and the lighthouse ' * 12}met."
    text = " ".join([long, *(f"Short sentence number {i} stands here for itself." for i in range(12))])
    compressor = Compressor(PricedScorer())
    free = compressor.compress("?", [text], level=1)
    limited = compressor.compress("?", [text], level=1, budget=10**6)
    assert free.text == limited.text
    assert long not in free.text


def test_a_limit_holds_in_addition_to_the_level() -> None:
    compressor = Compressor(FakeScorer())
    assert compressor.compress(LIGHT_QUERY, [FAR, NEAR], level=2, budget=60).tokens_after <= 60
    generous = compressor.compress(LIGHT_QUERY, [FAR, NEAR], level=2, budget=100_000)
    assert [900 < len(d.text) <= 1000 for d in generous.documents] == [True, True]


def test_a_table_longer_than_its_level_is_cut_at_its_rows() -> None:
    rows = "\n".join(f"| {i} | {'light' if i == 150 else 'mast'} {i} |" for i in range(300))
    table = f"| no | what |\n|---|---|\n{rows}"
    compressor = Compressor(FakeScorer())
    result = compressor.compress("light 150", [table], level=1)
    assert 0 < len(result.text) <= 500
    assert "light 150" in result.text
    assert {s.reason for s in result.kept} == {"truncated"}
    checks.check_all(result, [Document(table)], compressor.count_tokens)


def test_recall_is_not_met_if_the_level_drops_what_it_needs() -> None:
    scorer = FakeScorer()
    scorer.calibration = Calibration(tuple(i / 100 for i in range(100)))
    compressor = Compressor(scorer)
    assert compressor.compress(LIGHT_QUERY, [NEAR], recall=0.9, level=1).recall_met is False
    assert compressor.compress(LIGHT_QUERY, [NEAR], recall=0.9).recall_met is True


def test_texts_and_mappings_are_documents_too() -> None:
    docs = [
        "The lighthouse.",
        {"text": "Cape Ferro.", "title": "T", "id": "x", "url": "u", "metadata": {"page": 3}},
    ]
    compressor = Compressor(FakeScorer(), token_counter=count_words)
    result = compressor.compress("lighthouse", docs, budget=100)
    assert result.text == "The lighthouse.\n\nT\nCape Ferro."
    assert result.documents[1].id == "x"
    assert result.documents[1].metadata == {"url": "u", "page": 3}
    assert compressor.compress("lighthouse", iter(docs), budget=100) == result


def test_metadata_of_its_own_wins_over_other_keys() -> None:
    (document,) = read_documents([{"text": "a", "page": 1, "metadata": {"page": 2}}])
    assert document == Document("a", metadata={"page": 2})


@pytest.mark.parametrize(
    ("query", "docs", "message"),
    [
        ("", ["a"], "query is empty"),
        (" \n", ["a"], "query is empty"),
        (7, ["a"], "query is an int"),
        (b"q", ["a"], "query is a bytes"),
        ("q", "a", "Pass a list, even"),
        ("q", b"a", "Pass a list, even"),
        ("q", Document("a"), "Pass a list, even"),
        ("q", {"text": "a"}, "Pass a list, even"),
        ("q", None, "documents were given as None"),
        ("q", 7, "documents were given as an int"),
        ("q", ["a", 7], "Document 1 is an int"),
        ("q", [None], "Document 0 is None"),
        ("q", [b"a"], "Document 0 is a bytes"),
        ("q", [{"content": "a"}], r"Document 0 has no 'text' key, only \['content'\]"),
        ("q", [{"text": None}], "text that is None"),
        ("q", [Document(b"a")], "text that is a bytes"),
        ("q", [Document("a", title=3)], "title that is an int"),
        ("q", [{"text": "a", "id": 3}], "id that is an int"),
        ("q", [{"text": "a", "metadata": [1]}], "metadata that is a list"),
    ],
)
def test_bad_input_is_refused_with_cause_and_remedy(query: Any, docs: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as error:
        Compressor(FakeScorer()).compress(query, docs)
    assert isinstance(error.value, ValueError)
    assert any(verb in str(error.value) for verb in ("Pass", "Add"))


@pytest.mark.parametrize(
    ("pair", "message"),
    [("query", "Request 1 is a str. Pass"), (("q", ["a"], 5), "Request 1 has 3 values. Pass")],
)
def test_a_bad_request_of_a_batch_is_named(pair: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Compressor(FakeScorer()).compress_batch([("q", ["a"]), pair])
