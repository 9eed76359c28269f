"""An agent searches and calls tools, and a failing tool gives an error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor, Document, InvalidInputError
from tersely_agents.agent import (
    Agent,
    DocumentIndex,
    FolderIndex,
    Hit,
    SelectedHits,
    Tool,
    ToolError,
    search_tools,
)
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

LONG = " ".join(f"Filler {i} says nothing." for i in range(400))
INDEX = DocumentIndex(
    {
        "keys.md": Document("Ada holds the spare key of the lighthouse. She likes tea.", "Keys"),
        "pears.md": Document("The pears are ripe in September. The key to good jam is patience."),
    }
)


class Web:
    """A retriever whose documents have urls."""

    def search(self, query: str, k: int) -> list[Hit]:
        keys = Hit("7", "Keys", "Ada holds the key.", 1.0, "https://coast.example/keys")
        return [keys, Hit("8", "Oil", "It is in the cellar.", 0.5)][:k]

    def open(self, docid: str) -> Document:
        return {"https://coast.example/keys": Document("Ada holds the key.", "Keys")}[docid]


def test_a_folder_is_searched_by_passages(folder: Path) -> None:
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


def test_documents_without_files_can_be_searched() -> None:
    hits = INDEX.search("spare key", 3)
    assert (hits[0].docid, hits[0].title) == ("keys.md", "Keys")
    assert hits[1].title == "pears.md"
    assert INDEX.open("pears.md").text.startswith("The pears")


def test_collections_without_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="holds no text"):
        FolderIndex(tmp_path)
    with pytest.raises(InvalidInputError, match="There is no folder"):
        FolderIndex(tmp_path / "missing")
    with pytest.raises(InvalidInputError, match="no document"):
        DocumentIndex({})


def test_selected_hits_keep_the_sentences_that_matter() -> None:
    selected = SelectedHits(INDEX, Compressor(), 12)
    (hit,) = selected.search("spare key of the lighthouse", 5)
    assert (hit.docid, hit.passage) == ("keys.md", "Ada holds the spare key of the lighthouse.")
    assert selected.open("pears.md") is INDEX.open("pears.md")
    assert selected.search("zebra", 5) == []
    (hit,) = SelectedHits(Web(), COMPRESSOR, 30).search("key", 1)
    assert (hit.score, hit.url) == (1.0, "https://coast.example/keys")


@pytest.mark.parametrize("budget", [0, -1, 2.5, "many"])
def test_a_budget_is_a_number_of_tokens(budget: Any) -> None:
    with pytest.raises(InvalidInputError, match="budget"):
        SelectedHits(INDEX, COMPRESSOR, budget)


def test_a_search_shows_urls() -> None:
    search, open_page = search_tools(Web())
    found = search.run({"query": "key"})
    assert "[docid: 7] [url: https://coast.example/keys] Keys\nAda holds the key." in found
    assert "[docid: 8] Oil\n" in found
    assert "Ada holds" in open_page.run({"url": "https://coast.example/keys"})


def test_tools_explain_wrong_arguments() -> None:
    search = search_tools(INDEX)[0]
    with pytest.raises(ToolError, match="whole number"):
        search.run({"query": "x", "topk": "many"})
    assert search.run({"query": "zebra"}) == "Nothing was found. Try other words."
    assert search.schema()["function"]["parameters"]["required"] == ["query"]


def test_an_error_of_a_tool_is_its_result() -> None:
    def fail(_: Mapping[str, str]) -> str:
        raise ConnectionError("the archive is closed")

    tools = [Tool("archive", "asks the archive", {}, fail), *search_tools(INDEX)]
    missing = tagged(call_tag("open_page", docid="x"), "Nothing yet.")
    script = [tagged(call_tag("archive")), missing, tagged(FINISH, FOUND)]
    agent = Agent(ScriptedChat(script), tools, compressor=COMPRESSOR)
    assert [t.error for t in agent.run(QUESTION).trace] == [
        "ConnectionError: the archive is closed",
        "there is no document 'x'; take a docid from a search result",
        None,
    ]
    assert "[error: ConnectionError" in requests_of(agent)[1][0][1]["content"]


@pytest.mark.parametrize("strategy", ["summary", "transcript"])
def test_a_shortened_result_can_be_opened(folder: Path, strategy: Any) -> None:
    (folder / "long.md").write_text(LONG)

    def call(name: str, summary: str = "", **arguments: str) -> Any:
        is_tagged = strategy == "summary"
        return tagged(call_tag(name, **arguments), summary) if is_tagged else tool_calls((name, arguments))

    def speak(messages: Any) -> Any:
        last = str(messages[-1]["content"])
        if "id of the original: " in last:
            key = last.split("id of the original: ")[1][:12]
            return call("open_original", "Nothing yet.", id=key, part="2")
        if "[part 2 of " in last:
            return tagged(FINISH, FOUND) if strategy == "summary" else Reply("Ada")
        return call("open_page", docid="long.md")

    tools = search_tools(FolderIndex(folder))
    agent = Agent(
        ScriptedChat(speak), tools, strategy=strategy, result_tokens=200, compressor=COMPRESSOR, max_turns=5
    )
    state = agent.run(QUESTION)
    assert state.outcome == "answered"
    assert [t.tool for t in state.trace][:2] == ["open_page", "open_original"]
    assert [t.error for t in state.trace] == [None] * 3
    assert LONG[600:700] in str(requests_of(agent)[-1][0])


def test_a_tool_recalls_lessons(folder: Path) -> None:
    bank = ExperienceBank(":memory:", Letters())
    bank.add(
        Experience("Ask for keys", "When a key is wanted.", "Search for the object first.", QUESTION, True)
    )
    script = [tagged(call_tag("retrieve_experience", query="find a key")), tagged(FINISH, FOUND)]
    agent = make_agent(folder, *script, experience=bank)
    state = agent.run(QUESTION)
    assert state.outcome == "answered"
    assert "retrieve_experience: recalls" in requests_of(agent)[0][0][0]["content"]
    assert "Search for the object first." in requests_of(agent)[1][0][1]["content"]
    (lesson,) = bank.experiences()
    assert state.recalled == (lesson.id,)


def test_bad_calls_are_answered_with_what_is_wrong(folder: Path) -> None:
    bad = tool_calls(("fly", {}), ("search", "{"), ("search", "[]"), ("search", {}))
    agent = make_agent(folder, bad, Reply("Ada"), strategy="transcript")
    state = agent.run(QUESTION)
    errors = [m["content"] for m in requests_of(agent)[1][0] if m["role"] == "tool"]
    causes = ["there is no tool 'fly'", "no JSON:", "no JSON object", "needs the parameter 'query'"]
    assert all(cause in error for cause, error in zip(causes, errors, strict=True))
    assert [f"[error: {turn.error}]" for turn in state.trace if turn.error] == errors


def test_odd_calls_and_results_do_not_stop_the_episode(folder: Path) -> None:
    tools = [Tool("clock", "tells the time", {}, lambda _: None), *search_tools(FolderIndex(folder))]
    made = (ToolCall("", "clock", ""), ToolCall("", "open_page", '{"docid": null, "url": "notes/keys.md"}'))
    script = [Reply("", made), Reply("<think>Hm.</think>Ada")]
    agent = Agent(ScriptedChat(script), tools, strategy="transcript", compressor=COMPRESSOR)
    assert agent.run(QUESTION).answer == "Ada"
    results = [m for m in requests_of(agent)[1][0] if m["role"] == "tool"]
    assert len({m["tool_call_id"] for m in results}) == 2
    assert "clock gave a NoneType" in results[0]["content"]
    assert "spare key" in results[1]["content"]
