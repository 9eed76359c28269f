"""Queries and documents that callers may pass, and the errors for anything else."""

from __future__ import annotations

from typing import Any

import pytest

from tersely import Compressor, Document, InvalidInputError
from tersely.inputs import read_documents
from tests.sdk.counters import count_words
from tests.sdk.fakes import FakeScorer


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
