"""One interface to the adapters that compress retrieved documents, for the tests that they share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from tersely import Compressor


class Passage(NamedTuple):
    """A framework's document."""

    id: str
    text: str
    metadata: Mapping[str, Any]


class Haystack:
    def __init__(self) -> None:
        self.document = pytest.importorskip("haystack").Document
        self.kind = pytest.importorskip("tersely_haystack").TerselyDocumentCompressor

    def make(self, compressor: Compressor | None = None, **options: Any) -> Any:
        adapter = self.kind(**options)
        adapter._compressor = compressor
        return adapter

    def wrap(self, passage: Passage) -> Any:
        return self.document(id=passage.id, content=passage.text, meta=dict(passage.metadata))

    def read(self, document: Any) -> Passage:
        return Passage(document.id, document.content, document.meta)

    def run(self, adapter: Any, documents: Any, query: str | None) -> list[Any]:
        return adapter.run(documents, query)["documents"]

    def run_async(self, adapter: Any, documents: Any, query: str | None) -> list[Any]:
        return asyncio.run(adapter.run_async(documents, query))["documents"]


class LangChain:
    def __init__(self) -> None:
        pytest.importorskip("langchain")
        self.document = pytest.importorskip("langchain_core.documents").Document
        self.kind = pytest.importorskip("tersely_langchain").TerselyCompressor

    def make(self, compressor: Compressor | None = None, **options: Any) -> Any:
        return self.kind(**options, **({} if compressor is None else {"compressor": compressor}))

    def wrap(self, passage: Passage) -> Any:
        return self.document(id=passage.id, page_content=passage.text, metadata=dict(passage.metadata))

    def read(self, document: Any) -> Passage:
        return Passage(document.id, document.page_content, document.metadata)

    def run(self, adapter: Any, documents: Any, query: str | None) -> list[Any]:
        return adapter.compress_documents(documents, query)

    def run_async(self, adapter: Any, documents: Any, query: str | None) -> list[Any]:
        return asyncio.run(adapter.acompress_documents(documents, query))


class LlamaIndex:
    def __init__(self) -> None:
        self.schema = pytest.importorskip("llama_index.core").schema
        self.kind = pytest.importorskip("tersely_llamaindex").TerselyPostprocessor

    make = LangChain.make

    def wrap(self, passage: Passage) -> Any:
        node = self.schema.TextNode(id_=passage.id, text=passage.text, metadata=dict(passage.metadata))
        return self.schema.NodeWithScore(node=node, score=0.5)

    def read(self, document: Any) -> Passage:
        return Passage(document.node.node_id, document.node.text, document.node.metadata)

    def run(self, adapter: Any, documents: Any, query: str | None) -> list[Any]:
        return adapter._postprocess_nodes(documents, self._bundle(query))

    def run_async(self, adapter: Any, documents: Any, query: str | None) -> list[Any]:
        return asyncio.run(adapter._apostprocess_nodes(documents, self._bundle(query)))

    def _bundle(self, query: str | None) -> Any:
        return None if query is None else self.schema.QueryBundle(query)


Framework = Haystack | LangChain | LlamaIndex
FRAMEWORKS: dict[str, type[Framework]] = {
    "haystack": Haystack,
    "langchain": LangChain,
    "llamaindex": LlamaIndex,
}
