"""Real transcripts become messages that an API accepts, with the facts that each message needs."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.memory.replay import count_orphans
from benchmarks.memory.transcripts import find_facts, read_transcripts
from tests.benchmarks.conversations import FIRST, REST
from tests.benchmarks.towns import write_rows


def test_facts_are_values_of_a_call_that_came_in_an_earlier_message() -> None:
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
