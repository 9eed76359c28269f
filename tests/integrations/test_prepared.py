"""Documents that were prepared before they were stored, in LangChain and LlamaIndex."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("langchain")
pytest.importorskip("llama_index.core")
from langchain_core.documents import Document
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.schema import MetadataMode, NodeWithScore

from tersely import Compression, Compressor, PreparedDocument
from tersely.adapters import PREPARED_KEY
from tersely_langchain import TerselyCompressor
from tersely_langchain import TerselyPreparer as LangChainPreparer
from tersely_llamaindex import TerselyPostprocessor, TerselyPreparer
from tests.integrations.samples import ANSWER, HARBOUR, MUSEUM, QUESTION

PASSAGES = [
    Document(page_content=HARBOUR, metadata={"title": "Harbour", "page": 3}, id="h"),
    Document(page_content=MUSEUM, metadata={"title": "Museum", "page": 7}, id="m"),
]


class Watching(Compressor):
    """A compressor that remembers which of its documents were prepared."""

    def compress(self, query: str | None, docs: Any, **options: Any) -> Compression:
        self.prepared = [isinstance(document, PreparedDocument) for document in docs]
        return super().compress(query, docs, **options)


@pytest.fixture(scope="module")
def watching() -> Watching:
    return Watching()


def prepare(compressor: Compressor) -> list[Document]:
    return LangChainPreparer(compressor).transform_documents(PASSAGES)


def make_nodes(compressor: Compressor) -> Sequence[Any]:
    documents = [LlamaDocument(text=d.page_content, metadata=d.metadata, id_=d.id or "") for d in PASSAGES]
    pipeline = IngestionPipeline(transformations=[SentenceSplitter(), TerselyPreparer(compressor=compressor)])
    return pipeline.run(documents=documents)


def test_prepared_langchain_documents_give_the_same(watching: Watching) -> None:
    stored = [Document(**json.loads(json.dumps(dict(d)))) for d in prepare(watching)]
    compressor = TerselyCompressor(compressor=watching, budget=12)
    (kept,) = compressor.compress_documents(stored, QUESTION)
    assert watching.prepared == [True, True]
    assert kept.page_content == ANSWER
    assert compressor.compress_documents(PASSAGES, QUESTION) == [kept], "prepared data is left out"
    assert PREPARED_KEY not in PASSAGES[0].metadata, "the originals stay unchanged"


def test_prepared_nodes_give_the_same(watching: Watching) -> None:
    nodes = [NodeWithScore(node=node, score=0.5) for node in make_nodes(watching)]
    (kept,) = TerselyPostprocessor(compressor=watching, budget=12).postprocess_nodes(
        nodes, query_str=QUESTION
    )
    assert watching.prepared == [True, True]
    assert kept.node.get_content(MetadataMode.NONE) == ANSWER
    assert PREPARED_KEY not in kept.node.metadata


def test_prepared_data_is_hidden_from_models_and_embeddings(watching: Watching) -> None:
    nodes = make_nodes(watching)
    for node in nodes:
        assert PREPARED_KEY in node.metadata
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            assert PREPARED_KEY not in node.get_content(mode)
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))
    answer = index.as_query_engine(
        llm=MockLLM(), node_postprocessors=[TerselyPostprocessor(compressor=watching, budget=60)]
    ).query(QUESTION)
    assert ANSWER in str(answer)
    assert PREPARED_KEY not in str(answer)


@pytest.mark.parametrize("change", ["text", "title", "bytes", "type"])
def test_data_of_another_document_is_not_used(
    change: str, watching: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    stored = prepare(watching)
    changed = stored[1].model_copy(deep=True)
    if change == "text":
        changed.page_content += " It is red."
    elif change == "title":
        changed.metadata["title"] = "Another"
    elif change == "bytes":
        changed.metadata[PREPARED_KEY] = changed.metadata[PREPARED_KEY][:-8]
    else:
        changed.metadata[PREPARED_KEY] = 7
    with caplog.at_level(logging.WARNING, "tersely"):
        (kept,) = TerselyCompressor(compressor=watching, budget=12).compress_documents(
            [stored[0], changed], QUESTION
        )
    assert watching.prepared == [True, False]
    assert ANSWER in kept.page_content
    assert "as if it were not prepared" in caplog.text
