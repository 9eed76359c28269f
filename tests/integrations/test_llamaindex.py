"""The node postprocessor inside LlamaIndex."""

from __future__ import annotations

import asyncio
import json
import pickle
import random
from typing import Any

import pytest

pytest.importorskip("llama_index.core")
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
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

import tersely
from tersely import CompressionOptions, Compressor, InvalidInputError
from tersely_llamaindex import TerselyPostprocessor
from tests.integrations import provenance
from tests.integrations.options import EXAMPLES, OPTION_NAMES, RecordingCompressor, all_arguments
from tests.integrations.town import ANSWER, HARBOUR, MUSEUM, QUESTION
from tests.sdk.fakes import BrokenScorer, FakeScorer


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


def test_a_query_engine_shows_its_model_the_sentence_that_answers(bundled: Compressor) -> None:
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
    originals = make_nodes()
    adapter = TerselyPostprocessor(compressor=bundled, budget=12)
    (compressed,) = adapter.postprocess_nodes(originals, query_str=QUESTION)
    node = compressed.node
    assert isinstance(node, TextNode)
    assert (node.node_id, compressed.score, node.metadata["page"]) == ("m", 0.9, 7)
    assert node.ref_doc_id == "guide"
    assert (node.start_char_idx, node.end_char_idx) == (1030, 1030 + len(ANSWER))
    assert "tersely" not in originals[1].node.metadata, "the originals stay as they are"
    assert originals[1].node.get_content(MetadataMode.NONE).startswith("The museum is in")


def test_reranked_nodes_have_their_relevance_as_score(bundled: Compressor) -> None:
    ranked = TerselyPostprocessor(compressor=bundled, order="rerank", rate=0.9)
    first, second = ranked.postprocess_nodes(make_nodes(), query_str=QUESTION)
    assert first.node.node_id == "m"
    assert first.score == first.node.metadata["tersely"]["relevance"]
    assert (first.score or 0) > (second.score or 0)


def test_images_keep_their_place(bundled: Compressor) -> None:
    harbour, museum = make_nodes()
    image = NodeWithScore(node=ImageNode(image_url="https://example.org/a.png"), score=0.1)
    adapter = TerselyPostprocessor(compressor=bundled, rate=0.9)
    nodes = adapter.postprocess_nodes([harbour, image, museum], query_str=QUESTION)
    assert [n.node.node_id for n in nodes] == ["h", image.node.node_id, "m"]
    ranking = TerselyPostprocessor(compressor=bundled, rate=0.9, order="rerank")
    nodes = ranking.postprocess_nodes([harbour, image, museum], query_str=QUESTION)
    assert [n.node.node_id for n in nodes] == ["m", "h", image.node.node_id], (
        "reranked, they stand at the end"
    )


def test_no_nodes_come_back_where_nothing_is_needed_unless_the_top_is_kept() -> None:
    compressor, query = Compressor(FakeScorer()), {"query_str": "zebra"}
    assert TerselyPostprocessor(compressor=compressor).postprocess_nodes(make_nodes(), **query) == []
    keeping = TerselyPostprocessor(compressor=compressor, keep_top=True)
    assert [n.node.node_id for n in keeping.postprocess_nodes(make_nodes(), **query)] == ["h"]
    assert keeping.postprocess_nodes([], **query) == []


def test_every_character_leads_back_to_its_source() -> None:
    rng = random.Random(12)
    compressor = Compressor(FakeScorer())
    for _ in range(1000):
        originals = [
            NodeWithScore(
                node=TextNode(
                    id_=f"d{number}",
                    text=provenance.random_text(rng),
                    metadata={"number": number},
                    start_char_idx=rng.choice([None, 50]),
                )
            )
            for number in range(rng.randint(0, 4))
        ]
        adapter = TerselyPostprocessor(compressor=compressor, **provenance.random_options(rng))
        for compressed in adapter.postprocess_nodes(originals, query_str=provenance.QUERY):
            original = originals[compressed.node.metadata["number"]].node
            assert isinstance(original, TextNode)
            assert isinstance(compressed.node, TextNode)
            assert compressed.node.node_id == original.node_id
            spans = compressed.node.metadata["tersely"]["spans"]
            provenance.check_spans(compressed.node.text, original.text, spans)


