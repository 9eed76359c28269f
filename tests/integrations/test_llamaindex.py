"""The node postprocessor in LlamaIndex."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any

import pytest

pytest.importorskip("llama_index.core")
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import (
    Document,
    ImageNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from llama_index_instrumentation import get_dispatcher
from pydantic import Field

from tersely import CompressionOptions, Compressor
from tersely_llamaindex import TerselyCompressionEvent, TerselyPostprocessor
from tests.integrations.samples import ANSWER, HARBOUR, MUSEUM, OPTION_NAMES, QUESTION
from tests.sdk.fakes import FakeScorer


def make_nodes() -> list[NodeWithScore]:
    harbour = TextNode(
        id_="h",
        text=HARBOUR,
        metadata={"title": "Harbour", "page": 3},
        start_char_idx=100,
        end_char_idx=151,
    )
    museum = TextNode(
        id_="m",
        text=MUSEUM,
        metadata={"title": "Museum", "page": 7},
        excluded_llm_metadata_keys=["page"],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="guide")},
        start_char_idx=1000,
        end_char_idx=1076,
    )
    return [NodeWithScore(node=harbour, score=0.5), NodeWithScore(node=museum, score=0.9)]


def test_a_query_engine_shows_the_sentence_that_answers(bundled: Compressor) -> None:
    index = VectorStoreIndex([n.node for n in make_nodes()], embed_model=MockEmbedding(embed_dim=4))
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=2),
        llm=MockLLM(),
        node_postprocessors=[TerselyPostprocessor(compressor=bundled, budget=12)],
    )
    for answer in (engine.query(QUESTION), asyncio.run(engine.aquery(QUESTION))):
        (node,) = answer.source_nodes
        assert node.node.get_content(MetadataMode.NONE) == ANSWER
        assert ANSWER in str(answer), "what the model was sent"
        assert "crane" not in str(answer)
        assert "spans" not in str(answer), "the notes are hidden from the model"


def test_ids_scores_relationships_and_offsets_stay_right(bundled: Compressor) -> None:
    adapter = TerselyPostprocessor(compressor=bundled, budget=12)
    (compressed,) = adapter.postprocess_nodes(make_nodes(), query_str=QUESTION)
    node = compressed.node
    assert isinstance(node, TextNode)
    assert (node.node_id, compressed.score, node.metadata["page"]) == ("m", 0.9, 7)
    assert node.ref_doc_id == "guide"
    assert (node.start_char_idx, node.end_char_idx) == (1030, 1030 + len(ANSWER))


def test_reranked_nodes_have_their_relevance_as_score(bundled: Compressor) -> None:
    ranked = TerselyPostprocessor(compressor=bundled, order="rerank", rate=0.9)
    for node in ranked.postprocess_nodes(make_nodes(), query_str=QUESTION):
        assert node.score == node.node.metadata["tersely"]["relevance"]


def test_images_keep_their_place(bundled: Compressor) -> None:
    harbour, museum = make_nodes()
    image = NodeWithScore(node=ImageNode(image_url="https://example.org/a.png"), score=0.1)
    adapter = TerselyPostprocessor(compressor=bundled, rate=0.9)
    nodes = adapter.postprocess_nodes([harbour, image, museum], query_str=QUESTION)
    assert [n.node.node_id for n in nodes] == ["h", image.node.node_id, "m"]
    ranking = TerselyPostprocessor(compressor=bundled, rate=0.9, order="rerank")
    nodes = ranking.postprocess_nodes([harbour, image, museum], query_str=QUESTION)
    assert [n.node.node_id for n in nodes] == ["m", "h", image.node.node_id], "reranked, they are at the end"


def test_the_first_node_can_be_kept_if_nothing_is_needed() -> None:
    compressor, query = Compressor(FakeScorer()), {"query_str": "zebra"}
    assert TerselyPostprocessor(compressor=compressor).postprocess_nodes(make_nodes(), **query) == []
    keeping = TerselyPostprocessor(compressor=compressor, keep_top=True)
    assert [n.node.node_id for n in keeping.postprocess_nodes(make_nodes(), **query)] == ["h"]
    assert keeping.postprocess_nodes([], **query) == []


@pytest.mark.parametrize("values", [{"budget": 12, "level": 2}, {"rate": 0.5, "order": "rerank"}])
def test_options_and_fields_survive_serialization(values: dict[str, Any]) -> None:
    adapter = TerselyPostprocessor(**values, keep_top=True)
    copies = [
        TerselyPostprocessor.from_dict(adapter.to_dict()),
        TerselyPostprocessor.from_json(adapter.to_json()),
        TerselyPostprocessor.model_validate(adapter.model_dump()),
        TerselyPostprocessor.model_validate_json(adapter.model_dump_json()),
        pickle.loads(pickle.dumps(adapter)),
        adapter.model_copy(deep=True),
    ]
    for copied in copies:
        assert copied.options == CompressionOptions(**values)
        assert copied.keep_top


def test_the_json_schema_shows_every_option() -> None:
    schema = json.dumps(TerselyPostprocessor.model_json_schema())
    assert all(f'"{name}"' in schema for name in OPTION_NAMES)


@pytest.mark.parametrize(
    "make", [lambda text: Document(text=text), lambda text: Node(text_resource=MediaResource(text=text))]
)
def test_nodes_of_every_class_are_compressed(make: Any) -> None:
    museum, harbour = make(MUSEUM), make(HARBOUR)
    nodes = [NodeWithScore(node=harbour, score=0.5), NodeWithScore(node=museum, score=0.4)]
    (kept,) = TerselyPostprocessor(budget=8).postprocess_nodes(nodes, query_str=QUESTION)
    assert kept.node.get_content() == ANSWER
    assert (kept.node.node_id, kept.score) == (museum.node_id, 0.4)
    assert kept.node.metadata["tersely"]["spans"]
    assert museum.get_content() == MUSEUM, "the original stays unchanged"


@pytest.mark.parametrize(
    "make",
    [
        lambda text: ImageNode(text=text, image="aGk="),
        lambda text: Node(text_resource=MediaResource(text=text), image_resource=MediaResource(data=b"aGk=")),
    ],
)
def test_an_image_stays_with_the_text_that_is_needed(make: Any) -> None:
    nodes = [NodeWithScore(node=make(text)) for text in (HARBOUR, MUSEUM)]
    first, second = TerselyPostprocessor(budget=8).postprocess_nodes(nodes, query_str=QUESTION)
    assert (first.node.get_content(), second.node.get_content()) == ("", ANSWER)
    for before, after in zip(nodes, (first, second), strict=True):
        for field in ("image", "image_resource"):
            assert getattr(after.node, field, None) == getattr(before.node, field, None)


class Watcher(BaseEventHandler):
    receipts: list[dict[str, Any]] = Field(default_factory=list)

    def handle(self, event: Any, **_: Any) -> None:
        if isinstance(event, TerselyCompressionEvent):
            self.receipts.append(event.receipt)


def test_event_handlers_get_the_receipt_without_texts(bundled: Compressor) -> None:
    watcher, dispatcher = Watcher(), get_dispatcher()
    adapter = TerselyPostprocessor(compressor=bundled, budget=12)
    dispatcher.add_event_handler(watcher)
    try:
        adapter.postprocess_nodes(make_nodes(), query_str=QUESTION)
        asyncio.run(adapter.apostprocess_nodes(make_nodes(), query_str=QUESTION))
    finally:
        dispatcher.event_handlers.remove(watcher)
    assert len(watcher.receipts) == 2
    for receipt in watcher.receipts:
        assert receipt["status"] == "compressed"
        assert receipt["tokens_after"] <= 12
        assert not [word for word in ("museum", "harbour", "Thursdays") if word in str(receipt)]
