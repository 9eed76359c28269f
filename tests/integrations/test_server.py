"""The endpoints of the server return what the SDK returns."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx2

from tersely import Compressor, Document
from tersely.rerank import RerankEndpoint
from tersely.score import DocumentScores, ScoredInput
from tersely_agents.summaries import Summarizer
from tersely_server import ServerSettings, build_app
from tersely_server.schemas import CompressReply
from tests.integrations.samples import (
    ANSWER,
    EXAMPLES,
    HARBOUR,
    MUSEUM,
    QUESTION,
    RecordingCompressor,
    all_options,
    make_chat,
    make_failing_compressor,
)
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app

BODY = {"query": QUESTION, "documents": [HARBOUR, {"text": MUSEUM, "title": "Museum", "page": 3}]}


@pytest.fixture(scope="module")
def client(bundled: Compressor) -> Iterator[httpx2.Client]:
    """Yield a client of a server with the bundled model."""
    with serve_app(build_app(bundled)) as url, httpx2.Client(base_url=url, timeout=60) as client:
        yield client


def without_timings(reply: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in json.loads(json.dumps(reply)).items() if key != "timings"}


def test_a_compression_is_that_of_the_sdk(client: httpx2.Client, bundled: Compressor) -> None:
    reply = client.post("/v1/compress", json={**BODY, "budget": 12})
    expected = bundled.compress(QUESTION, BODY["documents"], budget=12).to_dict()
    assert reply.status_code == 200
    assert without_timings(reply.json()) == without_timings(expected)
    assert reply.json()["documents"][0]["metadata"] == {"page": 3}
    assert set(reply.json()) == set(CompressReply.model_fields), "the documented fields"


def test_every_option_reaches_the_compressor() -> None:
    compressor = RecordingCompressor()
    with serve_app(build_app(compressor)) as url:
        for name, value in EXAMPLES.items():
            assert httpx2.post(f"{url}/v1/compress", json={**BODY, name: value}).status_code == 200
    assert compressor.received == [all_options(**{name: value}) for name, value in EXAMPLES.items()]


def test_a_batch_gives_each_result_with_its_place(client: httpx2.Client, bundled: Compressor) -> None:
    requests = [{**BODY, "id": "a"}, {"query": " ", "documents": ["x"]}, {**BODY, "documents": []}]
    reply = client.post("/v1/compress/batch", json={"requests": requests, "rate": 0.5})
    lines = sorted(map(json.loads, reply.text.splitlines()), key=lambda line: line["index"])
    assert reply.headers["content-type"] == "application/x-ndjson"
    assert [line.get("id") for line in lines] == ["a", None, None]
    assert lines[0]["text"] == bundled.compress(QUESTION, BODY["documents"], rate=0.5).text
    assert lines[1]["error"]["type"] == "invalid_input"
    assert lines[2]["status"] == "bypassed"


@pytest.mark.parametrize("query", [{}, {"query": None}])
def test_without_a_query_a_limit_is_needed(
    client: httpx2.Client, bundled: Compressor, query: dict[str, None]
) -> None:
    body = {"documents": BODY["documents"], **query}
    expected = bundled.compress(None, BODY["documents"], budget=12).to_dict()
    reply = client.post("/v1/compress", json={**body, "budget": 12})
    assert without_timings(reply.json()) == without_timings(expected)
    line = client.post("/v1/compress/batch", json={"requests": [body], "budget": 12}).json()
    assert line["text"] == expected["text"]
    refused = client.post("/v1/compress", json=body)
    assert refused.status_code == 422
    assert "Pass budget, rate or level" in refused.json()["error"]["message"]
    for path in ("/v1/summarize", "/rerank"):
        assert client.post(path, json=body).status_code == 422


class WaitingScorer(FakeScorer):
    """A scorer that waits before it scores a document that says so."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        assert "Wait" not in documents[0].text or self.go_on.wait(20)
        return super().score(query, documents)


def test_results_of_a_batch_come_as_soon_as_they_are_there() -> None:
    scorer = WaitingScorer()
    requests = [{"query": "q", "documents": [text]} for text in ("Wait. Now.", "Go. Now.")]
    app = build_app(Compressor(scorer), ServerSettings(slots=2))
    with (
        serve_app(app) as url,
        httpx2.stream("POST", f"{url}/v1/compress/batch", json={"requests": requests}, timeout=20) as reply,
    ):
        lines = reply.iter_lines()
        assert json.loads(next(lines))["index"] == 1
        scorer.go_on.set()
        assert json.loads(next(lines))["index"] == 0


