"""Decision models in both directions: the server answers like one, and one ranks documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("jsonschema")

import httpx2
import jsonschema
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from tersely import Compressor, Document, TerselyError
from tersely.rerank import DecisionEndpoint
from tersely_server import ServerSettings, build_app
from tests.integrations.samples import HARBOUR, MUSEUM, QUESTION, make_failing_compressor
from tests.servers import serve_app


@pytest.fixture(scope="module")
def url(bundled: Compressor) -> Iterator[str]:
    with serve_app(build_app(bundled, ServerSettings(key="k-1"))) as address:
        yield address


def ask(url: str, state: Any, **questions: Any) -> dict[str, Any]:
    reply = httpx2.post(
        f"{url}/v1/systemone",
        json={"state": state, "questions": questions, "model": "any"},
        headers={"Authorization": "Bearer k-1"},
        timeout=60,
    )
    assert reply.status_code == 200, reply.text
    return reply.json()


def noul(instructions: str = QUESTION) -> dict[str, Any]:
    return {"type": "noul", "instructions": instructions}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text,
        lambda text: [text],
        lambda text: {"page": text},
        lambda text: {"question": QUESTION, "passage": text},
        lambda text: {"query": QUESTION, "passages": [text]},
    ],
)
def test_a_text_that_answers_is_likelier(url: str, wrap: Any) -> None:
    state = wrap(MUSEUM)
    asked = "Does it help?" if isinstance(state, dict) and {"question", "query"} & set(state) else QUESTION
    answers, without = (ask(url, wrap(text), it=noul(asked))["answers"]["it"] for text in (MUSEUM, HARBOUR))
    assert answers["type"] == "noul"
    assert 0 <= without["noul"] < 0.5 < answers["noul"] <= 1


def test_the_passage_that_answers_is_chosen(url: str) -> None:
    options = {"harbour": HARBOUR, "museum": MUSEUM, "nothing": None}
    question = {"type": "choice", "instructions": "Which passage helps?", "criteria": options}
    reply = ask(url, QUESTION, which=question, other=noul())
    answer = reply["answers"]["which"]
    assert answer["choice"] == "museum"
    assert set(answer["probabilities"]) == set(options)
    assert sum(answer["probabilities"].values()) == pytest.approx(1)
    assert 0 <= answer["confidence"] <= 1
    assert set(reply["answers"]) == {"which", "other"}
    assert reply["usage"]["input_tokens"] > 0


def test_the_reply_has_the_shape_of_its_schema(url: str) -> None:
    options = {"type": "choice", "instructions": "Which?", "criteria": {"a": MUSEUM, "b": {"text": HARBOUR}}}
    reply = ask(url, [], a=noul(), b=options)
    api = httpx2.get(f"{url}/openapi.json").json()
    schema = api["paths"]["/v1/systemone"]["post"]["responses"]["200"]["content"]["application/json"][
        "schema"
    ]
    jsonschema.Draft202012Validator({**schema, "components": api["components"]}).validate(reply)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"state": "x", "questions": {"a": {"type": "score", "criteria": ["bad", "good"]}}}, "noul"),
        ({"state": "x", "questions": {}}, "questions"),
        ({"state": "x", "questions": {"a": noul(" ")}}, "text"),
        ({"state": 5, "questions": {"a": noul()}}, "state"),
    ],
)
def test_what_the_selector_cannot_decide_is_refused(url: str, body: Any, words: str) -> None:
    reply = httpx2.post(f"{url}/v1/systemone", json=body, headers={"Authorization": "Bearer k-1"})
    assert reply.status_code == 422
    assert words in reply.json()["error"]["message"]


def test_a_failing_model_gives_no_probability() -> None:
    with serve_app(build_app(make_failing_compressor())) as address:
        body = {"state": MUSEUM, "questions": {"a": noul()}}
        assert httpx2.post(f"{address}/v1/systemone", json=body).status_code == 503


def test_a_decision_model_ranks_documents(url: str) -> None:
    reranker = DecisionEndpoint(f"{url}/v1/systemone", api_key="k-1")
    documents = [Document(HARBOUR), Document(MUSEUM, "Museum"), Document("It rains.")]
    scores = reranker.rank(QUESTION, documents)
    assert max(range(3), key=scores.__getitem__) == 1
    assert all(0 <= score <= 1 for score in scores)
    result = Compressor(reranker=reranker).compress(QUESTION, documents, max_docs=1)
    assert [document.source for document in result.documents] == [1]


@pytest.mark.parametrize("noul_value", ["no", None, 1.5, float("nan")])
def test_an_answer_without_a_probability_is_an_error(noul_value: Any) -> None:
    reply = Response(json.dumps({"answers": {"answers": {"type": "noul", "noul": noul_value}}}))
    app = Starlette(routes=[Route("/v1/systemone", lambda _: reply, methods=["POST"])])
    with serve_app(app) as address, pytest.raises(TerselyError, match="gave no probability"):
        DecisionEndpoint(f"{address}/v1/systemone").rank(QUESTION, [Document(MUSEUM)])
