"""Rerankers in front of the selector, and the HTTP one against a real server on loopback."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tersely import Compressor, Document, InvalidInputError, OfflineError, TerselyError
from tersely.rerank import RerankEndpoint
from tersely.selector import DocumentScores, ScoredInput
from tersely.selector.calibration import Calibration
from tests.loopback import Serve, serving
from tests.sdk.checks import check_all
from tests.sdk.fakes import FakeScorer

QUERY = "When was the lighthouse built?"
DOCS = [
    Document("The lighthouse was built in 1861. It is white.", title="Lighthouse"),
    Document("Ferries leave at nine. Bread is baked daily."),
    Document(""),
    Document("The lighthouse keeper was paid in fish. He left in 1900."),
]


class Fixed:
    """Ranks by a list of scores, one per filled document."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def rank(self, query: str, documents: Sequence[Document]) -> Sequence[float]:
        assert all(d.text for d in documents)
        return self.scores


class Counting(FakeScorer):
    calibration: Calibration | None = None

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        self.read += [d.text for d in documents]
        return super().score(query, documents)


def test_the_reranker_decides_order_and_which_documents_stay() -> None:
    result = Compressor(FakeScorer(), reranker=Fixed(0.1, 0.9, 0.5)).compress(
        QUERY, DOCS, budget=1000, max_docs=2, order="rerank"
    )
    assert [d.source for d in result.documents] == [1, 3]
    assert [d.relevance for d in result.documents] == [0.9, 0.5]
    assert {s.reason for s in result.dropped if s.doc == 0} == {"max_docs"}
    check_all(result, DOCS, Compressor(FakeScorer()).token_counter.count, budget=1000, max_docs=2)


def test_documents_that_it_ranks_low_are_not_read() -> None:
    scorer = Counting()
    Compressor(scorer, reranker=Fixed(0.1, 0.9, 0.5)).compress(QUERY, DOCS, budget=20, max_docs=1)
    assert scorer.read == [DOCS[1].text]
    scorer.read.clear()
    Compressor(scorer, reranker=Fixed(0.1, 0.9, 0.5)).compress(QUERY, DOCS, budget=20)
    assert scorer.read == [d.text for d in DOCS]


def test_it_is_not_asked_where_it_would_change_nothing() -> None:
    result = Compressor(FakeScorer(), reranker=Fixed()).compress(QUERY, DOCS, budget=20)
    assert result.status == "compressed"


def test_a_promise_does_not_reach_documents_that_were_not_read() -> None:
    scorer = Counting()
    scorer.calibration = Calibration((0.99,) * 30)  # every unit that was read is below it
    compressor = Compressor(scorer, reranker=Fixed(0.1, 0.9, 0.5))
    assert compressor.compress(QUERY, DOCS, recall=0.9).recall_met is True
    assert compressor.compress(QUERY, DOCS, recall=0.9, max_docs=1).recall_met is False
    assert compressor.compress(QUERY, DOCS, recall=0.9, max_docs=3).recall_met is True


def test_ties_go_to_the_earlier_document() -> None:
    result = Compressor(FakeScorer(), reranker=Fixed(0.5, 0.5, 0.5)).compress(
        QUERY, DOCS, budget=1000, max_docs=1
    )
    assert [d.source for d in result.documents] == [0]


@pytest.mark.parametrize("scores", [(0.1,), (0.1, float("nan"), 0.2)])
def test_a_reranker_that_fails_gives_the_documents_back(scores: tuple[float, ...]) -> None:
    result = Compressor(FakeScorer(), reranker=Fixed(*scores)).compress(QUERY, DOCS, budget=12, max_docs=2)
    assert result.status == "failed_open"
    assert "reranker" in (result.reason or "")
    assert not result.dropped


def test_something_else_is_no_reranker() -> None:
    with pytest.raises(InvalidInputError, match=r"rank\(\)"):
        Compressor(FakeScorer(), reranker="bge-reranker")


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as start:
        yield start


def by_length(texts: Sequence[str]) -> list[tuple[int, float]]:
    """Indices and scores, the best first, as servers sort them."""
    return sorted(((i, len(t) / 100) for i, t in enumerate(texts)), key=lambda pair: -pair[1])


