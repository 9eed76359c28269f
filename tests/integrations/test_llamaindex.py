"""The LlamaIndex adapter inside LlamaIndex."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

pytest.importorskip("llama_index.core")
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import (
    ImageNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)

from tersely import Compressor, InvalidInputError
from tersely_llamaindex import TerselyPostprocessor
from tests.sdk.fakes import BrokenScorer, FakeScorer

QUESTION = "On which day is the museum free?"
FREE = "Entry is free on Thursdays."


def nodes() -> list[NodeWithScore]:
    harbour = TextNode(
        id_="h",
        text="The harbour was dug in 1871. Its crane still works.",
        metadata={"title": "Harbour", "page": 3},
        start_char_idx=100,
        end_char_idx=151,
    )
    museum = TextNode(
        id_="m",
        text=f"The museum is in Hill Street. {FREE} It opened in 1904.",
        metadata={"title": "Museum", "page": 7},
        excluded_llm_metadata_keys=["page"],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="guide")},
        start_char_idx=1000,
        end_char_idx=1076,
    )
    return [NodeWithScore(node=harbour, score=0.5), NodeWithScore(node=museum, score=0.9)]


@pytest.fixture(scope="module")
def bundled() -> Compressor:
    return Compressor()


def test_in_a_query_engine_over_an_index(bundled: Compressor) -> None:
    index = VectorStoreIndex([n.node for n in nodes()], embed_model=MockEmbedding(embed_dim=4))
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=2),
        llm=MockLLM(),
        node_postprocessors=[TerselyPostprocessor(compressor=bundled, budget=12)],
    )
    for answer in (engine.query(QUESTION), asyncio.run(engine.aquery(QUESTION))):
        (found,) = answer.source_nodes
        assert found.node.get_content(MetadataMode.NONE) == FREE
        assert FREE in str(answer), "what the model was sent"
        assert "crane" not in str(answer)
        assert "spans" not in str(answer), "our notes are hidden from the model"


def test_a_node_keeps_what_it_was(bundled: Compressor) -> None:
    given = nodes()
    (found,) = TerselyPostprocessor(compressor=bundled, budget=12).postprocess_nodes(
        given, query_str=QUESTION
    )
    node = found.node
    assert isinstance(node, TextNode)
    assert (node.node_id, found.score, node.metadata["page"]) == ("m", 0.9, 7)
    assert node.ref_doc_id == "guide"
    assert (node.start_char_idx, node.end_char_idx) == (1030, 1030 + len(FREE))
    assert "tersely" not in given[1].node.metadata, "the originals stay as they are"
    assert given[1].node.get_content(MetadataMode.NONE).startswith("The museum is in")
    ranked = TerselyPostprocessor(compressor=bundled, order="rerank", rate=0.9)
    first, second = ranked.postprocess_nodes(given, query_str=QUESTION)
    assert first.node.node_id == "m"
    assert first.score == first.node.metadata["tersely"]["relevance"]
    assert (first.score or 0) > (second.score or 0)


def test_images_stay_in_their_place(bundled: Compressor) -> None:
    one, other = nodes()
    image = NodeWithScore(node=ImageNode(image_url="https://example.org/a.png"), score=0.1)
    adapter = TerselyPostprocessor(compressor=bundled, rate=0.9)
    found = adapter.postprocess_nodes([one, image, other], query_str=QUESTION)
    assert [n.node.node_id for n in found] == ["h", image.node.node_id, "m"]


def test_nothing_needed_is_no_error() -> None:
    nothing = Compressor(FakeScorer())
    asked = {"query_str": "zebra"}
    assert TerselyPostprocessor(compressor=nothing).postprocess_nodes(nodes(), **asked) == []
    kept = TerselyPostprocessor(compressor=nothing, keep_top=True).postprocess_nodes(nodes(), **asked)
    assert [n.node.node_id for n in kept] == ["h"]
    assert TerselyPostprocessor(compressor=nothing, keep_top=True).postprocess_nodes([], **asked) == []


def test_every_character_leads_back_to_its_source() -> None:
    r = random.Random(12)
    words = ["tower", "lamp.", "Ada", "灯塔。", "sea!", "e\u0301", "😀", "\n\n", "1904"]
    compressor = Compressor(FakeScorer())
    for _ in range(1000):
        given = [
            NodeWithScore(
                node=TextNode(
                    id_=f"d{number}",
                    text=" ".join(r.choices(words, k=r.randint(0, 30))),
                    metadata={"number": number},
                    start_char_idx=r.choice([None, 50]),
                )
            )
            for number in range(r.randint(0, 4))
        ]
        options: dict[str, Any] = r.choice([{}, {"rate": 0.5}, {"budget": 9}, {"max_docs": 1}, {"level": 1}])
        adapter = TerselyPostprocessor(compressor=compressor, order=r.choice(["source", "rerank"]), **options)
        for found in adapter.postprocess_nodes(given, query_str="tower lamp"):
            source = given[found.node.metadata["number"]].node
            assert isinstance(source, TextNode)
            assert isinstance(found.node, TextNode)
            assert found.node.node_id == source.node_id
            outside = set(range(len(found.node.text)))
            for span in found.node.metadata["tersely"]["spans"]:
                place = slice(span["at"], span["at"] + span["end"] - span["start"])
                assert found.node.text[place] == source.text[span["start"] : span["end"]]
                outside -= set(range(place.start, place.stop))
            assert all(found.node.text[i].isspace() for i in outside)


def test_bad_input() -> None:
    adapter = TerselyPostprocessor(compressor=Compressor(FakeScorer()))
    with pytest.raises(InvalidInputError, match="There is no query"):
        adapter.postprocess_nodes(nodes())
    with pytest.raises(InvalidInputError, match="The query is empty"):
        adapter.postprocess_nodes(nodes(), query_str=" ")
    broken = TerselyPostprocessor(compressor=Compressor(BrokenScorer(RuntimeError("no model"))), budget=5)
    given = nodes()
    assert broken.postprocess_nodes(given, query_str=QUESTION) == given


def test_one_id_for_two_texts_is_refused(bundled: Compressor) -> None:
    found = [NodeWithScore(node=TextNode(id_="a", text=text)) for text in ("One text.", "Another text.")]
    with pytest.raises(InvalidInputError, match="id 'a' and different texts"):
        TerselyPostprocessor(compressor=bundled).postprocess_nodes(found, query_str=QUESTION)
