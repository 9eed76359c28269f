from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tersely import Compression, Compressor, Document, InvalidInputError
from tersely.selector import DocumentScores, ScoredInput
from tersely.text.sentences import split_units
from tests.sdk.checks import check_all
from tests.sdk.fakes import BrokenScorer, FakeScorer

QUERY = "When was the lighthouse at Cape Ferro built?"
DOCS = [
    Document(
        "Cape Ferro lies on the northern coast. The lighthouse at Cape Ferro was built in 1861. "
        "It has a red lamp.\n\nFishing is the main trade. Nobody lives at the cape in winter.",
        title="Cape Ferro",
        id="a",
        metadata={"url": "local"},
    ),
    Document("Ferries leave at nine. Bread is baked daily.", title="Harbour"),
    Document(
        "The keeper's house was built later. It burned down in 1900.\n\n    steps = 112\n    height = 31\n"
    ),
]
UNITS = [len(split_units(document.text)) for document in DOCS]
TOTAL = 61
"""Words of all documents and titles."""


@pytest.fixture(scope="module")
def compressor() -> Compressor:
    return Compressor(FakeScorer(), token_counter=words)


def words(text: str) -> int:
    return len(text.split())


def test_the_answer_is_kept_with_its_title_and_receipt(compressor: Compressor) -> None:
    result = compressor.compress(QUERY, DOCS, budget=12)
    assert result.text == "Cape Ferro\nThe lighthouse at Cape Ferro was built in 1861."
    assert (result.tokens_before, result.tokens_after, result.status) == (TOTAL, 11, "compressed")
    assert result.reason is None
    assert result.rate == 11 / TOTAL
    (document,) = result.documents
    assert (document.source, document.title, document.id) == (0, "Cape Ferro", "a")
    assert document.metadata == {"url": "local"}
    (span,) = result.kept
    assert DOCS[0].text[span.start : span.end] == "The lighthouse at Cape Ferro was built in 1861."
    assert {span.reason for span in result.dropped} == {"budget"}
    assert result.citations().locate(result.text.index("1861")) == (0, DOCS[0].text.index("1861"))
    assert result.citations().locate(3) is None  # in the title
    check_all(result, DOCS, words, budget=12)


def test_without_a_limit_the_threshold_decides(compressor: Compressor) -> None:
    result = compressor.compress(QUERY, DOCS)
    assert all(span.score >= FakeScorer.threshold for span in result.kept)
    assert all(span.score < FakeScorer.threshold and span.reason == "threshold" for span in result.dropped)
    nothing = compressor.compress("Zebra?", DOCS)
    assert (nothing.text, nothing.documents, nothing.tokens_after) == ("", (), 0)
    assert nothing.status == "compressed"


def test_rate_is_a_share_of_the_whole_rendering(compressor: Compressor) -> None:
    for rate in (0.01, 0.25, 0.5, 0.99):
        result = compressor.compress(QUERY, DOCS, rate=rate)
        assert result.tokens_after <= rate * TOTAL
        check_all(result, DOCS, words, rate=rate)
    assert compressor.compress(QUERY, ["a " * 100], rate=0.29).tokens_before == 100


def test_a_limit_that_fits_everything_leaves_it_unchanged(compressor: Compressor) -> None:
    for options in ({"budget": TOTAL}, {"budget": 10**9}, {"rate": 1.0}, {"rate": 1, "max_docs": 3}):
        result = compressor.compress(QUERY, DOCS, **options)
        assert result.status == "unchanged"
        assert result.tokens_after == result.tokens_before == TOTAL
        assert result.text == (
            f"Cape Ferro\n{DOCS[0].text}\n\nHarbour\n{DOCS[1].text}\n\n{DOCS[2].text.rstrip()}"
        )
        assert not result.dropped


@pytest.mark.parametrize("docs", [[], [""], ["", " \n\t", Document("", title="Only a title")]])
def test_nothing_to_do_is_bypassed(compressor: Compressor, docs: list[Any]) -> None:
    for options in ({}, {"budget": 1}, {"rate": 0.1, "order": "rerank"}):
        result = compressor.compress(QUERY, docs, **options)
        assert (result.status, result.text, result.tokens_before) == ("bypassed", "", 0)
        assert result.reason


