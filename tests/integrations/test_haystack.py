"""The component and the compactor inside Haystack."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

pytest.importorskip("haystack")
from haystack import Document, Pipeline
from haystack.components.agents import State
from haystack.components.joiners import DocumentJoiner
from haystack.core.errors import DeserializationError
from haystack.dataclasses import ByteStream, ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook

from tersely import CompressionOptions, Compressor, InvalidInputError
from tersely_haystack import TerselyCompactor, TerselyDocumentCompressor
from tests.integrations import coast, provenance
from tests.integrations.options import EXAMPLES, OPTION_NAMES, RecordingCompressor, all_arguments
from tests.integrations.town import ANSWER, HARBOUR, MUSEUM, QUESTION
from tests.sdk.fakes import BrokenScorer, FakeScorer

# Haystack calls its compaction experimental.
pytestmark = pytest.mark.filterwarnings("ignore::haystack.utils.experimental.ExperimentalWarning")

ALLOWED_MODULES = ["tersely_haystack.component"]
"""Haystack reads components from YAML only from modules that it knows or is told."""
DOCUMENTS = [
    Document(id="h", content=HARBOUR, meta={"page": 3}, score=0.5),
    Document(id="m", content=MUSEUM, meta={"title": "Museum", "page": 7}, score=0.9, embedding=[0.1, 0.2]),
    Document(id="image", blob=ByteStream(b"png")),
]


def make_pipeline() -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("join", DocumentJoiner(sort_by_score=False))
    pipeline.add_component("compress", TerselyDocumentCompressor(budget=12))
    pipeline.connect("join.documents", "compress.documents")
    return pipeline


def make_component(compressor: Compressor, **options: Any) -> TerselyDocumentCompressor:
    component = TerselyDocumentCompressor(**options)
    component._compressor = compressor
    return component


def test_a_pipeline_gives_the_same_after_it_was_written_to_yaml() -> None:
    for pipeline in (
        make_pipeline(),
        Pipeline.loads(make_pipeline().dumps(), allowed_modules=ALLOWED_MODULES),
    ):
        result = pipeline.run({"join": {"documents": DOCUMENTS}, "compress": {"query": QUESTION}})
        document, image = result["compress"]["documents"]
        assert (document.content, document.id, document.score) == (ANSWER, "m", 0.9)
        assert (document.meta["page"], document.embedding) == (7, None)
        assert image == DOCUMENTS[2]
    assert "tersely" not in DOCUMENTS[1].meta, "the originals stay as they are"
    component = pipeline.get_component("compress")
    assert component.to_dict() == TerselyDocumentCompressor(budget=12).to_dict()


def test_an_asynchronous_pipeline_gives_reranked_documents() -> None:
    pipeline = Pipeline()
    pipeline.add_component("compress", TerselyDocumentCompressor(rate=0.9, order="rerank"))
    inputs = {"compress": {"query": QUESTION, "documents": DOCUMENTS[:2]}}
    result = asyncio.run(pipeline.run_async(inputs))
    assert [d.id for d in result["compress"]["documents"]] == ["m", "h"]


def test_every_character_leads_back_to_its_source() -> None:
    rng = random.Random(13)
    compressor = Compressor(FakeScorer())
    for _ in range(1000):
        originals = [
            Document(id=f"d{number}", content=provenance.random_text(rng), meta={"number": number})
            for number in range(rng.randint(0, 4))
        ]
        component = make_component(compressor, **provenance.random_options(rng))
        for document in component.run(query=provenance.QUERY, documents=originals)["documents"]:
            original = originals[document.meta["number"]]
            assert document.id == original.id
            spans = document.meta["tersely"]["spans"]
            provenance.check_spans(document.content or "", original.content or "", spans)


def test_a_model_that_fails_without_a_limit_gives_the_documents_back() -> None:
    broken = make_component(Compressor(BrokenScorer(RuntimeError("no model"))))
    assert broken.run(query=QUESTION, documents=DOCUMENTS)["documents"] == DOCUMENTS


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_every_option_reaches_the_compressor(name: str) -> None:
    compressor = RecordingCompressor()
    component = make_component(compressor, **{name: EXAMPLES[name]})
    component.run(query=QUESTION, documents=DOCUMENTS)
    asyncio.run(component.run_async(query=QUESTION, documents=DOCUMENTS))
    assert compressor.received == 2 * [all_arguments(**{name: EXAMPLES[name]})]
    assert getattr(component.options, name) == EXAMPLES[name]


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_every_option_survives_yaml(name: str) -> None:
    pipeline = Pipeline()
    pipeline.add_component("compress", TerselyDocumentCompressor(**{name: EXAMPLES[name]}, threads=1))
    component = Pipeline.loads(pipeline.dumps(), allowed_modules=ALLOWED_MODULES).get_component("compress")
    assert isinstance(component, TerselyDocumentCompressor)
    assert component.options == CompressionOptions(**{name: EXAMPLES[name]})
    assert component.threads == 1


def test_bad_options_are_refused_when_the_component_is_made() -> None:
    with pytest.raises(InvalidInputError, match=r"budget is 0\. Pass a whole number of tokens, 1 or more"):
        TerselyDocumentCompressor(budget=0)
    with pytest.raises(InvalidInputError, match="There is no option 'ratio'"):
        TerselyDocumentCompressor(ratio=0.3)


def test_a_class_under_an_unknown_name_is_not_loaded() -> None:
    data = TerselyDocumentCompressor(budget=12).to_dict()
    data["init_parameters"]["helper"] = {"type": "os.path.join"}
    with pytest.raises(DeserializationError, match="unknown parameter 'helper'"):
        TerselyDocumentCompressor.from_dict(data)


def test_without_a_query_the_documents_are_compressed_to_a_limit() -> None:
    component = make_component(Compressor(FakeScorer()), budget=12)
    (document, image) = component.run(documents=DOCUMENTS)["documents"]
    assert document.content in ("The museum is in Hill Street.", "The harbour was dug in 1871.")
    assert image == DOCUMENTS[2]


def test_an_empty_query_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="The query is empty"):
        make_component(Compressor(FakeScorer())).run(query=" ", documents=DOCUMENTS)


def test_one_id_for_two_texts_is_refused() -> None:
    documents = [Document(id="a", content=text) for text in ("One text.", "Another text.")]
    with pytest.raises(InvalidInputError, match="id 'a' and different texts"):
        TerselyDocumentCompressor(rate=0.5).run(query="Which text?", documents=documents)


def make_history() -> list[ChatMessage]:
    messages = [ChatMessage.from_system("You know the coast."), ChatMessage.from_user(coast.QUESTION)]
    facts = {"tower": coast.ANSWER, "pier": "It is rotten.", "reef": "It is deep."}
    for name, fact in facts.items():
        call = ToolCall(tool_name="read", arguments={"page": name}, id=name)
        messages.append(ChatMessage.from_assistant(tool_calls=[call]))
        messages.append(ChatMessage.from_tool(coast.make_page(name, fact), origin=call))
    return messages


def test_a_hook_shortens_older_results_until_the_history_fits() -> None:
    history = make_history()
    compactor = TerselyCompactor.from_dict(TerselyCompactor(keep=1).to_dict())
    hook = CompactionHook(compactor, context_window=2000, compact_at=0.5, compact_to=0.4)
    state = State(schema={}, data={"messages": list(history)})
    asyncio.run(hook.run_async(state))
    compacted = state.data["messages"]
    assert len(compacted) == len(history)
    results = [m.tool_call_result for m in compacted if m.tool_call_result]
    assert [r.origin.id for r in results] == ["tower", "pier", "reef"]
    assert coast.ANSWER in results[0].result
    assert len(results[0].result) < 2000 < len(str(history[-1].tool_call_result))
    assert compacted[-1] == history[-1]
    assert hook.token_counter.count(messages=compacted) <= 800
    assert history == make_history(), "the caller's list stays as it is"


def test_a_compactor_gives_none_where_there_is_nothing_to_shorten() -> None:
    counter = CompactionHook(TerselyCompactor(), context_window=1000).token_counter
    assert TerselyCompactor().compact(make_history()[:2], 1, counter) is None
    assert TerselyCompactor(keep=9).compact(make_history(), 1, counter) is None