def openai_style(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, {"results": [{"index": i, "relevance_score": s} for i, s in by_length(body["documents"])]}


def tei_style(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, [{"index": i, "score": s} for i, s in by_length(body["texts"])]


def test_an_endpoint_ranks_inside_a_compression(serve: Serve) -> None:
    server = serve(openai_style)
    reranker = RerankEndpoint(server.url, model="bge", api_key="secret")
    result = Compressor(FakeScorer(), reranker=reranker).compress(QUERY, DOCS, budget=1000, order="rerank")
    assert [d.source for d in result.documents] == [0, 3, 1]
    ((body, authorization),) = server.asked
    assert body["query"] == QUERY
    assert body["model"] == "bge"
    assert body["documents"][0] == "Lighthouse\nThe lighthouse was built in 1861. It is white."
    assert authorization == "Bearer secret"


def test_an_endpoint_of_tei(serve: Serve) -> None:
    server = serve(tei_style)
    found = RerankEndpoint(server.url, style="tei").rank(QUERY, [DOCS[0], DOCS[1]])
    assert found == [0.57, 0.44]
    assert server.asked[0][0] == {
        "query": QUERY,
        "texts": ["Lighthouse\nThe lighthouse was built in 1861. It is white.", DOCS[1].text],
        "truncate": True,  # else a document over the model's length refuses all of them
    }


def test_tei_takes_32_texts_at_once(serve: Serve) -> None:
    server = serve(tei_style)
    documents = [Document("x" * n) for n in range(1, 71)]
    found = RerankEndpoint(server.url, style="tei").rank(QUERY, documents)
    assert found == [n / 100 for n in range(1, 71)]
    assert [len(body["texts"]) for body, _ in server.asked] == [32, 32, 6]


def test_a_redirect_is_not_followed_and_no_key_leaves(serve: Serve) -> None:
    elsewhere = serve(openai_style)
    server = serve(lambda _: (302, {}))
    server.location = elsewhere.url
    with pytest.raises(TerselyError, match="HTTP 302"):
        RerankEndpoint(server.url, api_key="secret", retries=0).rank(QUERY, DOCS[:2])
    assert not elsewhere.asked


def test_a_busy_server_is_asked_again(serve: Serve) -> None:
    codes = iter([503, 429, 200])
    server = serve(lambda body: (next(codes), openai_style(body)[1]))
    assert len(RerankEndpoint(server.url, retries=2).rank(QUERY, DOCS[:2])) == 2
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("code", "value", "complaint"),
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
def test_nonsense_from_a_server_is_an_error(serve: Serve, code: int, value: object, complaint: str) -> None:
    server = serve(lambda _: (code, value))
    endpoint = RerankEndpoint(server.url, retries=0)
    with pytest.raises(TerselyError, match=complaint):
        endpoint.rank(QUERY, DOCS[:2])
    opened = Compressor(FakeScorer(), reranker=endpoint).compress(QUERY, DOCS, budget=12, order="rerank")
    assert opened.status == "failed_open"
    assert complaint in (opened.reason or "")


def test_an_answer_that_breaks_off_is_asked_for_again(serve: Serve) -> None:
    server = serve(openai_style)
    server.withheld = 7
    with pytest.raises(TerselyError, match="gave no answer"):
        RerankEndpoint(server.url, retries=1, timeout_s=5.0).rank(QUERY, DOCS[:2])
    assert len(server.asked) == 2


def test_a_slow_and_an_absent_server(serve: Serve) -> None:
    server = serve(lambda body: (time.sleep(1.0), openai_style(body))[1])
    with pytest.raises(TerselyError, match=r"(?i)timed? ?out"):
        RerankEndpoint(server.url, timeout_s=0.1, retries=0).rank(QUERY, DOCS[:2])
    with pytest.raises(TerselyError, match="gave no answer"):
        RerankEndpoint("http://127.0.0.1:9/rerank", retries=0).rank(QUERY, DOCS[:2])


def test_addresses_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("rerank", "file:///etc/passwd", "http:///x"):
        with pytest.raises(InvalidInputError, match="HTTP address"):
            RerankEndpoint(url)
    with pytest.raises(InvalidInputError, match="style"):
        RerankEndpoint("http://127.0.0.1/rerank", style="cohere")
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    RerankEndpoint("http://127.0.0.1:8080/rerank")
    with pytest.raises(OfflineError, match="TERSELY_OFFLINE"):
        RerankEndpoint("https://rerank.example/v1")
