"""Many episodes side by side: `request` for all, one generation, `step` for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tersely.messages import measure_tokens
from tersely_agents.agent import Agent, EpisodeState, FolderIndex, Request, search_tools
from tersely_agents.chat import ChatError, Message, Reply, ScriptedChat
from tersely_agents.memory import AgentMemory
from tests.sdk.agents import COMPRESSOR, FINISH, FOUND, SEARCH, tagged, tool_calls
from tests.sdk.conversations import facts

QUESTIONS = [
    "Who holds the spare key of the lighthouse?",
    "Which tower is of granite?",
    "When are the pears ripe?",
    "Who answers nobody?",
    "Where is the boat house?",
]


def speak_tagged(messages: Sequence[Message]) -> Any:
    """Turns of the strategy "summary"; the first of some questions is malformed, one is never readable."""
    question, last = str(messages[1]["content"]), str(messages[-1]["content"])
    if "nobody" in question:
        return ChatError("the server is down")
    if "granite" in question:
        return "I do not know the format."
    if "pears" in question and "That cannot be read" not in last:
        return "Let me see."
    return tagged(FINISH if "[docid: " in last else SEARCH, FOUND)


def speak(messages: Sequence[Message]) -> Any:
    """Replies of a conversation: long pages, notes, an empty reply, an answer after some turns."""
    question, last = str(messages[1]["content"]), str(messages[-1]["content"])
    if "Write the notes only" in last:
        return "" if "pears" in question else "Nothing certain yet."
    if "nobody" in question:
        return ChatError("the server is down")
    if "boat" in question and "You said nothing" not in last:
        return Reply("<think>Hm.</think>")
    if len(messages) > 6 and "granite" in question:
        return Reply("The tower of Morrow.")
    return tool_calls(("open_page", {"docid": "long.md"}), ("search", {"query": "spare key"}))


def run_batch(agent: Agent, questions: Sequence[str]) -> list[EpisodeState]:
    states = [agent.start(question) for question in questions]
    while open_places := [place for place, state in enumerate(states) if state.outcome is None]:
        requests = [agent.request(states[place]) for place in open_places]
        replies = generate(agent, requests)
        for place, reply in zip(open_places, replies, strict=True):
            states[place] = agent.step(states[place], reply)
    return states


def generate(agent: Agent, requests: Sequence[Request]) -> list[Reply | ChatError]:
    """The replies to all requests, in any order."""
    replies = [agent.complete(request) for request in reversed(requests)]
    return replies[::-1]


def timeless(state: EpisodeState) -> EpisodeState:
    """The state without what differs from run to run."""
    trace = tuple(replace(turn, seconds=0, task="") for turn in state.trace)
    return replace(state, trace=trace, task="")


@pytest.mark.parametrize("strategy", ["summary", "reset", "transcript"])
def test_a_batch_gives_what_single_runs_give(folder: Path, strategy: Any) -> None:
    (folder / "long.md").write_text(facts(1, 60))
    options: dict[str, Any] = {"strategy": strategy, "max_turns": 8, "result_tokens": 150}
    if strategy == "reset":
        options["memory"] = lambda first: AgentMemory(
            first, limit=1000, max_summaries=3, compress_over=200, compressor=COMPRESSOR
        )
    model = ScriptedChat(speak_tagged if strategy == "summary" else speak)
    agent = Agent(model, search_tools(FolderIndex(folder)), compressor=COMPRESSOR, **options)
    single = [timeless(agent.run(question)) for question in QUESTIONS]
    assert [timeless(state) for state in run_batch(agent, QUESTIONS)] == single
    outcomes = {state.outcome for state in single}
    assert {"answered", "server"} <= outcomes
    if strategy == "reset":
        assert max(state.transcript.resets for state in single) > 1
        assert "overlong" in outcomes or "turns" in outcomes


def test_a_full_context_is_a_state_whose_request_asks_for_notes(folder: Path) -> None:
    (folder / "long.md").write_text(facts(1, 60))
    agent = Agent(
        ScriptedChat(speak),
        search_tools(FolderIndex(folder)),
        strategy="reset",
        memory=lambda first: AgentMemory(first, limit=600, compressor=COMPRESSOR),
        compressor=COMPRESSOR,
    )
    state = agent.start(QUESTIONS[0])
    full = agent.step(state, tool_calls(("open_page", {"docid": "long.md"})))
    assert full.transcript.is_full
    request = agent.request(full)
    assert "Write the notes only" in request.messages[-1]["content"]
    assert request.options.get("tool_choice") == "none"
    after = agent.step(full, Reply("It is with Ada."))
    assert (full.transcript.is_full, after.transcript.is_full) == (True, False)
    assert after.transcript.notes == "It is with Ada."
    assert len(after.trace) == len(full.trace), "the turn goes on"
    assert after.tokens_in == measure_tokens(request.messages, COMPRESSOR.count_tokens)
    assert agent.request(after).messages == after.transcript.messages


def test_a_correction_is_a_request_of_the_same_turn(folder: Path) -> None:
    agent = Agent(ScriptedChat([]), search_tools(FolderIndex(folder)), compressor=COMPRESSOR)
    start = agent.start(QUESTIONS[0])
    wrong = agent.step(start, Reply("I will search."))
    assert wrong.trace == ()
    messages = agent.request(wrong).messages
    assert messages[: len(messages) - 2] == agent.request(start).messages
    assert messages[-2] == {"role": "assistant", "content": "I will search."}
    assert "Answer again with all four parts." in messages[-1]["content"]
    right = agent.step(wrong, Reply(tagged(SEARCH)))
    assert [turn.retried for turn in right.trace] == [True]
    paid = sum(
        measure_tokens(agent.request(state).messages, COMPRESSOR.count_tokens) for state in (start, wrong)
    )
    assert right.trace[0].tokens_in == paid, "both calls are paid"
    assert right.retry == ()
