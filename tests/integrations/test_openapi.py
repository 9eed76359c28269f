"""The schema that the server publishes accepts the same requests as the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx2

from tersely import Compressor
from tersely_server import build_app
from tests.servers import serve_app

QUESTION: dict[str, Any] = {"query": "q", "documents": ["One. Two."]}
NO_QUESTION: dict[str, Any] = {"documents": ["One. Two."]}


NOUL = {"type": "noul", "instructions": "q"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve_app(build_app(Compressor(threads=1))) as address:  # the fakes have no calibration
        yield address


@pytest.mark.parametrize(
    ("path", "body", "is_valid"),
    [
        ("/v1/compress", QUESTION, True),
        ("/v1/compress", {**QUESTION, "budget": 5.0, "level": 2.0}, True),
        ("/v1/compress", {**NO_QUESTION, "query": None, "budget": 5}, True),
        ("/v1/compress", {**NO_QUESTION, "level": 1}, True),
        ("/v1/compress", {"messages": [{"role": "tool", "content": "x"}], "odd": 1}, True),
        ("/v1/compress", {"messages": [], "config": {"frozen_message_count": -1}}, False),
        ("/v1/compress", {"messages": [], "config": {"frozen_message_count": False}}, False),
        ("/v1/compress", {"messages": [], "config": {"frozen_message_count": 2.0}}, True),
        ("/v1/compress", NO_QUESTION, False),
        ("/v1/compress", {**NO_QUESTION, "budget": 5, "recall": 0.9}, False),
        ("/v1/compress", {**QUESTION, "query": " "}, False),
        ("/v1/compress", {**QUESTION, "query": ""}, False),
        ("/v1/compress", {**QUESTION, "budget": 5, "rate": 0.5}, False),
        ("/v1/compress", {**QUESTION, "budget": None, "rate": 0.5}, True),
        *(
            ("/v1/compress", {**QUESTION, name: value}, False)
            for name, value in (
                ("budget", 0),
                ("budget", 2.5),
                ("rate", 0),
                ("rate", 1.1),
                ("recall", 1),
                ("max_docs", 0),
                ("min_tokens", 0),
                ("level", 6),
                ("timeout", 0),
                ("timeout", 1e17),
                ("order", "best"),
                ("odd", 1),
            )
        ),
        ("/v1/compress/batch", {"requests": [QUESTION], "budget": 5, "rate": 0.5}, False),
        ("/v1/compress/batch", {"requests": [QUESTION, {**QUESTION, "query": " "}], "budget": 5}, True),
        ("/v1/messages/compress", {"messages": [], "query": "q", "budget": 0}, False),
        ("/v1/messages/compress", {"messages": [], "query": " "}, False),
        ("/v1/messages/compress", {"messages": [{"content": "x"}], "query": "q"}, False),
        ("/v1/messages/compress", {"messages": [{"role": "bot", "content": "x"}], "query": "q"}, False),
        ("/v1/messages/compress", {"messages": [{"role": "user", "content": "x"}], "query": "q"}, True),
        ("/v1/summarize", {**QUESTION, "budget": 0}, False),
        ("/v1/summarize", {**QUESTION, "query": " "}, False),
        ("/rerank", {"query": " ", "texts": ["x"]}, False),
        ("/rerank", {"query": "q", "texts": ["x"]}, True),
        ("/v1/systemone", {"state": [1], "questions": {"a": NOUL}}, True),
        ("/v1/systemone", {"state": {}, "questions": {"a": {**NOUL, "instructions": " "}}}, False),
    ],
)
def test_the_schema_and_the_server_agree(url: str, path: str, body: dict[str, Any], is_valid: bool) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    api = httpx2.get(f"{url}/openapi.json").json()
    schema = api["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator({**schema, "components": api["components"]})
    reply = httpx2.post(f"{url}{path}", json=body, timeout=60)
    assert validator.is_valid(body) is is_valid
    assert reply.status_code == (200 if is_valid else 422), reply.text


# Another thread of the process may draw a random number while schemathesis makes a request.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.slow
def test_what_schemathesis_makes_of_the_schema_is_accepted(url: str) -> None:
    """Chats are left out: JSON Schema cannot say that a tool result follows its call."""
    hypothesis = pytest.importorskip("hypothesis")
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    settings = hypothesis.settings(
        max_examples=20,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )

    def check(case: Any) -> None:
        case.call_and_validate(timeout=60)

    for operation in (result.ok() for result in schema.get_all_operations()):
        if operation.path != "/v1/messages/compress":
            valid = operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)
            settings(hypothesis.given(case=valid)(check))()
