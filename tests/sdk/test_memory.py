"""Messages that come in, what is refused, and what is given out."""

from __future__ import annotations

from typing import Any

import pytest

from tersely import InvalidInputError
from tersely_agents.memory import AgentMemory
from tests.sdk.conversations import (
    FIRST,
    call,
    make_memory,
    result,
)


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
