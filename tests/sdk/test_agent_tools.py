"""What an agent searches and calls, and what a tool that fails gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tersely import Document, InvalidInputError
from tersely_agents.agent import Agent, DocumentIndex, FolderIndex, Tool, ToolError, search_tools
from tersely_agents.agent.retrieval import Hit
from tersely_agents.chat import Reply, ScriptedChat, ToolCall
from tersely_agents.experience import Experience, ExperienceBank
from tests.sdk.agents import (
    COMPRESSOR,
    FINISH,
    FOUND,
    QUESTION,
    call_tag,
    make_agent,
    requests_of,
    tagged,
    tool_calls,
)
from tests.sdk.fakes import Letters


def test_a_search_gives_the_passages_of_a_folder(folder: Path) -> None:
    index = FolderIndex(folder)
    assert len(index) == 2
    (hit,) = index.search("spare key", 5)
    assert (hit.docid, hit.title) == ("notes/keys.md", "Keys")
    assert "with Ada" in hit.passage
    assert index.search("zebra", 5) == []
    assert index.open("garden.txt").title == "garden"
    with pytest.raises(KeyError):
        index.open("../secrets.txt")


def test_a_long_document_is_ranked_by_its_best_passage(tmp_path: Path) -> None:
    filler = "\n\n".join(f"Paragraph {i} is about the weather of the coast." * 5 for i in range(40))
    (tmp_path / "long.md").write_text(f"# Coast\n\n{filler}\n\nThe tower is of granite.\n\n{filler}")
    (hit,) = FolderIndex(tmp_path).search("granite tower", 3)
    assert "The tower is of granite." in hit.passage
    assert len(hit.passage) <= 1000


def test_folders_without_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="holds no text"):
        FolderIndex(tmp_path)
    with pytest.raises(InvalidInputError, match="There is no folder"):
        FolderIndex(tmp_path / "missing")


def test_tools_explain_wrong_arguments(folder: Path) -> None:
    search = search_tools(FolderIndex(folder))[0]
    with pytest.raises(ToolError, match="whole number"):
        search.run({"query": "x", "topk": "many"})
    assert search.run({"query": "zebra"}) == "Nothing was found. Try other words."
    assert search.schema()["function"]["parameters"]["required"] == ["query"]


def test_an_error_of_a_tool_is_its_result(folder: Path) -> None:
    def broken(_: Mapping[str, str]) -> str:
        raise ConnectionError("the archive is closed")

    tools = [Tool("archive", "asks the archive", {}, broken), *search_tools(FolderIndex(folder))]
    script = [
        tagged(call_tag("archive")),
        tagged(call_tag("open_page", docid="x"), "Nothing yet."),
        tagged(FINISH, FOUND),
    ]
    agent = Agent(ScriptedChat(script), tools, compressor=COMPRESSOR)
    state = agent.run(QUESTION)
    assert [t.error for t in state.trace] == [
        "ConnectionError: the archive is closed",
        "there is no document 'x'; take a docid from a search result",
        None,
    ]
    assert "[error: ConnectionError" in requests_of(agent)[1][0][1]["content"]


def test_large_results_are_compressed_for_the_question(folder: Path) -> None:
    text = (
        " ".join(f"Filler {i} says nothing." for i in range(400))
        + " The spare key of the lighthouse is with Ada."
    )
    (folder / "long.md").write_text(text)
    agent = make_agent(
        folder,
        tagged(call_tag("open_page", docid="long.md")),
        tagged(FINISH, FOUND),
        result_tokens=200,
    )
    state = agent.run(QUESTION)
    shown = requests_of(agent)[1][0][1]["content"].split("[Tool result]\n")[1]
    assert COMPRESSOR.count_tokens(shown) <= 200
    assert "spare key of the lighthouse is with Ada" in shown
    assert state.trace[0].result_tokens > 1000


@pytest.mark.parametrize("strategy", ["summary", "transcript"])
def test_a_shortened_result_can_be_opened(folder: Path, strategy: Any) -> None:
    text = " ".join(f"Filler {i} says nothing." for i in range(400))
    (folder / "long.md").write_text(text)

    def speak(messages: Any) -> Any:
        last = str(messages[-1]["content"])
        if "id of the original: " in last:
            key = last.split("id of the original: ")[1][:12]
            if strategy == "summary":
                return tagged(call_tag("open_original", id=key, part="2"), "Nothing yet.")
            return tool_calls(("open_original", {"id": key, "part": 2}))
        if "[part 2 of " in last:
            return tagged(FINISH, FOUND) if strategy == "summary" else Reply("Ada")
        page = {"docid": "long.md"}
        return (
            tagged(call_tag("open_page", **page))
            if strategy == "summary"
            else tool_calls(("open_page", page))
        )

    tools = search_tools(FolderIndex(folder))
    agent = Agent(
        ScriptedChat(speak), tools, strategy=strategy, result_tokens=200, compressor=COMPRESSOR, max_turns=5
    )
    state = agent.run(QUESTION)
    assert state.outcome == "answered"
    assert [t.tool for t in state.trace][:2] == ["open_page", "open_original"]
    assert [t.error for t in state.trace] == [None] * 3
    assert text[600:700] in str(requests_of(agent)[-1][0])


def test_a_tool_recalls_lessons(folder: Path) -> None:
    bank = ExperienceBank(":memory:", Letters())
    bank.add(
        Experience("Ask for keys", "When a key is wanted.", "Search for the object first.", QUESTION, True)
    )
    agent = make_agent(
        folder,
        tagged(call_tag("retrieve_experience", query="find a key")),
        tagged(FINISH, FOUND),
        experience=bank,
    )
    state = agent.run(QUESTION)
    assert state.outcome == "answered"
    assert "retrieve_experience: recalls" in requests_of(agent)[0][0][0]["content"]
    assert "Search for the object first." in requests_of(agent)[1][0][1]["content"]
    (lesson,) = bank.experiences()
    assert state.recalled == (lesson.id,)
    bank.record_use(state.recalled, True)
    assert bank.get(lesson.id).wins == 1


def test_bad_calls_are_answered_with_what_is_wrong(folder: Path) -> None:
    agent = make_agent(
        folder,
        tool_calls(("fly", {}), ("search", "{"), ("search", "[]"), ("search", {})),
        Reply("Ada"),
        strategy="transcript",
    )
    state = agent.run(QUESTION)
    errors = [m["content"] for m in requests_of(agent)[1][0] if m["role"] == "tool"]
    assert "there is no tool 'fly'" in errors[0]
    assert "no JSON" in errors[1]
    assert "no JSON object" in errors[2]
    assert "needs the parameter 'query'" in errors[3]
    assert all(t.error for t in state.trace[:4])


def test_calls_without_ids_and_results_that_are_not_text_do_not_stop_the_episode(folder: Path) -> None:
    tools = [Tool("clock", "tells the time", {}, lambda _: None), *search_tools(FolderIndex(folder))]
    made = (ToolCall("", "clock", ""), ToolCall("", "open_page", '{"docid": null, "url": "notes/keys.md"}'))
    script = [Reply("", made), Reply("<think>Hm.</think>Ada")]
    agent = Agent(ScriptedChat(script), tools, strategy="transcript", compressor=COMPRESSOR)
    state = agent.run(QUESTION)
    assert state.answer == "Ada"
    results = [m for m in requests_of(agent)[1][0] if m["role"] == "tool"]
    assert len({m["tool_call_id"] for m in results}) == 2
    assert "clock gave a NoneType" in results[0]["content"]
    assert "spare key" in results[1]["content"]


def test_a_search_shows_the_urls_of_what_it_finds() -> None:
    class Web:
        def search(self, query: str, k: int) -> list[Hit]:
            return [
                Hit("7", "Keys", "Ada holds the key.", 1.0, "https://coast.example/keys"),
                Hit("8", "Oil", "It is in the cellar.", 0.5),
            ]

        def open(self, docid: str) -> Document:
            return {"https://coast.example/keys": Document("Ada holds the key.", "Keys")}[docid]

    search, open_page = search_tools(Web())
    found = search.run({"query": "key"})
    assert "[docid: 7] [url: https://coast.example/keys] Keys\nAda holds the key." in found
    assert "[docid: 8] Oil\n" in found
    assert "Ada holds" in open_page.run({"url": "https://coast.example/keys"})


def test_documents_that_are_no_files_can_be_searched() -> None:
    index = DocumentIndex(
        {"k": Document("Ada holds the spare key.", "Keys"), "r": Document("The roof is new.")}
    )
    (hit,) = index.search("spare key", 3)
    assert (hit.docid, hit.title, hit.passage) == ("k", "Keys", "Ada holds the spare key.")
    assert index.open("r").text == "The roof is new."
    assert len(index) == 2
    with pytest.raises(InvalidInputError, match="no document"):
        DocumentIndex({})