def test_order_and_number_of_documents(compressor: Compressor) -> None:
    docs = ["Bread is baked.", "The lighthouse stands.", "The lighthouse at Cape Ferro was built."]
    ranked = compressor.compress(QUERY, docs, rate=1.0, order="rerank")
    assert ranked.documents[0].source == 2
    assert [d.relevance for d in ranked.documents] == sorted(
        (d.relevance for d in ranked.documents), reverse=True
    )
    one = compressor.compress(QUERY, docs, budget=1000, max_docs=1)
    assert one.text == docs[2]
    assert {(span.doc, span.reason) for span in one.dropped} == {(0, "max_docs"), (1, "max_docs")}
    assert one.status == "compressed"


def test_structure_is_cut_only_where_it_alone_exceeds_the_limit(compressor: Compressor) -> None:
    table = "| light | year |\n|---|---|\n" + "".join(f"| lamp {n} | {1800 + n} |\n" for n in range(100))
    docs = [Document("The lighthouse was built of stone. Bread is baked.\n\n" + table)]
    tight = compressor.compress("Which lamp is from 1877?", docs, budget=60)
    assert "| lamp 77 | 1877 |" in tight.text
    assert {span.reason for span in tight.kept} >= {"truncated"}
    check_all(tight, docs, words, budget=60)
    room = tight.tokens_before - 5
    wide = compressor.compress("Which lamp is from 1877?", docs, budget=room)
    assert table.strip() in wide.text
    assert "truncated" not in {span.reason for span in (*wide.kept, *wide.dropped)}
    check_all(wide, docs, words, budget=room)


def test_a_sentence_is_never_cut(compressor: Compressor) -> None:
    docs = [
        Document(
            "The treaty is not valid unless both sides sign it in the capital before the summer of 1903."
        )
    ]
    result = compressor.compress("Is the treaty valid?", docs, budget=5)
    assert result.text == ""
    check_all(result, docs, words, budget=5)