def test_messages_are_compressed_as_by_the_sdk(client: httpx2.Client, bundled: Compressor) -> None:
    messages = make_chat(f"{MUSEUM} {HARBOUR}", QUESTION)
    reply = client.post("/v1/messages/compress", json={"messages": messages, "rate": 0.7}).json()
    expected = bundled.compress_messages(messages, rate=0.7)
    assert reply["messages"] == expected.messages != messages
    assert reply["tokens_after"] == expected.tokens_after
    assert reply["results"] == [2]
    assert reply["receipt"]["status"] == "compressed"


def test_texts_are_ranked_and_pruned(client: httpx2.Client, bundled: Compressor) -> None:
    long = f"{MUSEUM} Bananas are yellow. My uncle sells shoes."
    body = {"query": QUESTION, "texts": [HARBOUR, long], "return_text": True, "truncate": True}
    first, second = client.post("/rerank", json=body).json()
    assert (first["index"], first["text"], second["index"]) == (1, long, 0)
    assert ANSWER in first["pruned_text"]
    pruned = {d.source: d.text for d in bundled.compress(QUESTION, [HARBOUR, long]).documents}
    assert [first["pruned_text"], second["pruned_text"]] == [pruned[1], pruned.get(0, "")]
    assert 0 <= second["score"] < first["score"] <= 1
    raw = client.post("/rerank", json={**body, "raw_scores": True, "return_text": False}).json()
    assert [row["index"] for row in raw] == [1, 0]
    assert raw[1]["score"] < 0
    assert "text" not in raw[0]


def test_the_sdk_can_use_the_server_as_a_reranker(client: httpx2.Client, bundled: Compressor) -> None:
    endpoint = RerankEndpoint(f"{str(client.base_url).rstrip('/')}/rerank", style="tei")
    ranked = endpoint.rank(QUESTION, [Document(HARBOUR), Document(MUSEUM)])
    assert ranked == list(bundled.compress(QUESTION, [HARBOUR, MUSEUM]).relevance)


def test_no_ranking_is_made_up_if_the_model_fails() -> None:
    with serve_app(build_app(make_failing_compressor())) as url:
        reply = httpx2.post(f"{url}/rerank", json={"query": QUESTION, "texts": [MUSEUM]})
    assert reply.status_code == 503
    assert "no memory" in reply.json()["error"]["message"]


def test_a_summary_is_that_of_the_sdk(client: httpx2.Client, bundled: Compressor) -> None:
    documents = [MUSEUM, HARBOUR]
    reply = client.post("/v1/summarize", json={"query": QUESTION, "documents": documents, "budget": 9})
    expected = Summarizer(compressor=bundled).summarize(QUESTION, documents, budget=9).to_dict()
    assert without_timings(reply.json()) == without_timings(expected)
    assert reply.json()["text"] == ANSWER


def test_health_and_metrics_say_what_was_done(bundled: Compressor) -> None:
    with serve_app(build_app(bundled)) as url:
        assert httpx2.get(f"{url}/health").json()["model"] == bundled.model
        reply = httpx2.post(f"{url}/v1/compress", json={**BODY, "budget": 12}).json()
        httpx2.get(f"{url}/such/a/page")
        lines = httpx2.get(f"{url}/metrics").text.splitlines()
    numbers = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert float(numbers["tersely_tokens_in_total"]) == reply["tokens_before"]
    assert float(numbers["tersely_tokens_out_total"]) == reply["tokens_after"]
    assert float(numbers['tersely_compressions_total{status="compressed"}']) == 1
    assert float(numbers["tersely_model_seconds_total"]) == pytest.approx(reply["timings"]["score"])
    assert float(numbers['tersely_http_requests_total{code="200",path="/v1/compress"}']) == 1
    assert float(numbers['tersely_http_requests_total{code="404",path="other"}']) == 1
    assert float(numbers["tersely_admitted_requests"]) == 0


def test_the_page_of_the_interface_loads_nothing_from_outside(client: httpx2.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    documented = {"/v1/compress", "/v1/compress/batch", "/v1/messages/compress", "/rerank", "/v1/summarize"}
    assert documented < set(paths)
    sources = re.findall(r'(?:src|href)="([^"]+)"', client.get("/docs").text)
    assert len(sources) >= 3
    assert [source for source in sources if not source.startswith("/")] == []
    assert all(client.get(source).status_code == 200 for source in sources)


def test_a_fault_of_the_server_has_an_answer_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("tersely_server.endpoints.Gateway.shorten", fail)
    with serve_app(build_app(Compressor(FakeScorer()))) as url:
        reply = httpx2.post(f"{url}/v1/compress", json={"messages": []})
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert "log" in reply.json()["error"]["message"]