def test_a_model_that_fails_without_a_limit_gives_the_nodes_back() -> None:
    broken = TerselyPostprocessor(compressor=Compressor(BrokenScorer(RuntimeError("no model"))))
    nodes = make_nodes()
    assert broken.postprocess_nodes(nodes, query_str=QUESTION) == nodes


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_every_option_reaches_the_compressor(name: str) -> None:
    compressor = RecordingCompressor()
    adapter = TerselyPostprocessor(compressor=compressor, **{name: EXAMPLES[name]})
    adapter.postprocess_nodes(make_nodes(), query_str=QUESTION)
    asyncio.run(adapter.apostprocess_nodes(make_nodes(), query_str=QUESTION))
    assert compressor.received == 2 * [all_arguments(**{name: EXAMPLES[name]})]
    assert getattr(adapter.options, name) == EXAMPLES[name]


@pytest.mark.parametrize("values", [{"budget": 12, "level": "auto"}, {"rate": 0.5, "order": "rerank"}])
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


def test_bad_options_are_refused_when_the_adapter_is_made() -> None:
    with pytest.raises(InvalidInputError, match="budget is 0"):
        TerselyPostprocessor(budget=0)
    with pytest.raises(ValueError, match=r"ratio\s+Extra inputs"):
        TerselyPostprocessor(ratio=0.3)


def test_without_a_query_the_nodes_are_compressed_to_a_limit(bundled: Compressor) -> None:
    nodes = TerselyPostprocessor(compressor=bundled, budget=12).postprocess_nodes(make_nodes())
    documents = [tersely.Document(HARBOUR, "Harbour"), tersely.Document(MUSEUM, "Museum")]
    expected = bundled.compress(None, documents, budget=12)
    texts = [node.node.get_content(MetadataMode.NONE) for node in nodes]
    assert texts == [document.text for document in expected.documents] != []


def test_an_empty_query_is_refused_and_so_is_none_without_a_limit() -> None:
    adapter = TerselyPostprocessor(compressor=Compressor(FakeScorer()))
    with pytest.raises(InvalidInputError, match="Pass budget, rate or level"):
        adapter.postprocess_nodes(make_nodes())
    with pytest.raises(InvalidInputError, match="The query is empty"):
        adapter.postprocess_nodes(make_nodes(), query_str=" ")


def test_one_id_for_two_texts_is_refused(bundled: Compressor) -> None:
    nodes = [NodeWithScore(node=TextNode(id_="a", text=text)) for text in ("One text.", "Another text.")]
    with pytest.raises(InvalidInputError, match="id 'a' and different texts"):
        TerselyPostprocessor(compressor=bundled).postprocess_nodes(nodes, query_str=QUESTION)


@pytest.mark.parametrize(
    "make", [lambda text: Document(text=text), lambda text: Node(text_resource=MediaResource(text=text))]
)
def test_documents_and_nodes_of_every_class_are_compressed(make: Any) -> None:
    museum, harbour = make(MUSEUM), make(HARBOUR)
    nodes = [NodeWithScore(node=harbour, score=0.5), NodeWithScore(node=museum, score=0.4)]
    (kept,) = TerselyPostprocessor(budget=8).postprocess_nodes(nodes, query_str=QUESTION)
    assert kept.node.get_content() == ANSWER
    assert (kept.node.node_id, kept.score) == (museum.node_id, 0.4)
    assert kept.node.metadata["tersely"]["spans"]
    assert museum.get_content() == MUSEUM, "the original stays as it is"


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


def test_a_generator_of_nodes_is_read_once() -> None:
    nodes: Any = (NodeWithScore(node=TextNode(text=text)) for text in (HARBOUR, MUSEUM))
    (kept,) = TerselyPostprocessor(budget=8).postprocess_nodes(nodes, query_str=QUESTION)
    assert kept.node.get_content() == ANSWER