def test_text_without_punctuation_is_cut_rather_than_lost(compressor: Compressor) -> None:
    docs = [
        Document(
            "so we went there and then " * 100 + "the lighthouse was built in 1861 " + "and so on " * 100
        )
    ]
    result = compressor.compress(QUERY, docs, budget=80)
    assert "1861" in result.text
    check_all(result, docs, words, budget=80)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (RuntimeError("out of luck"), "RuntimeError: out of luck"),
        (MemoryError(), "MemoryError: "),
        (type("PanicException", (BaseException,), {})("rust"), "PanicException: rust"),
        ([], "one score per unit"),
        ([DocumentScores(0.5, np.array([0.1] * 9)) for _ in range(3)], "one score per unit"),
        ([DocumentScores(0.5, np.full(n, 0.5), np.array([0.1])) for n in UNITS], "one score per unit"),
        ([DocumentScores(0.5, np.full(n, math.nan)) for n in UNITS], "not numbers"),
        ([DocumentScores(0.5, np.full(n, 0.5), np.full(n, math.nan)) for n in UNITS], "not numbers"),
        ([DocumentScores(math.inf, np.full(n, 0.5)) for n in UNITS], "not numbers"),
    ],
)
def test_a_failing_model_gives_the_documents_back(
    failure: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    compressor = Compressor(BrokenScorer(failure), token_counter=words)
    with caplog.at_level(logging.WARNING, logger="tersely"):
        result = compressor.compress(QUERY, DOCS, budget=12)
    assert result.status == "failed_open"
    assert reason in (result.reason or "")
    assert reason in caplog.text
    assert result.text == compressor.compress(QUERY, DOCS, rate=1.0).text
    check_all(result, DOCS, words, budget=12)


def test_a_caller_that_stops_is_not_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        Compressor(BrokenScorer(KeyboardInterrupt())).compress(QUERY, DOCS, budget=5)


def test_mappings_and_texts_are_documents_too(compressor: Compressor) -> None:
    docs = [
        "The lighthouse.",
        {"text": "Cape Ferro.", "title": "T", "id": "x", "url": "u", "metadata": {"page": 3}},
    ]
    result = compressor.compress(QUERY, docs, budget=100)
    assert result.text == "The lighthouse.\n\nT\nCape Ferro."
    assert result.documents[1].id == "x"
    assert result.documents[1].metadata == {"url": "u", "page": 3}
    assert compressor.compress(QUERY, iter(docs), budget=100) == result


@pytest.mark.parametrize(
    ("query", "docs", "options", "message"),
    [
        ("", ["a"], {}, "query is empty"),
        (" \n", ["a"], {}, "query is empty"),
        (None, ["a"], {}, "query is None"),
        (b"q", ["a"], {}, "query is a bytes"),
        ("q", "a", {}, "Pass a list of documents"),
        ("q", b"a", {}, "Pass a list of documents"),
        ("q", Document("a"), {}, "Pass a list of documents"),
        ("q", {"text": "a"}, {}, "Pass a list of documents"),
        ("q", None, {}, "documents are None"),
        ("q", 7, {}, "documents are an int"),
        ("q", ["a", 7], {}, "Document 1 is an int"),
        ("q", [None], {}, "Document 0 is None"),
        ("q", [b"a"], {}, "Document 0 is a bytes"),
        ("q", [{"content": "a"}], {}, r"Document 0 has no 'text' key, only \['content'\]"),
        ("q", [{"text": None}], {}, "text that is None"),
        ("q", [Document(b"a")], {}, "text that is a bytes"),
        ("q", [Document("a", title=3)], {}, "title that is an int"),
        ("q", [{"text": "a", "id": 3}], {}, "id that is an int"),
        ("q", [{"text": "a", "metadata": [1]}], {}, "metadata that is a list"),
        ("q", ["a"], {"budget": 0}, "budget is 0"),
        ("q", ["a"], {"budget": -5}, "budget is -5"),
        ("q", ["a"], {"budget": 2.5}, "budget is a float"),
        ("q", ["a"], {"budget": True}, "budget is True"),
        ("q", ["a"], {"budget": "9"}, "budget is a str"),
        ("q", ["a"], {"rate": 0}, r"rate is 0\.0"),
        ("q", ["a"], {"rate": -0.1}, r"rate is -0\.1"),
        ("q", ["a"], {"rate": 1.01}, r"rate is 1\.01"),
        ("q", ["a"], {"rate": math.nan}, "rate is nan"),
        ("q", ["a"], {"rate": math.inf}, "rate is inf"),
        ("q", ["a"], {"rate": True}, "rate is True"),
        ("q", ["a"], {"rate": "0.5"}, "rate is a str"),
        ("q", ["a"], {"budget": 5, "rate": 0.5}, "Both budget and rate"),
        ("q", ["a"], {"max_docs": 0}, "max_docs is 0"),
        ("q", ["a"], {"max_docs": 1.0}, "max_docs is a float"),
        ("q", ["a"], {"order": "best"}, "order is 'best'"),
        ("q", ["a"], {"order": None}, "order is None"),
    ],
)
def test_bad_input_is_named_with_its_remedy(
    compressor: Compressor, query: Any, docs: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        compressor.compress(query, docs, **options)
    assert isinstance(raised.value, ValueError)
    assert any(verb in str(raised.value) for verb in ("Pass", "Add"))


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_bad_threads(threads: Any) -> None:
    with pytest.raises(InvalidInputError, match="threads is"):
        Compressor(FakeScorer(), threads=threads)


def test_something_else_than_a_model() -> None:
    with pytest.raises(InvalidInputError, match="The model is a float"):
        Compressor(3.5)


@pytest.mark.parametrize("count", [-1, 1.5, None, True])
def test_a_counter_that_does_not_count(count: Any) -> None:
    with pytest.raises(InvalidInputError, match="token_counter returned"):
        Compressor(FakeScorer(), token_counter=lambda _: count).compress(QUERY, DOCS, budget=5)


def test_numpy_numbers_are_numbers(compressor: Compressor) -> None:
    assert compressor.compress(QUERY, DOCS, budget=np.int64(12)) == compressor.compress(
        QUERY, DOCS, budget=12
    )
    assert compressor.compress(QUERY, DOCS, rate=np.float32(0.5)) == compressor.compress(
        QUERY, DOCS, rate=0.5
    )


def test_twins_agree(compressor: Compressor) -> None:
    pairs = [(QUERY, DOCS), ("bread", DOCS[1:]), ("steps", [DOCS[2], ""])]
    singles = [compressor.compress(query, docs, rate=0.4, order="rerank") for query, docs in pairs]
    assert compressor.compress_batch(pairs, rate=0.4, order="rerank") == singles
    assert asyncio.run(compressor.acompress(*pairs[0], rate=0.4, order="rerank")) == singles[0]


def test_sixteen_threads_share_a_compressor(compressor: Compressor) -> None:
    expected = [compressor.compress(QUERY, DOCS, budget=budget) for budget in range(1, 40)]
    results: dict[int, list[Compression]] = {}

    def work(number: int) -> None:
        results[number] = [compressor.compress(QUERY, DOCS, budget=budget) for budget in range(1, 40)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 16
    assert all(result == expected for result in results.values())


def test_the_receipt_is_json(compressor: Compressor) -> None:
    result = compressor.compress(QUERY, DOCS, budget=20)
    receipt = json.loads(json.dumps(result.to_dict()))
    assert receipt["text"] == result.text
    assert receipt["rate"] == result.rate
    assert receipt["documents"][0]["spans"][0] == receipt["kept"][0]
    assert receipt["model"] == "FakeScorer"
    assert set(receipt["timings"]) == {"split", "score", "pack", "total"}
    assert set(receipt["citations"][0]) == {"text_start", "text_end", "doc", "start", "end"}


def test_lone_surrogates_and_nul_survive(compressor: Compressor) -> None:
    docs = [Document("The light\ud800house \x00 was built. Bread\udfff is baked.", title="\udc00 T")]
    for options in ({}, {"budget": 5}, {"rate": 1.0}):
        check_all(compressor.compress("light\ud800house", docs, **options), docs, words)


def test_under_a_limit_a_probability_is_weighed_against_its_tokens() -> None:
    class Priced(FakeScorer):
        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            return [DocumentScores(0.9, np.array([0.9, 0.8, 0.8]))]

    text = "This one is long, and it takes its time to arrive at last. Short is good. Brief is best."
    words = {"token_counter": lambda text: len(text.split())}
    kept = {}
    for price in (0.0, 0.5):
        scorer = Priced()
        scorer.length_price = price
        kept[price] = Compressor(scorer, **words).compress("?", [text], budget=13).text
    assert kept[0.0].startswith("This one is long")
    assert kept[0.5] == "Short is good. Brief is best."


def test_worth_decides_under_a_limit_and_scores_elsewhere() -> None:
    class Worthy(FakeScorer):
        threshold = 0.5

        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            return [DocumentScores(0.9, np.array([0.9, 0.1, 0.3]), np.array([0.9, 0.4, 0.3]))]

    text = "One stands first. Two comes after. Three is apart."
    compressor = Compressor(Worthy(), token_counter=words)
    assert compressor.compress("?", [text]).text == "One stands first."
    found = compressor.compress("?", [text], budget=6)
    assert found.text == "One stands first. Two comes after."
    assert [span.score for span in found.kept] == [0.9, 0.1]


def test_a_batch_takes_documents_as_they_come(compressor: Compressor) -> None:
    rows = [("a", DOCS[0]), ("a", DOCS[1]), ("b", DOCS[2])]
    requests = (
        (QUERY, (d for _, d in group)) for _, group in itertools.groupby(rows, key=lambda row: row[0])
    )
    found = compressor.compress_batch(requests, rate=0.5)
    assert found == [compressor.compress(QUERY, docs, rate=0.5) for docs in (DOCS[:2], DOCS[2:])]
