"""Agent memories: recorded transcripts, replays by hand, and the comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.memory.__main__ import list_memories, make_tables, replay_set
from benchmarks.memory.memories import MASK, DropOldest, Everything, MaskObservations
from benchmarks.memory.replay import count_orphans, replay, sum_prices
from benchmarks.memory.transcripts import Transcript, find_facts, read_transcripts
from tersely import Compressor
from tersely.messages import Json, measure_tokens
from tests.benchmarks.towns import write_rows
from tests.sdk.fakes import FakeScorer

FIRST: list[Json] = [
    {"role": "system", "content": "You book boats."},
    {"role": "user", "content": "I am Ada. Book me a boat."},
]


def make_call(key: str, **arguments: Any) -> Json:
    """Return a message of the assistant that calls the tool `book`."""
    function = {"name": "book", "arguments": json.dumps(arguments)}
    call = {"id": key, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def make_result(key: str, text: str) -> Json:
    """Return the result of the call `key`."""
    return {"role": "tool", "tool_call_id": key, "content": text}


REST: list[Json] = [
    make_call("1", name="Ada"),
    make_result("1", "Ada has the number BX-771 and the boats Elsa and Nora."),
    {"role": "user", "content": "Take the cheaper one."},
    make_call("2", boats=["Elsa", "Nora"], number="BX-771", seats=2),
    make_result("2", "Elsa costs 120, Nora 95."),
    make_call("3", boat={"name": "Nora"}, price=95),
    make_result("3", "Done."),
]

COMPRESSOR = Compressor(FakeScorer())
COUNT = COMPRESSOR.count_tokens
TRANSCRIPT = Transcript("t", FIRST, REST, find_facts(FIRST, REST))


def test_a_replay_counts_tokens_and_facts() -> None:
    account = replay(TRANSCRIPT, Everything(FIRST), COUNT)
    sizes = [measure_tokens([*FIRST, *REST[:n]], COUNT) for n in (0, 3, 5)]
    assert (account.contexts, account.cached) == (sizes, sizes[0] + sizes[1])
    assert (account.held, account.needed, account.orphans) == (4, 4, 0)
    line = account.to_line()
    assert sum_prices([line], cache=False) == sum(sizes)
    assert sum_prices([line], cache=True) == pytest.approx(sizes[2] + 0.1 * (sizes[0] + sizes[1]))


def test_masking_hides_all_but_the_last_results() -> None:
    memory = MaskObservations(FIRST, 1)
    for message in REST[:6]:
        memory.append(message)
    results = [message["content"] for message in memory.context() if message["role"] == "tool"]
    assert results == [MASK, "Elsa costs 120, Nora 95."]
    account = replay(TRANSCRIPT, MaskObservations(FIRST, 1), COUNT)
    assert (account.held, account.needed) == (4, 4)
    other = Transcript("t", FIRST, REST, {5: ["BX-771x", "Elsa costs"]})
    assert replay(other, MaskObservations(FIRST, 1), COUNT).held == 1


def test_dropping_the_oldest_keeps_calls_with_their_results() -> None:
    for limit in range(20, 200, 5):
        memory = DropOldest(FIRST, limit, COUNT)
        for message in REST:
            memory.append(message)
            if message["role"] != "assistant":
                assert count_orphans(memory.context()) == 0
        assert measure_tokens(memory.context(), COUNT) < limit or memory.context() == FIRST


def test_calls_and_results_without_each_other_are_orphans() -> None:
    assert count_orphans(REST) == 0
    assert count_orphans([REST[1]]) == 1
    assert count_orphans([REST[0], REST[2]]) == 1
    assert count_orphans([REST[0], REST[1], REST[3]]) == 1


def test_tersely_is_compared_at_no_higher_bill() -> None:
    steps = [
        (make_call(f"c{i}", n=i), make_result(f"c{i}", f"Berth 100{i} is free. " * 20)) for i in range(15)
    ]
    rest = [message for step in steps for message in step]
    rest += [make_call("x", berth=1007), make_result("x", "Done.")]
    transcripts = [Transcript("t", FIRST, rest, find_facts(FIRST, rest))] * 2
    lines = replay_set("some", transcripts, list_memories(COMPRESSOR, (500,)), COMPRESSOR)
    replayed, table = make_tables(lines, 13)
    (counts,) = replayed.rows
    messages, facts = 2 * (len(FIRST) + len(rest)), 2 * sum(map(len, transcripts[0].facts.values()))
    assert (counts["transcripts"], counts["messages"], counts["facts"]) == (2, messages, facts)
    rows = {str(row["memory"]): row for row in table.rows}
    everything = rows["everything"]
    assert (everything["facts held"].low, everything["facts held"].value) == (1.0, 1.0)
    assert all(row["orphans"] == 0 for row in table.rows)
    assert rows[everything["of"]]["billed"] <= everything["billed"]
    assert everything["lead"].high <= 0
    assert rows["tersely, 500 tokens"]["lead"] is None


def test_facts_are_values_that_came_in_an_earlier_message() -> None:
    # Ada is in the first prompt, which is always there. 2 and 95 are too short to be told from other numbers.
    assert find_facts(FIRST, REST) == {3: ["BX-771", "Elsa", "Nora"], 5: ["Nora"]}


def test_a_transcript_ends_where_no_api_would_accept_it(tmp_path: Path) -> None:
    rows = [
        {"id": "good", "messages": [*FIRST, *REST]},
        {"id": "no calls", "messages": [*FIRST, {"role": "assistant", "content": "No."}]},
        {"id": "broken", "messages": [*FIRST, *REST[:5], REST[3], {"role": "user", "content": "?"}]},
    ]
    write_rows(tmp_path / "trajectories" / "traj_taubench.jsonl.gz", rows)
    good, broken = read_transcripts(tmp_path, "taubench", 13)
    assert (good.first, good.rest) == (FIRST, REST)
    assert broken.rest == REST[:5]


def test_a_search_run_becomes_calls_and_results(tmp_path: Path) -> None:
    log = [
        {"role": "user", "content": "Who built the Tall Tower?"},
        {"role": "assistant", "content": "Thought: I search.\nAction: search[Tall Tower builder]"},
        {"role": "user", "content": "Observation: Ada Penrose drew it [1], and Bertil Krans built it."},
        {"role": "assistant", "content": "Thought: Is it so?\nAction: search[was Bertil Krans alive]"},
        {"role": "user", "content": "Observation: Yes."},
        *[{"role": role, "content": "..."} for role in ("assistant", "user") * 3],
        {"role": "assistant", "content": "Thought: Done.\nAction: finish[Bertil Krans]"},
        {"role": "user", "content": "Observation: Episode finished"},
    ]
    rows = [{"id": "long", "messages": log}, {"id": "short", "messages": log[:5]}]
    write_rows(tmp_path / "trajectories" / "traj_fireact.jsonl.gz", rows)
    (run,) = read_transcripts(tmp_path, "fireact", 13)
    assert run.first == log[:1]
    assert run.rest[0]["content"] == "Thought: I search.\n"
    assert json.loads(run.rest[0]["tool_calls"][0]["function"]["arguments"]) == {"text": "Tall Tower builder"}
    assert run.rest[1]["content"] == "Ada Penrose drew it [1], and Bertil Krans built it."
    assert count_orphans(run.rest) == 0
    # A search counts by the names in it that came before, without those of the question.
    assert run.facts == {2: ["Bertil Krans"], 10: ["Bertil Krans"]}


def test_the_questions_about_a_meeting_come_at_its_end(data: Path) -> None:
    meeting, *_ = read_transcripts(data, "qmsum", 13)
    (place,) = meeting.facts
    assert place == len(meeting.rest) - 1
    assert meeting.rest[place]["role"] == "assistant"
    assert meeting.rest[place - 1]["content"].endswith("?")
    text = "\n".join(message["content"] for message in meeting.rest[: place - 1])
    assert all(fact in text for fact in meeting.facts[place])
