"""Rerankers before the selector, and the HTTP reranker against a local server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tersely import Compressor, Document, InvalidInputError, TerselyError
from tersely.rerank import RerankEndpoint
from tersely.score import DocumentScores, ScoredInput
from tersely.score.calibration import Calibration
from tests.loopback import Serve
from tests.sdk.checks import check_all
from tests.sdk.fakes import FakeScorer

QUERY = "When was the lighthouse built?"
DOCS = [
    Document("The lighthouse was built in 1861. It is white.", title="Lighthouse"),
    Document("Ferries leave at nine. Bread is baked daily."),
    Document(""),
    Document("The lighthouse keeper was paid in fish. He left in 1900."),
]


class FixedReranker:
    """A reranker that gives a list of scores, one per document with text."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def rank(self, query: str, documents: Sequence[Document]) -> Sequence[float]:
        assert all(d.text for d in documents)
        return self.scores


class RecordingScorer(FakeScorer):
    calibration: Calibration | None = None

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        self.read += [d.text for d in documents]
        return super().score(query, documents)


def test_the_reranker_decides_order_and_which_documents_stay() -> None:
    result = Compressor(FakeScorer(), reranker=FixedReranker(0.1, 0.9, 0.5)).compress(
        QUERY, DOCS, budget=1000, max_docs=2, order="rerank"
    )
    assert [d.source for d in result.documents] == [1, 3]
    assert [d.relevance for d in result.documents] == [0.9, 0.5]
    assert {s.reason for s in result.dropped if s.doc == 0} == {"max_docs"}
    check_all(result, DOCS, Compressor(FakeScorer()).token_counter.count, budget=1000, max_docs=2)


def test_the_selector_does_not_read_documents_with_a_low_rank() -> None:
    scorer = RecordingScorer()
    Compressor(scorer, reranker=FixedReranker(0.1, 0.9, 0.5)).compress(QUERY, DOCS, budget=20, max_docs=1)
    assert scorer.read == [DOCS[1].text]
    scorer.read.clear()
    Compressor(scorer, reranker=FixedReranker(0.1, 0.9, 0.5)).compress(QUERY, DOCS, budget=20)
    assert scorer.read == [d.text for d in DOCS]


def test_the_reranker_is_not_called_if_it_would_change_nothing() -> None:
    result = Compressor(FakeScorer(), reranker=FixedReranker()).compress(QUERY, DOCS, budget=20)
    assert result.status == "compressed"


def test_recall_is_not_met_if_documents_are_not_read() -> None:
    scorer = RecordingScorer()
    scorer.calibration = Calibration((0.99,) * 30)  # every unit has a lower score
    compressor = Compressor(scorer, reranker=FixedReranker(0.1, 0.9, 0.5))
    assert compressor.compress(QUERY, DOCS, recall=0.9).recall_met is True
    assert compressor.compress(QUERY, DOCS, recall=0.9, max_docs=1).recall_met is False
    assert compressor.compress(QUERY, DOCS, recall=0.9, max_docs=3).recall_met is True


@pytest.mark.parametrize("scores", [(), (0.1,), (0.1, float("nan"), 0.2)])
def test_a_failing_reranker_is_replaced_by_the_models_relevance(scores: tuple[float, ...]) -> None:
    options = {"budget": 12, "max_docs": 2}
    result = Compressor(FakeScorer(), reranker=FixedReranker(*scores)).compress(QUERY, DOCS, **options)
    own = Compressor(FakeScorer()).compress(QUERY, DOCS, **options)
    assert result.status == "compressed"
    assert result.text == own.text
    assert result.tokens_after <= 12
    assert "the reranker failed" in result.warnings[0]
    assert result.to_dict()["warnings"] == list(result.warnings)


def rank_by_length(texts: Sequence[str]) -> list[tuple[int, float]]:
    """Return indices and scores, the best first, as servers sort them."""
    return sorted(((i, len(t) / 100) for i, t in enumerate(texts)), key=lambda pair: -pair[1])


def answer_like_openai(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, {
        "results": [{"index": i, "relevance_score": s} for i, s in rank_by_length(body["documents"])]
    }


def answer_like_tei(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, [{"index": i, "score": s} for i, s in rank_by_length(body["texts"])]


def test_an_endpoint_ranks_inside_a_compression(serve: Serve) -> None:
    server = serve(answer_like_openai)
    reranker = RerankEndpoint(server.url, model="bge", api_key="secret")
    result = Compressor(FakeScorer(), reranker=reranker).compress(QUERY, DOCS, budget=1000, order="rerank")
    assert [d.source for d in result.documents] == [0, 3, 1]
    ((body, authorization),) = server.requests
    assert body["query"] == QUERY
    assert body["model"] == "bge"
    assert body["documents"][0] == "Lighthouse\nThe lighthouse was built in 1861. It is white."
    assert authorization == "Bearer secret"


def test_an_endpoint_supports_tei(serve: Serve) -> None:
    server = serve(answer_like_tei)
    scores = RerankEndpoint(server.url, style="tei").rank(QUERY, [DOCS[0], DOCS[1]])
    assert scores == [0.57, 0.44]
    assert server.requests[0][0] == {
        "query": QUERY,
        "texts": ["Lighthouse\nThe lighthouse was built in 1861. It is white.", DOCS[1].text],
        "truncate": True,  # otherwise one document that is too long fails the whole request
    }


def test_tei_gets_32_texts_per_request(serve: Serve) -> None:
    server = serve(answer_like_tei)
    documents = [Document("x" * n) for n in range(1, 71)]
    scores = RerankEndpoint(server.url, style="tei").rank(QUERY, documents)
    assert scores == [n / 100 for n in range(1, 71)]
    assert [len(body["texts"]) for body, _ in server.requests] == [32, 32, 6]


@pytest.mark.parametrize(
    ("code", "value", "message"),
    [
        (401, {}, "HTTP 401"),
        (200, b"<html>", "JSON"),
        (200, {"results": [{"index": 0, "score": 1.0}]}, "did not score each"),
        (200, [{"index": 0, "score": 1.0}, {"index": 0, "score": 1.0}], "did not score each"),
        (200, [{"index": i, "score": 1.0} for i in (0, 1, 2, 1)], "did not score each"),
        (200, [{"index": 0}, {"index": 1, "score": "high"}], "did not score each"),
        (200, 7, "did not score each"),
    ],
)
def test_a_malformed_answer_is_an_error(serve: Serve, code: int, value: object, message: str) -> None:
    server = serve(lambda _: (code, value))
    endpoint = RerankEndpoint(server.url, retries=0)
    with pytest.raises(TerselyError, match=message):
        endpoint.rank(QUERY, DOCS[:2])
    result = Compressor(FakeScorer(), reranker=endpoint).compress(QUERY, DOCS, budget=12, order="rerank")
    assert result.status == "compressed"
    assert message in result.warnings[0]


def test_unusable_addresses_are_refused() -> None:
    for url in ("rerank", "file:///etc/passwd", "http:///x"):
        with pytest.raises(InvalidInputError, match="HTTP address"):
            RerankEndpoint(url)
    with pytest.raises(InvalidInputError, match="style"):
        RerankEndpoint("http://127.0.0.1/rerank", style="cohere")
