"""An agent that was trained here, around its model: what it reads of a search, and what becomes of a turn
that cannot be read. The model is scripted; tests/stack runs the real one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tersely import ArtifactError, Compressor, Document, InvalidInputError, cli
from tersely.runtime.artifacts import write_manifest
from tersely_agents.agent import Agent, DocumentIndex, Hit, SelectedHits, load_agent
from tersely_agents.agent.summary import parse_turn, write_grammar
from tersely_agents.agent.tools import finish_tool
from tersely_agents.agent.trained import describe_prompts, make_agent
from tersely_agents.chat import ScriptedChat
from tersely_agents.levels import LEVELS
from tests.sdk.agents import COMPRESSOR, FINISH, FOUND, QUESTION, SEARCH, tagged

PAGES = {
    "keys.md": Document(
        "Ada holds the spare key of the lighthouse. She likes tea. The stairs are steep.", "Keys"
    ),
    "pears.md": Document("The pears are ripe in September. The key to good jam is patience.", "Garden"),
}
INDEX = DocumentIndex(PAGES)


def test_a_search_shows_the_sentences_that_its_query_needs_with_their_docids() -> None:
    hits = SelectedHits(INDEX, Compressor(), 12).search("spare key of the lighthouse", 5)
    assert [(hit.docid, hit.passage) for hit in hits] == [
        ("keys.md", "Ada holds the spare key of the lighthouse.")
    ]
    assert INDEX.search("spare key of the lighthouse", 5)[0].passage == PAGES["keys.md"].text


def test_selected_hits_open_whole_documents_and_find_nothing_where_there_is_nothing() -> None:
    selected = SelectedHits(INDEX, COMPRESSOR, 16)
    assert selected.open("pears.md") is PAGES["pears.md"]
    assert selected.search("zebra", 5) == []


def test_selected_hits_keep_what_a_retriever_says_of_its_documents() -> None:
    class Web:
        def search(self, query: str, k: int) -> list[Hit]:
            return [Hit("1", "Keys", "Ada holds the key.", 2.5, "https://lighthouse.example")][:k]

        def open(self, docid: str) -> Document:
            raise KeyError(docid)

    (hit,) = SelectedHits(Web(), COMPRESSOR, 30).search("key", 1)
    assert (hit.score, hit.url) == (2.5, "https://lighthouse.example")


@pytest.mark.parametrize("budget", [0, -1, 2.5, "many"])
def test_a_budget_is_a_number_of_tokens(budget: object) -> None:
    with pytest.raises(InvalidInputError, match="budget"):
        SelectedHits(INDEX, COMPRESSOR, budget)  # pyright: ignore[reportArgumentType]


def test_a_turn_that_is_written_is_read_back() -> None:
    arguments = {"answer": "Ada", "explanation": "[keys.md]"}
    text = write_turn("So it is.", LEVELS[1], FOUND, "finish", arguments)
    turn = parse_turn(text, [finish_tool(needs_explanation=True)], needs_summary=True)
    assert (turn.think, turn.level, turn.summary) == ("So it is.", LEVELS[1], FOUND)
    assert turn.call.arguments == arguments


def test_a_constrained_agent_asks_for_a_grammar_of_its_tools_that_knows_whether_a_summary_is_due() -> None:
    chat = ScriptedChat([tagged(SEARCH), tagged(FINISH, FOUND)])
    make_agent(chat, INDEX, COMPRESSOR, 60, constrained=True).run(QUESTION)
    first, second = (options["grammar"] for _, options in chat.requests)
    for tool in ("search", "open_page", "open_original", "finish"):
        assert f'"<function={tool}>"' in first
    assert (first.count(")?"), second.count(")?")) == (1, 0)


@pytest.mark.parametrize(
    ("material", "levels"),
    [
        (0, {1: "{0,499}"}),
        (40, {1: "{38,498}"}),
        (499, {1: "{98,498}"}),
        (500, {1: "{98,498}", 2: "{498,998}"}),
    ],
)
def test_the_grammar_counts_a_summary_that_fits_its_level_and_what_there_is(
    material: int, levels: dict[int, str]
) -> None:
    root = write_grammar([finish_tool(needs_explanation=True)], material).splitlines()[0]
    counted = re.findall(r'"(\d)</summary_level>.*?(\{\d+,\d+\})', root)
    assert {int(level): count for level, count in counted} == levels


def test_an_agent_without_a_grammar_asks_for_none() -> None:
    chat = ScriptedChat([tagged(SEARCH), tagged(FINISH, FOUND)])
    make_agent(chat, INDEX, COMPRESSOR, 60).run(QUESTION)
    assert [options for _, options in chat.requests] == [{}, {}]


def test_only_the_strategy_of_summaries_has_a_grammar() -> None:
    with pytest.raises(InvalidInputError, match="constrained is for the strategy 'summary', not 'reset'"):
        Agent(ScriptedChat(()), [], strategy="reset", constrained=True)


def test_the_model_reads_no_more_of_a_search_than_in_training() -> None:
    long = {f"{n}.md": Document(f"Ada holds key {n} of the lighthouse. " * 30) for n in range(12)}
    agent = make_agent(
        ScriptedChat([tagged(SEARCH), tagged(FINISH, FOUND)]), DocumentIndex(long), COMPRESSOR, 60
    )
    agent.run(QUESTION)
    assert isinstance(agent.model, ScriptedChat)
    read = agent.model.requests[1][0][1]["content"]
    assert COMPRESSOR.count_tokens(read) < 150


def test_turns_that_cannot_be_read_end_with_the_compressors_answer_or_cleanly() -> None:
    agent = make_agent(ScriptedChat(["<think>"] * 9), INDEX, COMPRESSOR, 60)
    state = agent.run(QUESTION)
    assert (state.outcome, state.reason) == ("answered", "the model's turns could not be read")
    assert all(turn.fallback for turn in state.trace)
    strict = make_agent(ScriptedChat(["<think>"]), INDEX, COMPRESSOR, 60, strict=True).run(QUESTION)
    assert (strict.outcome, strict.answer) == ("malformed", "")
    assert strict.reason == "<summary_level> has to occur once, and occurs 0 times"


def write_artifact(folder: Path, prompts: dict[str, str], kind: str = "agent") -> Path:
    folder.mkdir()
    (folder / "adapter.gguf").write_bytes(b"GGUF" + b"\0" * 20)
    values = {
        "kind": kind,
        "adapter": "adapter.gguf",
        "prompts": prompts,
        "search_tokens": 9,
        "max_tokens": 9,
    }
    (folder / "config.json").write_text(json.dumps(values), "utf-8")
    write_manifest(folder)
    return folder


def test_an_agent_for_other_prompts_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    old = write_artifact(tmp_path / "old", {"agent_summary_system": "00000000"})
    with pytest.raises(ArtifactError, match="prompts that tersely no longer has"):
        load_agent(INDEX, old, compressor=COMPRESSOR)
    other = write_artifact(tmp_path / "other", describe_prompts(), "summarizer")
    with pytest.raises(ArtifactError, match="'summarizer', not a 'agent'"):
        load_agent(INDEX, other, compressor=COMPRESSOR)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "keys.md").write_text("# Keys\n\nAda holds the spare key.", "utf-8")
    return folder


@pytest.mark.parametrize(
    ("further", "message"),
    [
        (["--strategy", "reset"], "Leave --strategy out"),
        (["--chat-model", "other"], "Leave it out with --local"),
    ],
)
def test_the_command_refuses_what_a_trained_agent_has_no_use_for(
    further: list[str], message: str, notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    artifact = write_artifact(tmp_path / "mine", describe_prompts())
    command = ["agent", "--docs", str(notes), "-q", QUESTION, "--local", str(artifact), *further]
    assert cli.main(command) == 2
    assert message in capsys.readouterr().err


def test_the_command_says_that_an_artifact_cannot_be_used(
    notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    artifact = write_artifact(tmp_path / "mine", {})
    assert cli.main(["agent", "--docs", str(notes), "-q", QUESTION, "--local", str(artifact)]) == 3
    error = capsys.readouterr().err
    assert "Train it again" in error
    assert "Traceback" not in error
