"""The Haystack adapter inside Haystack."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

pytest.importorskip("haystack")
from haystack import Document, Pipeline
from haystack.components.agents import State
from haystack.components.joiners import DocumentJoiner
from haystack.dataclasses import ByteStream, ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook

from tersely import Compressor, InvalidInputError
from tersely_haystack import TerselyCompactor, TerselyDocumentCompressor
from tests.sdk.fakes import BrokenScorer, FakeScorer

# Haystack calls its compaction experimental.
pytestmark = pytest.mark.filterwarnings("ignore::haystack.utils.experimental.ExperimentalWarning")

ALLOWED = ["tersely_haystack.component"]
"""What Haystack has to be told before it reads our component from YAML."""
QUESTION = "On which day is the museum free?"
FREE = "Entry is free on Thursdays."
DOCUMENTS = [
    Document(
        id="h", content="The harbour was dug in 1871. Its crane still works.", meta={"page": 3}, score=0.5
    ),
    Document(
        id="m",
        content=f"The museum is in Hill Street. {FREE} It opened in 1904.",
        meta={"title": "Museum", "page": 7},
        score=0.9,
        embedding=[0.1, 0.2],
    ),
    Document(id="image", blob=ByteStream(b"png")),
]


def pipeline() -> Pipeline:
    made = Pipeline()
    made.add_component("join", DocumentJoiner(sort_by_score=False))
    made.add_component("compress", TerselyDocumentCompressor(budget=12))
    made.connect("join.documents", "compress.documents")
    return made


def test_in_a_pipeline_that_was_written_to_yaml_and_read_again() -> None:
    for made in (pipeline(), Pipeline.loads(pipeline().dumps(), allowed_modules=ALLOWED)):
        told = made.run({"join": {"documents": DOCUMENTS}, "compress": {"query": QUESTION}})
        found, image = told["compress"]["documents"]
        assert (found.content, found.id, found.score) == (FREE, "m", 0.9)
        assert (found.meta["page"], found.embedding) == (7, None)
        assert image == DOCUMENTS[2]
    assert "tersely" not in DOCUMENTS[1].meta, "the originals stay as they are"
    component = made.get_component("compress")
    assert component.to_dict() == TerselyDocumentCompressor(budget=12).to_dict()


def test_in_an_asynchronous_pipeline() -> None:
    made = Pipeline()
    made.add_component("compress", TerselyDocumentCompressor(rate=0.9, order="rerank"))
    given = {"compress": {"query": QUESTION, "documents": DOCUMENTS[:2]}}
    told = asyncio.run(made.run_async(given))
    assert [d.id for d in told["compress"]["documents"]] == ["m", "h"]


def with_scorer(scorer: Any, **options: Any) -> TerselyDocumentCompressor:
    made = TerselyDocumentCompressor(**options)
    made._compressor = Compressor(scorer)
    return made


def test_every_character_leads_back_to_its_source() -> None:
    r = random.Random(13)
    words = ["tower", "lamp.", "Ada", "灯塔。", "sea!", "e\u0301", "😀", "\n\n", "1904"]
    for _ in range(1000):
        given = [
            Document(
                id=f"d{number}",
                content=" ".join(r.choices(words, k=r.randint(0, 30))),
                meta={"number": number},
            )
            for number in range(r.randint(0, 4))
        ]
        options: dict[str, Any] = r.choice([{}, {"rate": 0.5}, {"budget": 9}, {"max_docs": 1}, {"level": 1}])
        made = with_scorer(FakeScorer(), order=r.choice(["source", "rerank"]), **options)
        for found in made.run(query="tower lamp", documents=given)["documents"]:
            source = given[found.meta["number"]]
            assert found.id == source.id
            text, original = found.content or "", source.content or ""
            outside = set(range(len(text)))
            for span in found.meta["tersely"]["spans"]:
                place = slice(span["at"], span["at"] + span["end"] - span["start"])
                assert text[place] == original[span["start"] : span["end"]]
                outside -= set(range(place.start, place.stop))
            assert all(text[i].isspace() for i in outside)


def test_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="The query is empty"):
        with_scorer(FakeScorer()).run(query=" ", documents=DOCUMENTS)
    with pytest.raises(InvalidInputError, match="1 or more"):
        with_scorer(FakeScorer(), budget=0).run(query=QUESTION, documents=DOCUMENTS)
    broken = with_scorer(BrokenScorer(RuntimeError("no model")), budget=5)
    assert broken.run(query=QUESTION, documents=DOCUMENTS)["documents"] == DOCUMENTS


def history() -> list[ChatMessage]:
    made = [ChatMessage.from_system("You know the coast."), ChatMessage.from_user("Who holds the spare key?")]
    for name, fact in (
        ("tower", "Ada holds the spare key."),
        ("pier", "It is rotten."),
        ("reef", "It is deep."),
    ):
        call = ToolCall(tool_name="read", arguments={"page": name}, id=name)
        page = " ".join(f"The {name} has a lamp of the kind number {i}." for i in range(60)) + f" {fact}"
        made += [ChatMessage.from_assistant(tool_calls=[call]), ChatMessage.from_tool(page, origin=call)]
    return made


def test_a_hook_compacts_older_results() -> None:
    given = history()
    compactor = TerselyCompactor.from_dict(TerselyCompactor(keep=1).to_dict())
    hook = CompactionHook(compactor, context_window=2000, compact_at=0.5, compact_to=0.4)
    state = State(schema={}, data={"messages": list(given)})
    asyncio.run(hook.run_async(state))
    found = state.data["messages"]
    assert len(found) == len(given)
    results = [m.tool_call_result for m in found if m.tool_call_result]
    assert [r.origin.id for r in results] == ["tower", "pier", "reef"]
    assert "Ada holds the spare key." in results[0].result
    assert len(results[0].result) < 2000 < len(str(given[-1].tool_call_result))
    assert found[-1] == given[-1]
    assert hook.token_counter.count(messages=found) <= 800
    assert given == history(), "the list of the caller stays as it is"


def test_nothing_to_shorten_is_none() -> None:
    counter = CompactionHook(TerselyCompactor(), context_window=1000).token_counter
    assert TerselyCompactor().compact(history()[:2], 1, counter) is None
    assert TerselyCompactor(keep=9).compact(history(), 1, counter) is None


def test_one_id_for_two_texts_is_refused() -> None:
    found = [Document(id="a", content=text) for text in ("One text.", "Another text.")]
    with pytest.raises(InvalidInputError, match="id 'a' and different texts"):
        TerselyDocumentCompressor(rate=0.5).run(query="Which text?", documents=found)
