"""The objects of all adapters can be pickled and copied, and describe themselves."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.integrations.samples import ANSWER, HARBOUR, MUSEUM, QUESTION

ADAPTERS: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "tersely_haystack": ("haystack", {"TerselyDocumentCompressor": {"budget": 8}, "TerselyCompactor": {}}),
    "tersely_langchain": (
        "langchain",
        {
            "TerselyCompressor": {"budget": 8},
            "TerselyPreparer": {},
            "TerselyReranker": {},
            "TerselyMiddleware": {},
            "TerselyMemory": {"limit": 600},
            "TerselyContextEdit": {},
            "TerselySummary": {"budget": 30},
        },
    ),
    "tersely_llamaindex": (
        "llama_index.core",
        {"TerselyPostprocessor": {"budget": 8}, "TerselyPreparer": {}, "TerselyMemoryBlock": {}},
    ),
}
KINDS = [(package, kind) for package, (_, kinds) in ADAPTERS.items() for kind in kinds]


def find(package: str, name: str) -> Any:
    pytest.importorskip(ADAPTERS[package][0])
    return getattr(importlib.import_module(package), name)


def make(package: str, kind: str) -> Any:
    return find(package, kind)(**ADAPTERS[package][1][kind])


def copy_by_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize(("package", "kind"), KINDS)
def test_an_adapter_can_be_pickled_and_copied(package: str, kind: str) -> None:
    adapter = make(package, kind)
    for other in (copy_by_pickle(adapter), copy.deepcopy(adapter), copy.copy(adapter)):
        assert type(other) is type(adapter)
        assert other is not adapter


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy_by_pickle])
def test_copies_do_what_the_originals_do(duplicate: Callable[[Any], Any]) -> None:
    package = "tersely_langchain"
    compressor = duplicate(make(package, "TerselyCompressor"))
    from langchain_core.documents import Document
    from langchain_core.messages import HumanMessage

    documents = [Document(page_content=text) for text in (HARBOUR, MUSEUM)]
    (kept,) = compressor.compress_documents(documents, QUESTION)
    assert kept.page_content == ANSWER
    reranker, pairs = make(package, "TerselyReranker"), [(QUESTION, text) for text in (HARBOUR, MUSEUM)]
    assert duplicate(reranker).score(pairs) == reranker.score(pairs)
    summary = duplicate(make(package, "TerselySummary"))
    assert ANSWER in summary([HumanMessage(MUSEUM), HumanMessage(QUESTION)])


@pytest.mark.parametrize("package", ["tersely_haystack", "tersely_langchain"])
def test_the_tool_open_original_can_be_copied_and_described(package: str) -> None:
    tool = find(package, "open_original")
    for other in (copy_by_pickle(tool), copy.deepcopy(tool)):
        assert (other.name, other.description) == (tool.name, tool.description)
    is_langchain = package == "tersely_langchain"
    schema = tool.tool_call_schema.model_json_schema() if is_langchain else tool.parameters
    assert set(schema["properties"]) == {"id", "part"}
    assert schema["required"] == ["id"]


@pytest.mark.parametrize(
    ("package", "kind"),
    [
        ("tersely_langchain", "TerselyCompressor"),
        ("tersely_llamaindex", "TerselyPostprocessor"),
        ("tersely_llamaindex", "TerselyMemoryBlock"),
    ],
)
def test_a_pydantic_schema_describes_the_dump(package: str, kind: str) -> None:
    adapter = make(package, kind)
    schema = type(adapter).model_json_schema()
    inherited = {"class_name", "callback_manager"}
    assert set(schema["properties"]) - inherited == set(adapter.model_dump()) - inherited


@pytest.mark.parametrize(("package", "kind"), KINDS)
def test_an_unknown_keyword_is_refused(package: str, kind: str) -> None:
    with pytest.raises((TypeError, ValueError), match="budgt"):
        find(package, kind)(budgt=5)
