"""The document compressor and the reranker in LangChain."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

pytest.importorskip("langchain")
pytest.importorskip("langchain_classic")
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
)
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

import tersely
from tersely import CompressionOptions, Compressor
from tersely_langchain import TerselyCompressor, TerselyReranker
from tests.integrations.samples import ANSWER, HARBOUR, MUSEUM, QUESTION

DOCUMENTS = [
    Document(page_content=HARBOUR, metadata={"title": "Harbour", "page": 3}, id="h"),
    Document(page_content=MUSEUM, metadata={"title": "Museum", "page": 7}, id="m"),
    Document(page_content="", metadata={"page": 9}, id="empty"),
]


class FixedRetriever(BaseRetriever):
    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return DOCUMENTS


def test_a_retriever_gives_the_sentence_that_answers(bundled: Compressor) -> None:
    retriever = ContextualCompressionRetriever(
        base_retriever=FixedRetriever(), base_compressor=TerselyCompressor(compressor=bundled, budget=12)
    )
    (document,) = retriever.invoke(QUESTION)
    assert document.page_content == ANSWER
    assert (document.id, document.metadata["page"], document.metadata["title"]) == ("m", 7, "Museum")
    assert asyncio.run(retriever.ainvoke(QUESTION)) == [document]


def test_it_works_in_a_chain_after_a_reranker(bundled: Compressor) -> None:
    pipeline = DocumentCompressorPipeline(
        transformers=[
            CrossEncoderReranker(model=TerselyReranker(), top_n=1),
            TerselyCompressor(compressor=bundled, rate=0.5),
        ]
    )
    retriever = ContextualCompressionRetriever(base_retriever=FixedRetriever(), base_compressor=pipeline)
    joined = RunnableLambda(lambda documents: "\n".join(d.page_content for d in documents))
    chain = {"context": retriever | joined, "question": RunnablePassthrough()} | RunnableLambda(dict)
    result = chain.invoke(QUESTION)
    assert result["question"] == QUESTION
    assert "free on Thursdays" in result["context"]
    assert "crane" not in result["context"]


def test_options_given_by_name_override_options() -> None:
    options = CompressionOptions(budget=12, max_docs=3)
    assert TerselyCompressor(options=options).options == options
    assert TerselyCompressor(options=options, max_docs=4).options == CompressionOptions(budget=12, max_docs=4)
    assert TerselyCompressor(options={"budget": 9}, budget=12).options == CompressionOptions(budget=12)


@pytest.mark.parametrize("values", [{"budget": 12, "level": 2}, {"rate": 0.5, "order": "rerank"}])
def test_options_and_fields_survive_serialization(values: dict[str, Any]) -> None:
    adapter = TerselyCompressor(**values, title_key=None)
    copies = [
        TerselyCompressor(**adapter.model_dump()),
        TerselyCompressor.model_validate(adapter.model_dump()),
        TerselyCompressor.model_validate_json(adapter.model_dump_json()),
        pickle.loads(pickle.dumps(adapter)),
        adapter.model_copy(deep=True),
    ]
    for copied in copies:
        assert copied.options == CompressionOptions(**values)
        assert copied.title_key is None


def test_scores_keep_the_order_of_their_pairs() -> None:
    texts = [d.page_content for d in DOCUMENTS]
    pairs = [(query, text) for text in texts for query in (QUESTION, "When was the harbour dug?")]
    scores = TerselyReranker().score(pairs)
    assert scores[2] > scores[0]
    assert scores[1] > scores[3]
    assert scores[4:] == [0.0, 0.0]
    assert TerselyReranker().score(pair for pair in pairs) == scores


class Receipts(BaseCallbackHandler):
    """Notes receipts, and the runs that they belong to."""

    def __init__(self) -> None:
        self.runs: list[Any] = []
        self.received: list[tuple[Any, dict[str, Any]]] = []

    def on_retriever_start(self, *_: Any, run_id: Any, **__: Any) -> None:
        self.runs.append(run_id)

    def on_custom_event(self, name: str, data: Any, *, run_id: Any, **_: Any) -> None:
        assert name == "tersely.compression"
        self.received.append((run_id, data))


class AsyncReceipts(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []

    async def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.received.append(data)


def test_callbacks_get_the_receipt_without_texts(bundled: Compressor) -> None:
    adapter, watching = TerselyCompressor(compressor=bundled, budget=12), Receipts()
    retriever = ContextualCompressionRetriever(base_retriever=FixedRetriever(), base_compressor=adapter)
    retriever.invoke(QUESTION, {"callbacks": [watching]})
    assert watching.received[0][0] == watching.runs[0], "the run of the retriever"

    def compress(question: str) -> Any:
        return adapter.compress_documents(DOCUMENTS, question)

    RunnableLambda(compress).invoke(QUESTION, {"callbacks": [watching]})
    adapter.compress_documents(DOCUMENTS, QUESTION, callbacks=[watching])
    in_a_loop = AsyncReceipts()
    asyncio.run(retriever.ainvoke(QUESTION, {"callbacks": [in_a_loop]}))
    receipts = [*(receipt for _, receipt in watching.received), *in_a_loop.received]
    assert len(receipts) == 4
    sources = [tersely.Document(d.page_content, d.metadata.get("title")) for d in DOCUMENTS]
    expected = bundled.compress(QUESTION, sources, budget=12)
    for receipt in receipts:
        assert (receipt["status"], receipt["tokens_after"]) == (expected.status, expected.tokens_after)
        assert [(span["doc"], span["start"]) for span in receipt["kept"]] == [
            (span.doc, span.start) for span in expected.kept
        ]
        assert not [word for word in ("museum", "harbour", "Harbour", "Thursdays") if word in str(receipt)]
