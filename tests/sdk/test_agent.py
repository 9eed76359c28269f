"""The loop of an agent: steps, limits, failures, settings, and the trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tersely import InvalidInputError
from tersely_agents.agent import Agent, trace
from tersely_agents.agent.tools import finish_tool
from tersely_agents.chat import ChatError, Reply, ScriptedChat
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
)


def test_steps_are_a_function_of_the_state(folder: Path) -> None:
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


def test_turns_are_limited(folder: Path) -> None:
    state = make_agent(folder, *[tagged(SEARCH, FOUND)] * 5, max_turns=3).run(QUESTION)
    assert (state.outcome, len(state.trace)) == ("turns", 3)
    assert state.reason == "there is no answer after 3 turns"


def test_a_failing_model_ends_the_episode(folder: Path) -> None:
    state = make_agent(folder, tagged(SEARCH), ChatError("small cannot be reached")).run(QUESTION)
    assert (state.outcome, state.reason) == ("server", "small cannot be reached")
    assert [(t.tool, t.error) for t in state.trace] == [("search", None), (None, "small cannot be reached")]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"strategy": "magic"}, "Pass one of 'summary', 'reset', 'transcript', 'recon'"),
        ({"memory": lambda first: AgentMemory(first, limit=600)}, "Pass strategy='reset'"),
        (
            {"memory": lambda first: AgentMemory(first, limit=600), "strategy": "transcript"},
            "strategy='reset'",
        ),
        ({"max_turns": 0}, "1 or more"),
        ({"memory": "my memory", "strategy": "reset"}, "Pass a function that makes one"),
    ],
)
def test_bad_settings_are_refused(folder: Path, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        make_agent(folder, **options)
    with pytest.raises(InvalidInputError, match="a name of its own"):
        Agent(ScriptedChat([]), [finish_tool()], compressor=COMPRESSOR)
    with pytest.raises(InvalidInputError, match="The query is empty"):
        make_agent(folder).run(" ")


def test_traces_are_json_lines_and_a_table(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    state = make_agent(folder, "?", tagged(SEARCH), tagged(FINISH, FOUND), trace_file=file).run(QUESTION)
    assert trace.read_turns(file) == list(state.trace)
    shown = trace.format_table(trace.read_turns(file))
    assert "search(spare key lighthouse) [retried]" in shown
    assert "finish(Ada" in shown
    assert shown.splitlines()[-1].split()[0] == "all"
    assert all(len(line) <= 100 for line in shown.splitlines())
    again = make_agent(folder, tagged(FINISH), trace_file=file).run(QUESTION)
    assert [t.task for t in trace.read_turns(file)] == [state.task, state.task, again.task]
    assert "" in trace.format_table(trace.read_turns(file)).splitlines()
    file.write_text("")
    assert trace.read_turns(file) == []
    file.write_text('{"turn": 1}\n')
    with pytest.raises(InvalidInputError, match="line 1 is no turn"):
        trace.read_turns(file)


def test_a_trace_may_hold_any_text(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    odd = tagged(call_tag("search", query="key\u2028 \ud800"))
    state = make_agent(folder, odd, tagged(FINISH, FOUND), trace_file=file).run(QUESTION)
    assert trace.read_turns(file) == list(state.trace)
