"""Pins, requests of the user, identifiers and held steps survive a reset; other text is shortened."""

from __future__ import annotations

import pytest

from tersely import InvalidInputError
from tersely_agents.memory import AgentMemory, MemoryStore
from tests.sdk.conversations import (
    COMPRESSOR,
    FIRST,
    TASK,
    call,
    facts,
    fill,
    make_memory,
    nearly_fill,
    result,
)
from tests.sdk.memory_oracles import check_context


def test_pins_survive_every_reset_word_for_word() -> None:
    memory = make_memory()
    memory.pin("to do", "- [ ] ask the archive\n- [x] read the map")
    memory.pin("budget", "at most 3 searches")
    memory.pin("budget", None)
    number = 0
    for _ in range(3):
        number = fill(memory, number)
        memory.prepare(None)
        note = memory.transcript.messages[1]["content"]
        assert "Pinned, to do:\n- [ ] ask the archive\n- [x] read the map\n" in note
        assert "at most 3 searches" not in note


def test_system_messages_survive_every_reset_word_for_word() -> None:
    roles = ("system", "developer")
    rules = [{"role": role, "content": f"Rule of the {role}: count towers."} for role in roles]
    memory = AgentMemory([rules[0], {"role": "user", "content": "Count."}], limit=600, compressor=COMPRESSOR)
    memory.append(rules[1])
    number = 0
    for resets in range(1, 4):
        number = fill(memory, number)
        messages = memory.prepare(None)
        assert memory.transcript.resets == resets
        assert all(messages.count(rule) == 1 for rule in rules)


def test_pins_and_system_messages_take_at_most_half_the_limit() -> None:
    memory = make_memory()
    with pytest.raises(InvalidInputError, match=r"Raise the limit to \d+, or pin less"):
        memory.pin("novel", "word " * 400)
    with pytest.raises(InvalidInputError, match="or pin less"):
        memory.append({"role": "system", "content": "rule " * 400})
    first = [{"role": "system", "content": "word " * 400}]
    with pytest.raises(InvalidInputError, match="or pin less") as refused:
        AgentMemory(first, limit=600)
    least = int(str(refused.value).split("Raise the limit to ")[1].split(",")[0])
    assert AgentMemory(first, limit=least).prepare(None) == first
    assert memory.transcript.messages == FIRST


def test_a_pin_can_always_be_taken_away() -> None:
    store = MemoryStore(":memory:")
    memory = make_memory(1200, store=store)
    memory.pin("plan", "word " * 230)
    memory.pin("rule", "word " * 230)
    with pytest.raises(InvalidInputError, match="or pin less"):
        make_memory(600, store=store)
    other = make_memory(960, store=store)
    other.pin("plan", None)
    assert list(other.transcript.pins) == ["rule"]


def test_newest_user_message_survives_older_leave_statements() -> None:
    memory = make_memory()
    thorough = "Could you be thorough? " * 20
    memory.append({"role": "user", "content": f"Look into /data/coast.csv too. {thorough}"})
    memory.append({"role": "user", "content": "Only towers above 30 m count."})
    memory.append({"role": "user", "content": "Is the lamp still red?"})
    memory.append({"role": "system", "content": "The archive is closed today."})
    fill(memory)
    for start in (100, 200):
        texts = [m["content"] for m in memory.prepare(None)]
        assert texts[1] == f"{TASK['content']}\n\nIs the lamp still red?"
        assert texts[2] == "The archive is closed today."
        said = texts[3].partition("The user said:")[2]
        assert "- Only towers above 30 m count." in said
        assert "- Look into /data/coast.csv too." in said
        fill(memory, start)


def test_long_current_request_survives_a_reset() -> None:
    """Too long for its share, it is shortened, and its original can be had back."""
    memory = make_memory(limit=1000)
    request = "Cancel the order 112-3456789-1234567 and pay it to a gift card. " + facts(7, 30)
    memory.append({"role": "user", "content": request})
    fill(memory)
    memory.reset("Looked up some parcels.")
    kept = memory.transcript.messages[1]["content"].split("\n\n")[1]
    key = kept.split("id of the original: ")[1].split("]")[0]
    assert memory.original(key) == request
    assert "Lighthouse 7-" in kept
    assert "112-3456789-1234567" in str(memory.transcript.messages)
    fill(memory, 50)
    memory.reset("Looked up more.")
    assert kept in memory.transcript.messages[1]["content"], "a second reset keeps it as it is"


