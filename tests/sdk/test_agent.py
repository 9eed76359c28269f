"""The loop of an agent: steps, batches, limits, failures, settings, and the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tersely import InvalidInputError
from tersely.messages import measure_tokens
from tersely_agents.agent import Agent, EpisodeState, FolderIndex, search_tools, trace
from tersely_agents.agent.tools import finish_tool
from tersely_agents.chat import ChatError, Message, Reply, ScriptedChat
from tersely_agents.memory import AgentMemory
from tests.sdk.agents import (
    COMPRESSOR,
    FINISH,
    FOUND,
    QUESTION,
    SEARCH,
    call_tag,
    make_agent,
    tagged,
    tool_calls,
)
from tests.sdk.conversations import facts

QUESTIONS = [
    QUESTION,
    "Which tower is of granite?",
    "When are the pears ripe?",
    "Who answers nobody?",
    "Where is the boat house?",
]


def test_a_step_depends_on_the_state_alone(folder: Path) -> None:
    agent = make_agent(folder)
    start = agent.start(QUESTION)
    reply = Reply(tagged(SEARCH))
    one, other = agent.step(start, reply), agent.step(start, reply)
    assert (one.result, one.summary) == (other.result, other.summary)
    assert start.trace == ()
    done = make_agent(folder, tagged(FINISH)).run(QUESTION)
    assert agent.step(done, reply) is done
    with pytest.raises(InvalidInputError, match="Start another one"):
        agent.request(done)


def speak(messages: Sequence[Message]) -> Any:
    """Return replies of a conversation: long pages, notes, an empty reply, an answer after some turns."""
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
    """Run all tasks side by side; each round replies to the requests in reverse order."""
    states = [agent.start(question) for question in questions]
    while places := [place for place, state in enumerate(states) if state.outcome is None]:
        replies = {place: agent.complete(agent.request(states[place])) for place in reversed(places)}
        for place in places:
            states[place] = agent.step(states[place], replies[place])
    return states


def without_times(state: EpisodeState) -> EpisodeState:
    return replace(state, trace=tuple(replace(turn, seconds=0, task="") for turn in state.trace), task="")


def test_a_batch_gives_what_single_runs_give(folder: Path) -> None:
    (folder / "long.md").write_text(facts(1, 60))
    agent = Agent(
        ScriptedChat(speak),
        search_tools(FolderIndex(folder)),
        strategy="reset",
        memory=lambda first: AgentMemory(
            first, limit=1000, max_summaries=3, compress_over=200, compressor=COMPRESSOR
        ),
        max_turns=8,
        result_tokens=150,
        compressor=COMPRESSOR,
    )
    single = [without_times(agent.run(question)) for question in QUESTIONS]
    assert [without_times(state) for state in run_batch(agent, QUESTIONS)] == single
    outcomes = {state.outcome for state in single}
    assert {"answered", "server"} <= outcomes
    assert "overlong" in outcomes or "turns" in outcomes
    assert max(state.transcript.resets for state in single) > 1


def test_a_correction_is_a_request_of_the_same_turn(folder: Path) -> None:
    agent = make_agent(folder)
    start = agent.start(QUESTION)
    wrong = agent.step(start, Reply("I will search."))
    assert wrong.trace == ()
    messages = agent.request(wrong).messages
    assert messages[:-2] == agent.request(start).messages
    assert messages[-2] == {"role": "assistant", "content": "I will search."}
    assert "Answer again with all four parts." in messages[-1]["content"]
    right = agent.step(wrong, Reply(tagged(SEARCH)))
    assert [turn.retried for turn in right.trace] == [True]
    sent = [agent.request(state).messages for state in (start, wrong)]
    paid = sum(measure_tokens(messages, COMPRESSOR.count_tokens) for messages in sent)
    assert right.trace[0].tokens_in == paid, "both calls are paid"
    assert right.retry == ()


MEMORY = {"memory": lambda first: AgentMemory(first, limit=600)}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"strategy": "magic"}, "Pass one of 'summary', 'reset', 'transcript', 'recon'"),
        (MEMORY, "Pass strategy='reset'"),
        ({**MEMORY, "strategy": "transcript"}, "strategy='reset'"),
        ({"memory": "my memory", "strategy": "reset"}, "Pass a function that makes one"),
        ({"max_turns": 0}, "1 or more"),
        ({"constrained": True, "strategy": "reset"}, "for the strategy 'summary', not 'reset'"),
    ],
)
def test_bad_settings_are_refused(folder: Path, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        make_agent(folder, **options)


def test_tools_with_one_name_and_empty_questions_are_refused(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match="a name of its own"):
        Agent(ScriptedChat([]), [finish_tool()], compressor=COMPRESSOR)
    with pytest.raises(InvalidInputError, match="The query is empty"):
        make_agent(folder).run(" ")


def test_traces_are_json_lines_and_a_table(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    odd = tagged(call_tag("search", query="key\u2028 \ud800"))
    state = make_agent(folder, "?", odd, tagged(FINISH, FOUND), trace_file=file).run(QUESTION)
    assert trace.read_turns(file) == list(state.trace)
    shown = trace.format_table(trace.read_turns(file))
    assert "[retried]" in shown
    assert "finish(Ada" in shown
    assert shown.splitlines()[-1].split()[0] == "all"
    assert all(len(line) <= 100 for line in shown.splitlines())
    again = make_agent(folder, tagged(FINISH), trace_file=file).run(QUESTION)
    assert [t.task for t in trace.read_turns(file)] == [state.task, state.task, again.task]
    assert "" in trace.format_table(trace.read_turns(file)).splitlines()


def test_a_broken_trace_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text("")
    assert trace.read_turns(file) == []
    file.write_text('{"turn": 1}\n')
    with pytest.raises(InvalidInputError, match="line 1 is no turn"):
        trace.read_turns(file)
