"""Those who watch LangChain or LlamaIndex hear of every compression, without its texts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index_instrumentation import get_dispatcher
from pydantic import Field

import tersely
from tersely import Compression, Compressor
from tersely_langchain import TerselyCompressor
from tersely_llamaindex import TerselyCompressionEvent, TerselyPostprocessor
from tests.integrations.town import HARBOUR, MUSEUM, QUESTION

TEXTS = {"Harbour": HARBOUR, "Museum": MUSEUM}
DOCUMENTS = [Document(page_content=text, metadata={"title": title}) for title, text in TEXTS.items()]


class FixedRetriever(BaseRetriever):
    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return DOCUMENTS


class Receipts(BaseCallbackHandler):
    """Notes receipts, and the runs that they belong to."""

    def __init__(self) -> None:
        self.runs: list[Any] = []
        self.receipts: list[tuple[Any, dict[str, Any]]] = []

    def on_retriever_start(self, *_: Any, run_id: Any, **__: Any) -> None:
        self.runs.append(run_id)

    def on_custom_event(self, name: str, data: Any, *, run_id: Any, **_: Any) -> None:
        assert name == "tersely.compression"
        self.receipts.append((run_id, data))


class AsyncReceipts(AsyncCallbackHandler):
    """The same, in an event loop."""

    def __init__(self) -> None:
        self.receipts: list[dict[str, Any]] = []

    async def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.receipts.append(data)


class Watcher(BaseEventHandler):
    """The same, in LlamaIndex."""

    receipts: list[dict[str, Any]] = Field(default_factory=list)

    def handle(self, event: Any, **_: Any) -> None:
        if isinstance(event, TerselyCompressionEvent):
            self.receipts.append(event.receipt)


def check(receipt: dict[str, Any], expected: Compression) -> None:
    assert (receipt["status"], receipt["tokens_after"]) == (expected.status, expected.tokens_after)
    assert [(span["doc"], span["start"]) for span in receipt["kept"]] == [
        (span.doc, span.start) for span in expected.kept
    ]
    words = {word.strip(".") for text in (*TEXTS, *TEXTS.values()) for word in text.split() if len(word) > 5}
    assert not [word for word in words if word in json.dumps(receipt)]


@pytest.fixture(scope="module")
def expected(bundled: Compressor) -> Compression:
    return bundled.compress(QUESTION, [tersely.Document(t, title) for title, t in TEXTS.items()], budget=12)


def test_callbacks_of_langchain_get_the_receipt(bundled: Compressor, expected: Compression) -> None:
    own, watching = TerselyCompressor(compressor=bundled, budget=12), Receipts()
    retriever = ContextualCompressionRetriever(base_retriever=FixedRetriever(), base_compressor=own)
    retriever.invoke(QUESTION, {"callbacks": [watching]})
    assert watching.receipts[0][0] == watching.runs[0], "the run of the retriever"

    def compress(question: str) -> Any:
        return own.compress_documents(DOCUMENTS, question)

    RunnableLambda(compress).invoke(QUESTION, {"callbacks": [watching]})
    own.compress_documents(DOCUMENTS, QUESTION, callbacks=[watching])
    in_a_loop = AsyncReceipts()
    asyncio.run(retriever.ainvoke(QUESTION, {"callbacks": [in_a_loop]}))
    received = [*(receipt for _, receipt in watching.receipts), *in_a_loop.receipts]
    assert len(received) == 4
    for receipt in received:
        check(receipt, expected)


def test_handlers_of_llamaindex_get_the_receipt(bundled: Compressor, expected: Compression) -> None:
    nodes = [
        NodeWithScore(node=TextNode(text=text, metadata={"title": title})) for title, text in TEXTS.items()
    ]
    watcher, dispatcher = Watcher(), get_dispatcher()
    own = TerselyPostprocessor(compressor=bundled, budget=12)
    dispatcher.add_event_handler(watcher)
    try:
        own.postprocess_nodes(nodes, query_str=QUESTION)
        asyncio.run(own.apostprocess_nodes(nodes, query_str=QUESTION))
    finally:
        dispatcher.event_handlers.remove(watcher)
    assert len(watcher.receipts) == 2
    for receipt in watcher.receipts:
        check(receipt, expected)
