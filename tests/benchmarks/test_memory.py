from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.memory.__main__ import SETS, compare, markdown, systems
from benchmarks.memory.policies import MASK, DropOldest, Everything, MaskObservations, Tersely
from benchmarks.memory.replay import orphans, replay
from benchmarks.memory.stress import stress
from benchmarks.memory.transcripts import Transcript, needed, read_transcripts
from tersely import Compressor
from tersely.chat import ScriptedChat
from tersely.chat.transcript import size
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer())
COUNT = COMPRESSOR.count_tokens
FIRST = [
    {"role": "system", "content": "You book boats."},
    {"role": "user", "content": "I am Ada. Book me a boat."},
]


@pytest.mark.parametrize("name", SETS)
def test_every_room_is_enough_for_a_short_first_prompt(name: str) -> None:
    run = Transcript("a", FIRST, [], {})
    for make in systems(COMPRESSOR, SETS[name][1]).values():
        assert make(run).context() == FIRST


def call(key: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": "book", "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": key, "type": "function", "function": function}],
    }


def result(key: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": key, "content": text}


REST = [
    call("1", name="Ada"),
    result("1", "Ada has the number BX-771 and the boats Elsa and Nora."),
    {"role": "user", "content": "Take the cheaper one."},
    call("2", boats=["Elsa", "Nora"], number="BX-771", seats=2),
    result("2", "Elsa costs 120, Nora 95."),
    call("3", boat={"name": "Nora"}, price=95),
    result("3", "Done."),
]
TRANSCRIPT = Transcript("t", FIRST, REST, needed(FIRST, REST))


def test_needed_are_values_that_a_call_takes_from_what_was_told_before() -> None:
    # Ada stands in the first prompt, which is always there; 2 and 95 are too short to be told from others.
    assert TRANSCRIPT.facts == {3: ["BX-771", "Elsa", "Nora"], 5: ["Nora"]}


def test_an_account_by_hand() -> None:
    account = replay(TRANSCRIPT, Everything(FIRST), COUNT)
    sizes = [size([*FIRST, *REST[:n]], COUNT) for n in (0, 3, 5)]
    assert (account.calls, account.read, account.cached) == (3, sum(sizes), sizes[0] + sizes[1])
    assert (account.held, account.needed, account.orphans, account.longest) == (4, 4, 0, sizes[2])
    assert account.price(cache=False) == sum(sizes)
    assert account.price(cache=True) == pytest.approx(sizes[2] + 0.1 * (sizes[0] + sizes[1]))


def test_masking_hides_all_but_the_last_results() -> None:
    memory = MaskObservations(FIRST, 1)
    for message in REST[:6]:
        memory.append(message)
    shown = [m["content"] for m in memory.context() if m["role"] == "tool"]
    assert shown == [MASK, "Elsa costs 120, Nora 95."]
    account = replay(TRANSCRIPT, MaskObservations(FIRST, 1), COUNT)
    assert (account.held, account.needed) == (4, 4)
    other = Transcript("t", FIRST, REST, {5: ["BX-771x", "Elsa costs"]})
    assert replay(other, MaskObservations(FIRST, 1), COUNT).held == 1


def test_dropping_the_oldest_parts_no_pair() -> None:
    for limit in range(20, 200, 5):
        memory = DropOldest(FIRST, limit, COUNT)
        for message in REST:
            memory.append(message)
            if message["role"] != "assistant":
                assert orphans(memory.context()) == 0
        assert size(memory.context(), COUNT) < limit or memory.context() == FIRST


def test_orphans_are_counted() -> None:
    assert orphans(REST) == 0
    assert orphans([REST[1]]) == 1
    assert orphans([REST[0], REST[2]]) == 1
    assert orphans([REST[0], REST[1], REST[3]]) == 1


def test_summaries_of_a_model_are_billed() -> None:
    rest = [m for i in range(12) for m in (call(f"c{i}", n=i), result(f"c{i}", "word " * 60))]
    memory = Tersely(FIRST, 600, COMPRESSOR, ScriptedChat(lambda _: "Some notes."))
    account = replay(Transcript("t", FIRST, rest, {}), memory, COUNT)
    read, written = memory.summary_tokens
    assert read > 500
    assert written % COUNT("Some notes.") == 0
    assert written > 0
    assert account.price(cache=False) == account.read + 5 * written
    assert account.longest < 600


def test_transcripts_that_no_api_would_take_end_there(tmp_path: Path) -> None:
    (tmp_path / "trajectories").mkdir()
    rows = [
        {"id": "good", "messages": [*FIRST, *REST]},
        {"id": "no calls", "messages": [*FIRST, {"role": "assistant", "content": "No."}]},
        {"id": "broken", "messages": [*FIRST, *REST[:5], REST[3], {"role": "user", "content": "?"}]},
    ]
    with gzip.open(tmp_path / "trajectories" / "traj_taubench.jsonl.gz", "wt") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    good, broken = read_transcripts(tmp_path, "taubench", 13)
    assert (good.first, good.rest) == (FIRST, REST)
    assert broken.rest == REST[:5]


def test_a_search_run_becomes_calls_and_results(tmp_path: Path) -> None:
    (tmp_path / "trajectories").mkdir()
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
    with gzip.open(tmp_path / "trajectories" / "traj_fireact.jsonl.gz", "wt") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    (run,) = read_transcripts(tmp_path, "fireact", 13)
    assert run.first == log[:1]
    assert run.rest[0]["content"] == "Thought: I search.\n"
    assert json.loads(run.rest[0]["tool_calls"][0]["function"]["arguments"]) == {"text": "Tall Tower builder"}
    assert run.rest[1]["content"] == "Ada Penrose drew it [1], and Bertil Krans built it."
    assert orphans(run.rest) == 0
    # The names of a search that were told, and neither those of the question nor the search as a whole.
    assert run.facts == {2: ["Bertil Krans"], 10: ["Bertil Krans"]}


def test_a_meeting_is_asked_about_at_its_end(data: Path) -> None:
    meeting, *_ = read_transcripts(data, "qmsum", 13)
    (place,) = meeting.facts
    assert place == len(meeting.rest) - 1
    assert meeting.rest[place]["role"] == "assistant"
    assert meeting.rest[place - 1]["content"].endswith("?")
    told = "\n".join(m["content"] for m in meeting.rest[: place - 1])
    assert all(fact in told for fact in meeting.facts[place])


def test_langchain_summarises_with_the_same_model() -> None:
    pytest.importorskip("langchain")
    from benchmarks.memory.langchain_memory import LangChainSummaries

    rest = [m for i in range(30) for m in (call(f"c{i}", n=i), result(f"c{i}", "word " * 60))]
    model = ScriptedChat(lambda _: "Some notes.")
    memory = LangChainSummaries(FIRST, 1500, model, COUNT)
    account = replay(Transcript("t", FIRST, rest, {59: ["Some notes."]}), memory, COUNT)
    assert model.asked
    assert memory.summary_tokens[1] == COUNT("Some notes.") * len(model.asked)
    assert account.orphans == 0
    shown = memory.context()
    assert shown[0] == FIRST[0]
    assert any("Some notes." in str(m["content"]) for m in shown)
    assert len(shown) < len(rest)
    assert shown[-1]["content"] == rest[-1]["content"]


def test_the_table_sets_tersely_against_each_other_memory() -> None:
    rest = [
        m
        for i in range(15)
        for m in (call(f"c{i}", n=i), result(f"c{i}", f"Berth {1000 + i} is free. " * 20))
    ]
    rest += [call("x", berth=1007), result("x", "Done.")]
    found = compare(
        [Transcript("t", FIRST, rest, needed(FIRST, rest))] * 2, systems(COMPRESSOR, (500,)), COMPRESSOR, 13
    )
    rows = found["rows"]
    assert rows["everything"]["held"] == [100.0, 100.0, 100.0]
    assert all(row["orphans"] == 0 for row in rows.values())
    against = rows["everything"]["against"]
    assert rows[against["setting"]]["billed"] <= rows["everything"]["billed"]
    environment = {
        "cpu": "x",
        "cores": 2,
        "memory_gb": 1,
        "system": "x",
        "python": "3",
        "packages": {},
        "date": "x",
    }
    run = {"environment": environment, "model": "m", "chat_model": None, "seed": 13}
    long = stress(COMPRESSOR, 2000, 13)
    assert long["longest"] < 2000
    assert long["summaries"] > 10
    text = markdown({**run, "sets": {"some": found}, "stress": long})
    assert "| everything |" in text
    assert "| **tersely, 500 tokens** |" in text
