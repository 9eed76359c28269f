"""A memory: what comes in and is given out, the loop of callers, transcripts as values, and trajectories."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

import pytest

from tersely import InvalidInputError
from tersely.messages import measure_tokens
from tersely_agents.chat import ScriptedChat
from tersely_agents.memory import AgentMemory, Transcript
from tersely_agents.memory.transcript import Event
from tests.audit.transcripts import run_case
from tests.sdk.conversations import (
    COMPRESSOR,
    FIRST,
    call,
    facts,
    fill,
    make_memory,
    nearly_fill,
    result,
)
from tests.sdk.memory_oracles import REFERENCE, check_context, check_references, check_roles


def test_below_the_limit_the_context_is_what_was_appended() -> None:
    memory = make_memory()
    memory.append(call(0), result(0, "One was built in 1801."))
    assert memory.transcript.messages == [*FIRST, call(0), result(0, "One was built in 1801.")]
    assert memory.prepare(None) == memory.transcript.messages
    after = memory.transcript
    assert (after.is_full, after.steps, after.resets, after.ending) == (False, 1, 0, None)


def test_an_assistant_message_may_hold_a_refusal() -> None:
    memory = make_memory()
    memory.append({"role": "assistant", "content": None, "refusal": "I will not."})
    assert memory.transcript.messages[-1]["refusal"] == "I will not."


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        (["text"], "The message is a str. Pass a mapping with 'role'"),
        ([{"role": "robot", "content": "x"}], "The message has the unknown role 'robot'"),
        ([{"role": "user", "content": None}], "neither text nor a list"),
        ([{"role": "user", "content": ["x"]}], "neither text nor a list"),
        ([{"role": "user", "content": object()}], "cannot be written as JSON"),
        ([{"role": "assistant", "content": None}], "neither content nor tool calls"),
        ([result(0, "x")], "no call waits for a result"),
        ([call(0), result(1, "x")], r"only \['c0'\] wait for a result"),
        ([call(0), result(0, "x"), result(0, "x")], "each result once"),
        ([call(0), {"role": "user", "content": "x"}], "Append their results first"),
        ([call(0), call(1)], "Append their results first"),
        ([{**call(0), "tool_calls": [{**call(0)["tool_calls"][0], "id": ""}]}], "an id of its own"),
        ([{**call(0), "tool_calls": [{"id": "c0", "function": None}]}], "a name and arguments, both text"),
        ([{**call(0), "role": "user", "content": "x"}], "Only an assistant message may have them"),
        ([{**call(0), "tool_calls": call(0)["tool_calls"] * 2}], "an id of its own"),
        ([{**call(0), "tool_calls": "search"}], "not a list of mappings"),
    ],
)
def test_malformed_messages_are_refused_and_change_nothing(messages: list[Any], complaint: str) -> None:
    memory = make_memory()
    for message in messages[:-1]:
        memory.append(message)
    tokens, waiting = memory.transcript.tokens, memory.transcript.unanswered
    with pytest.raises(InvalidInputError, match=complaint):
        memory.append(messages[-1])
    assert (memory.transcript.tokens, memory.transcript.unanswered) == (tokens, waiting)


def test_unanswered_calls_block_prompts_until_interrupted() -> None:
    memory = make_memory()
    memory.append({**call(0), "tool_calls": [call(0)["tool_calls"][0], call(1)["tool_calls"][0]]})
    memory.append(result(1, "x"))
    with pytest.raises(InvalidInputError, match=r"\['c0'\] have no result"):
        memory.prepare(None)
    memory.interrupt()
    results = [m["content"] for m in memory.transcript.messages[-2:]]
    assert results == ["x", "[no result: the call was interrupted]"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"limit": 199}, "200 tokens or more"),
        ({"limit": 600, "summary_tokens": 300}, "Pass 150 or less"),
        ({"limit": 600, "max_steps": 0}, "1 or more"),
        ({"limit": 600, "first": []}, "Pass `first`"),
        ({"limit": 600, "first": [*FIRST, "x"]}, "Message 2 is a str"),
        ({"limit": 600, "first": [{"role": "assistant", "content": "x"}]}, "system, developer and user"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        AgentMemory(options.pop("first", FIRST), **options)


def test_changing_a_returned_message_does_not_change_the_memory() -> None:
    memory = make_memory()
    memory.transcript.messages[0]["content"] = "changed"
    memory.prepare(None)[1]["content"] = "changed"
    assert memory.transcript.messages == FIRST


def test_fields_of_other_servers_count_as_tokens() -> None:
    memory = make_memory()
    before = memory.transcript.tokens
    memory.append({"role": "assistant", "content": "Yes.", "reasoning_content": "word " * 200})
    assert memory.transcript.tokens > before + 200


def test_after_the_last_step_the_transcript_is_and_stays_overlong() -> None:
    memory = make_memory(max_steps=2)
    for number in range(2):
        assert memory.transcript.ending is None
        memory.append(call(number), result(number, "Nothing."))
    assert memory.transcript.ending == "overlong"
    memory.append(call(2), result(2, "Nothing."))
    memory.finish()
    assert memory.transcript.ending == "overlong"


SYSTEM = {"role": "system", "content": "You help a harbour office. Answer in one paragraph."}
GREETING = {"role": "user", "content": "Good morning. I have questions about our lighthouses."}


def ask(turn: int) -> dict[str, str]:
    return {"role": "user", "content": f"Who mended the lamp of lighthouse {turn}, and what did it cost?"}


def answer(turn: int) -> dict[str, str]:
    mended = f"The lamp of lighthouse {turn} was mended by Ada Moor for {turn + 100} crowns. "
    return {"role": "assistant", "content": mended + facts(turn, 1 + turn % 13)}


@pytest.mark.parametrize("limit", [200, 600, 2000])
@pytest.mark.parametrize("model", [None, ScriptedChat(lambda _: "Ada Moor mends the lamps.")])
def test_sixty_turns_run_at_any_limit(limit: int, model: ScriptedChat | None) -> None:
    memory = AgentMemory([SYSTEM, GREETING], limit=limit, compressor=COMPRESSOR)
    given = [GREETING["content"]]
    for turn in range(60):
        memory.append(ask(turn))
        messages = memory.prepare(model)
        given += [ask(turn)["content"], answer(turn)["content"]]
        check_context(messages, memory)
        if memory.transcript.resets:
            check_roles(messages)
        check_references(messages, memory, given)
        assert messages[0] == SYSTEM
        assert ask(turn)["content"] in messages[-1]["content"], "the question itself was lost"
        memory.append(answer(turn))
    assert memory.transcript.resets > 1


def test_a_log_can_be_read_in_without_prepare() -> None:
    memory = make_memory(300)
    for turn in range(40):
        memory.append(ask(turn), answer(turn))
    memory.append(ask(40))
    messages = memory.prepare(None)
    check_context(messages, memory)
    assert ask(40)["content"] in messages[-1]["content"]


def test_held_messages_that_cannot_fit_leave_a_receipt() -> None:
    memory = make_memory(300)
    memory.append(ask(0), {"role": "assistant", "content": facts(0, 40)})
    memory.append({"role": "user", "content": facts(1, 40)})
    messages = memory.prepare(None)
    check_context(messages, memory)
    keys = REFERENCE.findall(str(messages))
    assert keys
    texts = [memory.original(key) or "" for key in keys]
    assert any(facts(1, 40) in text for text in texts)


def test_call_after_a_full_context_keeps_its_result() -> None:
    memory = make_memory(500)
    number = fill(memory)
    memory.append(call(number, "open"))
    with pytest.raises(InvalidInputError, match="have no result"):
        memory.prepare(None)
    memory.append(result(number, "The door of the tower is open."))
    messages = memory.prepare(None)
    check_context(messages, memory)
    assert messages[-1] == result(number, "The door of the tower is open.")


def test_random_transcripts_keep_every_guarantee() -> None:
    seen = [run_case(number) for number in range(40)]
    for name in ("resets", "parallel", "images", "shortened", "reopened"):
        assert sum(bool(getattr(case, name)) for case in seen) > 8, name
    assert all(case.tokens <= case.limit for case in seen)


def test_a_trajectory_marks_what_the_policy_wrote() -> None:
    memory = make_memory()
    number = fill(memory)
    memory.prepare(ScriptedChat(["Notes."]))
    memory.append({"role": "assistant", "content": "Lighthouse 0-1."})
    memory.finish()
    first, second = memory.transcript.trajectory()
    assert list(first.prompt) == FIRST
    assert [m["role"] for m in first.response] == ["assistant", "tool"] * (number - 1) + ["user", "assistant"]
    assert list(first.mask) == [True, False] * (number - 1) + [False, True]
    assert first.response[-1]["content"] == "Notes."
    assert first.steps[:4] == (1, 1, 2, 2)
    assert first.steps[-2:] == (None, None)
    # The step that was held back was an answer to another context, so that it is not trained on here.
    assert list(second.mask) == [False, False, True]
    assert second.steps == (number, number, number + 1)
    assert list(second.prompt) == memory.transcript.messages[:2]
    assert memory.transcript.ending == "finished"


def test_notes_that_the_policy_did_not_write_are_masked() -> None:
    memory = make_memory()
    fill(memory)
    memory.prepare(None)
    assert next(memory.transcript.trajectory()).mask[-1] is False


def test_final_answer_that_fills_the_context_is_recorded() -> None:
    memory = make_memory()
    nearly_fill(memory)
    memory.append({"role": "assistant", "content": "The answer is Cape Morrow. " * 20})
    assert memory.transcript.is_full
    memory.finish()
    (part,) = memory.transcript.trajectory()
    assert "Cape Morrow" in part.response[-1]["content"]
    assert part.mask[-1] is True


COUNT = COMPRESSOR.count_tokens
NOTES = {"role": "user", "content": "<notes>Two towers.</notes>"}
LOG: list[dict[str, Any]] = [
    {"kind": "first", "messages": FIRST},
    {"kind": "pin", "key": "plan", "text": "Read the map."},
    {"kind": "message", "message": call(0), "full": False},
    {"kind": "message", "message": result(0, "One."), "full": False},
    {"kind": "message", "message": call(1), "full": False},
    {"kind": "message", "message": result(1, "Two."), "full": True},
    {
        "kind": "reset",
        "request": {"role": "user", "content": "Write the notes."},
        "answer": {"role": "assistant", "content": "Two towers."},
        "by": "policy",
        "base": [*FIRST, NOTES],
        "replayed": [call(1), result(1, "Two.")],
        "identifiers": ["AB-12345"],
    },
    {"kind": "message", "message": {"role": "assistant", "content": "The first."}, "full": False},
    {"kind": "pin", "key": "plan", "text": None},
    {"kind": "outcome", "outcome": "finished"},
]
"""Events as session files have them."""


def replay(events: Sequence[Any]) -> list[Transcript]:
    """Return the transcript after every event."""
    states = [Transcript()]
    for event in events:
        states.append(states[-1].apply(cast("Event", event), COUNT))
    return states[1:]


def test_a_log_of_events_becomes_this_transcript() -> None:
    last = replay(LOG)[-1]
    final = {"role": "assistant", "content": "The first."}
    task = {"role": "user", "content": f"{FIRST[1]['content']}\n\n{NOTES['content']}"}
    assert last.messages == [FIRST[0], task, call(1), result(1, "Two."), final]
    assert last.conversation == [*FIRST, call(1), result(1, "Two."), final]
    assert (last.steps, last.resets, last.events, last.ending) == (3, 1, len(LOG), "finished")
    assert (last.notes, last.board.pins, dict(last.pins)) == ("Two towers.", replay(LOG)[0].board.pins, {})
    assert last.tokens == measure_tokens(last.messages, COUNT)
    first, second = last.trajectory()
    assert first.mask == (True, False, False, True)
    assert second.mask == (False, False, True)


def test_applying_an_event_never_changes_the_transcript() -> None:
    state = Transcript()
    for event in LOG:
        before, given = copy.deepcopy(state), copy.deepcopy(event)
        after = state.apply(cast("Event", event), COUNT)
        assert state == before
        assert event == given
        assert after != state
        state = after
