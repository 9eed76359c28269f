"""Strict mode: a turn is what the model wrote, or the episode ends with a named outcome."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely_agents.agent import OUTCOMES, Agent, FolderIndex, StrategyName, Tool, search_tools
from tersely_agents.chat import ChatError, Reply, ScriptedChat
from tersely_agents.chat.protocol import remove_thoughts
from tersely_agents.memory import AgentMemory
from tests.sdk.agents import (
    COMPRESSOR,
    FINISH,
    FOUND,
    QUESTION,
    SEARCH,
    call_tag,
    make_agent,
    requests_of,
    tagged,
    tool_calls,
)


def fail(_: Mapping[str, str]) -> str:
    raise OSError("the disk is gone")


BROKEN = Tool("search", "is out of order", {"query": "what to look for"}, fail)
FULL = tool_calls(("open_page", {"docid": "long.md"}))
FINAL = tool_calls(("finish", {"answer": "Ada"}))


@pytest.fixture
def long_folder(folder: Path) -> Path:
    """Return the folder with a page that fills a small memory."""
    (folder / "long.md").write_text("Key number one is of brass. " * 3000)
    return folder


def small_memory(first: list[Any]) -> AgentMemory:
    return AgentMemory(first, limit=600, replay=False, compressor=COMPRESSOR)


def test_a_long_summary_stays_as_it_is(folder: Path) -> None:
    long = "The spare key of the lighthouse is with Ada. " * 200
    agent = make_agent(folder, tagged(SEARCH), tagged(SEARCH, long, 5), tagged(FINISH, FOUND), strict=True)
    agent.run(QUESTION)
    assert long.strip() in requests_of(agent)[2][0][1]["content"]


@pytest.mark.parametrize(
    ("strategy", "reply"),
    [
        ("summary", tagged(SEARCH)),
        ("transcript", tool_calls(("search", {"query": "key"}))),
        ("reset", tool_calls(("search", {"query": "key"}))),
        ("recon", "<search>key</search>"),
    ],
)
def test_broken_tools_and_servers_are_not_the_models_fault(strategy: Any, reply: Any) -> None:
    def run(*script: Any, **options: Any) -> Any:
        agent = Agent(ScriptedChat(script), [BROKEN], strategy=strategy, compressor=COMPRESSOR, **options)
        return agent.run(QUESTION)

    broken = run(reply, ChatError("it is down"), strict=True)
    assert broken.outcome == "environment"
    assert broken.reason == "the tool search broke: OSError: the disk is gone"
    assert broken.trace[-1].error == "OSError: the disk is gone"
    for strict in (False, True):
        state = run(ChatError("it is down"), strict=strict)
        assert (state.outcome, state.reason) == ("server", "it is down")
    assert run(reply, ChatError("it is down")).outcome == "server", "users may try another way"


def test_a_reset_drops_the_pair_that_did_not_fit(long_folder: Path) -> None:
    """SUPO: the next state is the first prompt and the summary, word for word."""
    notes = "  Looked at keys. <think>None</think> is the spare one."
    options: dict[str, Any] = {"strategy": "reset", "memory": small_memory, "strict": True}
    agent = make_agent(long_folder, FULL, notes, FINAL, **options)
    state = agent.run(QUESTION)
    assert (state.outcome, state.transcript.resets) == ("answered", 1)
    last = requests_of(agent)[-1][0]
    assert [m["role"] for m in last] == ["system", "user"]
    assert notes.strip() in last[1]["content"]
    assert last[1]["content"].startswith(QUESTION)


def test_without_a_memory_there_are_seven_resets(long_folder: Path) -> None:
    options: dict[str, Any] = {"strategy": "reset", "strict": True, "result_tokens": 10**6, "max_turns": 99}
    agent = make_agent(long_folder, *[FULL, "Nothing yet."] * 30, **options)
    state = agent.run(QUESTION)
    assert (state.outcome, state.transcript.resets) == ("overlong", 7)
    assert len(requests_of(agent)) == 15, "each pair is dropped, so eight do not fit and seven are summarised"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [("", "malformed"), ("too many words " * 80, "overlong"), (ChatError("it is down"), "server")],
)
def test_unusable_notes_end_the_episode(long_folder: Path, reply: Any, outcome: str) -> None:
    agent = make_agent(long_folder, FULL, reply, strategy="reset", memory=small_memory, strict=True)
    state = agent.run(QUESTION)
    assert (state.outcome, state.transcript.resets) == (outcome, 0)
    assert state.reason


_PIECES = st.sampled_from(
    [
        *("<think>a</think>", "<summary_level>1</summary_level>", "<summary>b</summary>", SEARCH, FINISH),
        *("<search>key</search>", "<answer>Ada</answer>", "<search>", "</answer>", "text", "\n"),
        *(tagged(SEARCH, FOUND), tagged(FINISH, FOUND), tagged(call_tag("fly"))),
    ]
)
_REPLIES = st.one_of(
    st.lists(_PIECES, max_size=5).map(lambda pieces: Reply("".join(pieces))),
    st.just(tool_calls(("search", {"query": "key"}))),
    st.just(tool_calls(("search", "{"), ("finish", {}))),
    st.just(ChatError("it is down")),
)


@given(
    strategy=st.sampled_from(["summary", "transcript", "reset", "recon"]),
    script=st.lists(_REPLIES, min_size=1),
)
def test_each_turn_asks_once_and_every_end_has_a_name(
    tmp_path_factory: pytest.TempPathFactory, strategy: StrategyName, script: list[Any]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "strict"
    folder.mkdir(exist_ok=True)
    (folder / "keys.md").write_text("The spare key is with Ada.")
    model, tools = ScriptedChat(iter([*script, *[""] * 5])), search_tools(FolderIndex(folder))
    agent = Agent(model, tools, strategy=strategy, max_turns=4, compressor=COMPRESSOR, strict=True)
    state = agent.run(QUESTION)
    assert state.outcome in OUTCOMES
    assert len(model.requests) == state.turns <= 4
    said = [text for reply in script if isinstance(reply, Reply) for text in _readings(reply)]
    assert not state.answer or any(state.answer in text for text in said), "nobody answers for the model"


def _readings(reply: Reply) -> tuple[str, str]:
    return reply.text, remove_thoughts(reply.text)
