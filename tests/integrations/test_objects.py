"""The objects of all adapters: they pickle, copy, describe themselves, and refuse what they do not know."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("langchain")
pytest.importorskip("llama_index.core")
pytest.importorskip("haystack")
import haystack
from langchain_core.documents import Document

from tersely import InvalidInputError
from tersely_haystack import TerselyCompactor, TerselyDocumentCompressor
from tersely_langchain import (
    TerselyCompressor,
    TerselyContextEdit,
    TerselyMemory,
    TerselyMiddleware,
    TerselyReranker,
    TerselySummary,
)
from tersely_llamaindex import TerselyMemoryBlock, TerselyPostprocessor
from tests.integrations.town import ANSWER, HARBOUR, MUSEUM, QUESTION

MAKERS: dict[str, Callable[..., Any]] = {
    "TerselyCompressor": TerselyCompressor,
    "TerselyReranker": TerselyReranker,
    "TerselyMiddleware": TerselyMiddleware,
    "TerselyMemory": lambda **options: TerselyMemory(**{"limit": 600, **options}),
    "TerselyContextEdit": TerselyContextEdit,
    "TerselySummary": TerselySummary,
    "TerselyDocumentCompressor": TerselyDocumentCompressor,
    "TerselyCompactor": TerselyCompactor,
    "TerselyPostprocessor": TerselyPostprocessor,
    "TerselyMemoryBlock": TerselyMemoryBlock,
}


@pytest.mark.parametrize("name", MAKERS.keys() - {"TerselyMemoryBlock"})
def test_an_adapter_can_be_pickled_and_copied(name: str) -> None:
    adapter = MAKERS[name]()
    for other in (pickle.loads(pickle.dumps(adapter)), copy.deepcopy(adapter), copy.copy(adapter)):
        assert type(other) is type(adapter)
        assert other is not adapter


@pytest.mark.parametrize("name", ["TerselyCompressor", "TerselyPostprocessor", "TerselyMemoryBlock"])
def test_a_model_of_pydantic_has_a_schema_of_what_it_dumps(name: str) -> None:
    adapter = MAKERS[name]()
    schema = type(adapter).model_json_schema()
    inherited = {"class_name", "callback_manager"}
    assert set(schema["properties"]) - inherited == set(adapter.model_dump()) - inherited


@pytest.mark.parametrize("name", MAKERS)
def test_an_unknown_keyword_is_refused(name: str) -> None:
    with pytest.raises((TypeError, ValueError, InvalidInputError), match="budgt"):
        MAKERS[name](budgt=5)


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("TerselyMemoryBlock", {"budget": 0}, "budget"),
    ("TerselyMemoryBlock", {"limit": 3}, "limit"),
    ("TerselySummary", {"budget": 0}, "budget is 0"),
    ("TerselyMemory", {"model": "gpt"}, "Pass a chat model of LangChain"),
    ("TerselyMemory", {"pins": {"plan": 3}}, "A pin is no text"),
    ("TerselyContextEdit", {"keep": -1}, "keep is -1"),
    ("TerselyDocumentCompressor", {"threads": 0}, "threads is 0"),
]


@pytest.mark.parametrize(("name", "options", "words"), BAD)
def test_a_bad_option_is_refused_when_the_adapter_is_made(
    name: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises((ValueError, InvalidInputError), match=words):
        MAKERS[name](**options)


def test_a_generator_is_read_once() -> None:
    documents: Any = (Document(page_content=text) for text in (HARBOUR, MUSEUM))
    (kept,) = TerselyCompressor(budget=8).compress_documents(documents, QUESTION)
    assert kept.page_content == ANSWER
    pairs: Any = ((QUESTION, text) for text in (HARBOUR, MUSEUM))
    assert len(TerselyReranker().score(pairs)) == 2
    others: Any = (haystack.Document(content=text) for text in (HARBOUR, MUSEUM))
    (found,) = TerselyDocumentCompressor(budget=8).run(query=QUESTION, documents=others)["documents"]
    assert found.content == ANSWER
