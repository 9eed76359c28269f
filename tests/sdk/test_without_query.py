"""Compression without a query: the guarantees hold, nothing is repeated, and failures come first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tersely import Compressor, Document, InvalidInputError
from tersely.messages import join_query
from tersely_agents.memory import AgentMemory
from tests.sdk import checks
from tests.sdk.conversations import call, result
from tests.sdk.fakes import BrokenScorer
from tests.sdk.test_guarantees import compressors, documents, limits
from tests.sdk.test_tool_results import make_log

NO_MODEL = Compressor(BrokenScorer(RuntimeError("the model was asked")))
NOTE = (
    "The harbour of Port Maren was dug in 1871. There it is. The crane of Lysö lifts 40 tonnes. "
    "The harbour of Port Maren was dug in 1871. So they say."
)


@given(compressors, documents, limits.filter(bool))
def test_the_guarantees_hold_within_a_limit(
    compressor: Compressor, docs: list[Document], limit: dict[str, Any]
) -> None:
    result = compressor.compress(None, docs, **limit)
    checks.check_all(result, docs, compressor.count_tokens, **limit)
    assert compressor.compress(None, docs, **limit) == result
    if result.status == "compressed":
        assert {span.reason for span in result.kept} <= {"coverage", "truncated"}
        assert {span.reason for span in result.dropped} <= {"budget", "duplicate", "truncated"}


@pytest.mark.parametrize("options", [{"level": 1}, {"level": 3, "budget": 40}, {"max_docs": 1, "rate": 0.5}])
def test_levels_and_max_docs_hold(options: dict[str, Any]) -> None:
    docs = [Document(NOTE), Document("The tide is low. A red lamp burns at night. " * 20)]
    result = NO_MODEL.compress(None, docs, **options)
    checks.check_cover(result, docs)
    checks.check_pieces(result, docs)
    checks.check_documents(result, docs, options.get("max_docs"))
    assert result.documents
    if options.get("level") == 1:
        assert all(len(document.text) <= 500 for document in result.documents)


def test_names_and_numbers_come_first_without_a_model() -> None:
    result = NO_MODEL.compress(None, [NOTE], budget=25)
    assert result.text == "The harbour of Port Maren was dug in 1871. The crane of Lysö lifts 40 tonnes."
    assert (result.status, result.model) == ("compressed", "coverage")
    assert [span.reason for span in result.kept] == ["coverage", "coverage"]
    assert [span.reason for span in result.dropped] == ["budget", "duplicate", "budget"]
    assert result.relevance == (1.0,)


def test_every_document_that_says_something_else_is_heard() -> None:
    docs = [f"{name} opened in {year}. {name} is a town." for name, year in (("Maren", 1871), ("Lysö", 1904))]
    docs.insert(1, docs[0])
    result = NO_MODEL.compress(None, docs, budget=16)
    assert [document.source for document in result.documents] == [0, 2]


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({}, "Pass budget, rate or level"),
        ({"recall": 0.9, "rate": 0.5}, "leave recall out"),
        ({"level": "auto"}, "1 to 5"),
    ],
)
def test_options_that_need_a_query_are_refused(options: dict[str, Any], remedy: str) -> None:
    with pytest.raises(InvalidInputError, match=remedy):
        NO_MODEL.compress(None, [NOTE], **options)


def test_a_batch_may_mix_requests_with_and_without_a_query() -> None:
    compressor = Compressor()
    requests = [(None, [NOTE]), ("When was the harbour dug?", [NOTE])]
    assert compressor.compress_batch(requests, budget=25) == [
        compressor.compress(query, docs, budget=25) for query, docs in requests
    ]


def test_error_among_thousands_of_lines_keeps_its_trace() -> None:
    text, trace = make_log()
    result = NO_MODEL.compress(None, [text], rate=0.01)
    assert trace in result.text
    assert "like the one above)" in result.text


def test_a_failed_record_is_kept_and_the_rest_counted() -> None:
    rows = [{"id": n, "name": f"lighthouse {n}", "state": "failed" if n == 23 else "lit"} for n in range(300)]
    result = NO_MODEL.compress(None, [json.dumps({"results": rows})], rate=0.03)
    kept = json.loads(result.text)["results"]
    assert rows[23] in kept
    assert any(isinstance(row, str) and row.startswith("[… ") for row in kept)


MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You watch a harbour."},
    call(0, arguments="{}"),
    result(0, NOTE * 5),
]


def test_messages_without_a_user_are_compressed_within_a_limit() -> None:
    compressed = NO_MODEL.compress_messages(MESSAGES, budget=90)
    assert compressed.tokens_after <= 90
    assert "was dug in 1871" in compressed.messages[2]["content"]
    with pytest.raises(InvalidInputError, match="Pass query, budget or rate"):
        NO_MODEL.compress_messages(MESSAGES)


def test_a_memory_that_knows_no_request_keeps_what_tells_most() -> None:
    silent = [{"role": "system", "content": " "}]
    memory = AgentMemory(silent, limit=1000, compress_over=60, compressor=NO_MODEL)
    memory.append(call(0, arguments="{}"), result(0, NOTE + " Somewhere there is something." * 40))
    text = memory.transcript.messages[-1]["content"]
    assert text.startswith("[shortened from ")
    assert "The crane of Lysö lifts 40 tonnes." in text


@pytest.mark.parametrize(
    ("arguments", "request_", "query"),
    [
        ("{}", None, None),
        ({}, " ", None),
        (None, "Which key?", "Which key?"),
        ({"page": 3}, "Which key?", "{'page': 3} Which key?"),
        ('{"page": 3}', None, '{"page": 3}'),
    ],
)
def test_query_of_a_result_is_its_arguments_and_the_request(
    arguments: object, request_: str | None, query: str | None
) -> None:
    assert join_query(arguments, request_) == query