@pytest.mark.parametrize("role", ["system", "user"])
def test_held_system_and_user_messages_survive_without_replay(role: str) -> None:
    memory = make_memory(replay=False)
    nearly_fill(memory)
    assert not memory.transcript.is_full
    message = {"role": role, "content": "Never delete anything without asking. " * 9}
    memory.append(message)
    assert memory.transcript.is_full
    assert message["content"] in str(memory.prepare(None))
    assert message in memory.transcript.conversation


def test_identifiers_of_a_held_message_survive() -> None:
    memory = make_memory()
    memory.append(
        {"role": "user", "content": "Order 1151293680 and /data/coast.csv. " + "Please hurry. " * 300}
    )
    assert memory.transcript.is_full
    memory.prepare(None)
    text = str(memory.transcript.messages)
    assert "1151293680" in text
    assert "/data/coast.csv" in text


def test_an_identifier_too_long_does_not_push_out_the_next() -> None:
    memory = make_memory()
    memory.append(
        {"role": "user", "content": f"See AB-12345 or https://x.org/{'y' * 300}. " + "Thanks a lot. " * 20}
    )
    memory.append({"role": "user", "content": "Be quick."})
    fill(memory)
    memory.prepare(None)
    assert "AB-12345" in str(memory.transcript.messages)


def test_step_larger_than_the_limit_is_shortened_after_a_reset() -> None:
    memory = make_memory()
    calls = {**call(0), "tool_calls": [call(i)["tool_calls"][0] for i in range(3)]}
    memory.append(calls, result(1, facts(1, 90)), result(0, "Short."), result(2, facts(2, 90)))
    assert memory.transcript.is_full
    messages = memory.prepare(None)
    assert memory.transcript.tokens < 600
    assert [m.get("tool_call_id") for m in messages[3:]] == ["c1", "c0", "c2"]
    assert messages[4]["content"] == "Short."
    key = messages[3]["content"].split("id of the original: ")[1][:12]
    assert memory.original(key) == facts(1, 90)


def test_calls_too_long_for_the_limit_become_one_reference() -> None:
    memory = make_memory()
    memory.append(call(0, arguments='{"text": "' + "word " * 900 + '"}'), result(0, "Done."))
    messages = memory.prepare(None)
    assert "tokens left out, 2 messages; id of the original: " in messages[-1]["content"]
    assert messages[-1]["role"] == "user"
    key = messages[-1]["content"].split("original: ")[1][:12]
    assert "word word" in (memory.original(key) or "")
    check_context(messages, memory)


def test_results_are_compressed_for_the_current_request() -> None:
    memory = make_memory(limit=2000, compress_over=80)
    page = f"{facts(3, 12)} Ada Penrose holds the key of the harbour office. {facts(4, 12)}"
    memory.append({"role": "user", "content": "Who holds the key of the harbour office?"})
    memory.append(call(0, arguments="{}"), result(0, page))
    assert "Ada Penrose holds the key" in memory.transcript.messages[-1]["content"]


def test_a_result_stays_whole_where_shortening_gains_nothing() -> None:
    memory = make_memory(compress_over=3)
    memory.append(call(0), result(0, "Nothing was found there."))
    assert memory.transcript.messages[-1] == result(0, "Nothing was found there.")


def test_large_results_are_compressed_and_can_be_opened() -> None:
    memory = make_memory(2000, compress_over=60)
    original = f"{facts(1, 30)} Cape Morrow tower came first. {facts(2, 30)}"
    memory.append(call(0, arguments='{"query": "cape morrow tower first"}'), result(0, original))
    text = memory.transcript.messages[-1]["content"]
    assert COMPRESSOR.count_tokens(text) <= 60
    assert "Cape Morrow tower came first." in text
    head, key = text.split("\n")[0].rsplit(" ", 1)
    assert head == f"[shortened from {COMPRESSOR.count_tokens(original)} tokens; id of the original:"
    assert memory.original(key.rstrip("]")) == original
    assert memory.original("nothing") is None
