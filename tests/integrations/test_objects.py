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
from langchain_core.messages import HumanMessage

from tersely import InvalidInputError
from tersely_haystack import TerselyCompactor, TerselyDocumentCompressor
from tersely_haystack import open_original as haystack_tool
from tersely_langchain import (
    TerselyCompressor,
    TerselyContextEdit,
    TerselyMemory,
    TerselyMiddleware,
    TerselyPreparer,
    TerselyReranker,
    TerselySummary,
)
from tersely_langchain import open_original as langchain_tool
from tersely_llamaindex import TerselyMemoryBlock, TerselyPostprocessor
from tersely_llamaindex import TerselyPreparer as LlamaIndexPreparer
from tests.integrations.town import ANSWER, HARBOUR, MUSEUM, QUESTION

MAKERS: dict[str, Callable[..., Any]] = {
    "TerselyCompressor": TerselyCompressor,
    "TerselyPreparer": TerselyPreparer,
    "TerselyPreparer of LlamaIndex": LlamaIndexPreparer,
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


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_an_adapter_can_be_pickled_and_copied(name: str) -> None:
    adapter = MAKERS[name]()
    for other in (pickle.loads(pickle.dumps(adapter)), copy.deepcopy(adapter), copy.copy(adapter)):
        assert type(other) is type(adapter)
        assert other is not adapter


def test_copies_do_what_the_originals_do() -> None:
    documents = [Document(page_content=text) for text in (HARBOUR, MUSEUM)]
    pairs = [(QUESTION, text) for text in (HARBOUR, MUSEUM)]
    for duplicate in (copy.deepcopy, lambda adapter: pickle.loads(pickle.dumps(adapter))):
        (kept,) = duplicate(TerselyCompressor(budget=8)).compress_documents(documents, QUESTION)
        assert kept.page_content == ANSWER
        ranked = duplicate(TerselyReranker()).score(pairs)
        assert ranked == TerselyReranker().score(pairs)
        assert ANSWER in duplicate(TerselySummary(budget=30))([HumanMessage(MUSEUM), HumanMessage(QUESTION)])


@pytest.mark.parametrize("tool", [langchain_tool, haystack_tool], ids=["langchain", "haystack"])
def test_the_tool_that_opens_originals_can_be_pickled_copied_and_described(tool: Any) -> None:
    for other in (pickle.loads(pickle.dumps(tool)), copy.deepcopy(tool)):
        assert (other.name, other.description) == (tool.name, tool.description)
    schema = tool.parameters if tool is haystack_tool else tool.tool_call_schema.model_json_schema()
    assert set(schema["properties"]) == {"id", "part"}
    assert schema["required"] == ["id"]


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
    ("TerselyMemoryBlock", {"budget": True}, "budget"),
    ("TerselyMemoryBlock", {"store": "chat.db"}, "store"),
    ("TerselyMemoryBlock", {"experience": "lessons.db"}, "experience"),
    ("TerselyReranker", {"reranker": "minilm"}, r"reranker is a str\. Pass an object with rank"),
    ("TerselySummary", {"budget": 0}, "budget is 0"),
    ("TerselySummary", {"summarizer": "gpt"}, r"summarizer is a str\. Pass a Summarizer"),
    ("TerselyMemory", {"model": "gpt"}, "Pass a chat model of LangChain"),
    ("TerselyMemory", {"pins": {"plan": 3}}, "A pin or its name is no text"),
    ("TerselyMemory", {"pins": {3: "plan"}}, "A pin or its name is no text"),
    ("TerselyMemory", {"pins": ["plan"]}, r"pins is list\. Pass texts, by name"),
    ("TerselyMemory", {"pins": {"plan": "word " * 600}}, "limit"),
    ("TerselyMemory", {"limit": 100}, "limit is 100"),
    ("TerselyContextEdit", {"keep": -1}, "keep is -1"),
    ("TerselyContextEdit", {"tools": {3: 50}}, "a name that is no text"),
    ("TerselyDocumentCompressor", {"threads": 0}, "threads is 0"),
    ("TerselyDocumentCompressor", {"title_key": 3}, "title_key is an int"),
    ("TerselyDocumentCompressor", {"model": 3}, "model is an int"),
    ("TerselyCompactor", {"model": 3}, "model is an int"),
    ("TerselyCompressor", {"title_key": 3}, "title_key"),
    ("TerselyPostprocessor", {"title_key": 3}, "title_key"),
]
TAKE_COMPRESSORS = [
    "TerselyCompressor",
    "TerselyContextEdit",
    "TerselyMemory",
    "TerselyMemoryBlock",
    "TerselyMiddleware",
    "TerselyPostprocessor",
]
BAD += [(name, {"compressor": "tersely-mini"}, "compressor") for name in TAKE_COMPRESSORS]


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
