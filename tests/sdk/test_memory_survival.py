"""Pins, requests and held steps survive a reset and a lower limit; no input of a user stops a session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tersely import InvalidInputError
from tersely_agents.chat import ScriptedChat
from tersely_agents.memory import AgentMemory, MemoryStore
from tests.sdk.conversations import (
    COMPRESSOR,
    FIRST,
    SYSTEM,
    TASK,
    call,
    facts,
    fill,
    make_memory,
    nearly_fill,
    result,
)
from tests.sdk.memory_oracles import REFERENCE, check_context


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


def test_an_identifier_too_long_does_not_push_out_the_next() -> None:
    memory = make_memory()
    memory.append(
        {"role": "user", "content": f"See AB-12345 or https://x.org/{'y' * 300}. " + "Thanks a lot. " * 20}
    )
    memory.append({"role": "user", "content": "Be quick."})
    fill(memory)
    memory.prepare(None)
    assert "AB-12345" in str(memory.transcript.messages)


def test_calls_too_long_for_the_limit_become_one_reference() -> None:
    memory = make_memory()
    memory.append(call(0, arguments='{"text": "' + "word " * 900 + '"}'), result(0, "Done."))
    messages = memory.prepare(None)
    assert "tokens left out, 2 messages; id of the original: " in messages[-1]["content"]
    assert messages[-1]["role"] == "user"
    key = messages[-1]["content"].split("original: ")[1][:12]
    assert "word word" in (memory.original(key) or "")
    check_context(messages, memory)


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


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def open_again(store: MemoryStore, limit: int = 600, **options: Any) -> AgentMemory:
    return AgentMemory(limit=limit, store=store, compressor=COMPRESSOR, **options)


def key_of(message: Any) -> str:
    return REFERENCE.findall(str(message["content"]))[0]


@pytest.mark.parametrize("answered", [0, 1])
def test_step_with_unanswered_calls_may_exceed_the_limit(answered: int) -> None:
    store = MemoryStore(":memory:")
    memory = make_memory(store=store)
    calls = {**call(0), "tool_calls": [call(i)["tool_calls"][0] for i in range(3)]}
    memory.append(calls, *[result(i, facts(i, 90)) for i in range(answered)])
    if not answered:
        memory = make_memory(store=store, session="long call")
        memory.append(call(0, arguments=json.dumps({"text": facts(0, 90)})))
    again = open_again(store, session=memory.journal.session)
    assert again.transcript == memory.transcript
    again.interrupt()
    check_context(again.prepare(None), again)


def test_session_opened_with_a_lower_limit_shrinks_at_a_reset() -> None:
    store = MemoryStore(":memory:")
    memory = make_memory(4000, store=store)
    for number in range(8):
        memory.append(call(number), result(number, facts(number, 30)))
    again = open_again(store)
    assert again.transcript.is_full
    assert again.transcript.messages == memory.transcript.messages
    model = ScriptedChat(["Lighthouse 0-1 is from 1800."])
    messages = again.prepare(model)
    check_context(messages, again)
    assert "Lighthouse 0-1 is from 1800." in str(messages)
    assert messages[-2] == call(7)
    assert again.original(key_of(messages[-1])) == facts(7, 30)
    ((request, _),) = model.requests
    assert 0 < len(request) < len(memory.transcript.messages)
    assert request[:2] == FIRST
    assert open_again(store).transcript == again.transcript


def test_pins_without_room_name_the_smallest_limit() -> None:
    store = MemoryStore(":memory:")
    make_memory(4000, store=store).pin("plan", "word " * 500)
    with pytest.raises(InvalidInputError, match="system messages and the pins") as refused:
        open_again(store)
    least = int(str(refused.value).split("Raise the limit to ")[1].split(",")[0])
    assert open_again(store, limit=least).transcript.pins
    with pytest.raises(InvalidInputError):
        open_again(store, limit=int(least * 0.95))


def test_too_long_first_message_is_shortened_and_can_be_opened() -> None:
    store = MemoryStore(":memory:")
    text = f"{facts(1, 100)} What did Ada Penrose hold? {facts(2, 100)}"
    first = [SYSTEM, {"role": "user", "content": text}]
    memory = AgentMemory(first, limit=600, compressor=COMPRESSOR, store=store)
    messages = memory.prepare(None)
    check_context(messages, memory)
    assert messages[0] == SYSTEM
    assert memory.original(key_of(messages[1])) == text
    assert AgentMemory(first, limit=600, compressor=COMPRESSOR, store=store).transcript == memory.transcript
    with pytest.raises(InvalidInputError, match="another first prompt"):
        AgentMemory([SYSTEM, {"role": "user", "content": text + "!"}], limit=600, store=store)
    memory.pin("rule", "Count towers of stone only.")
    fill(memory)
    messages = memory.prepare(None)
    assert "Count towers of stone only." in str(messages)
    assert memory.original(key_of(messages[1])) == text


def test_images_that_do_not_fit_are_left_out_and_the_text_stays() -> None:
    parts = [{"type": "text", "text": "What do these show?"}, *[IMAGE] * 5]
    memory = AgentMemory([{"role": "user", "content": parts}], limit=4000, compressor=COMPRESSOR)
    (message,) = memory.prepare(None)
    assert message["content"].endswith("]\nWhat do these show?")
    assert "without 5 parts of other kinds" in message["content"]
    assert json.loads(memory.original(key_of(message)) or "") == parts
    memory.append({"role": "assistant", "content": "Towers."}, {"role": "user", "content": parts})
    messages = memory.prepare(None)
    check_context(messages, memory)
    assert str(messages).count("What do these show?") == 2
    assert [json.loads(memory.original(key) or "") for key in REFERENCE.findall(str(messages))] == [parts] * 2


def test_more_first_messages_than_fit_leave_the_newest() -> None:
    first = [{"role": "user", "content": f"Message {n}: where is the lamp?"} for n in range(80)]
    memory = AgentMemory(first, limit=600, compressor=COMPRESSOR)
    messages = memory.prepare(None)
    check_context(messages, memory)
    assert messages[-1] == first[-1]
    lines = (memory.original(key_of(messages[0])) or "").split("\n")
    assert [json.loads(line) for line in lines] == first[: len(lines)]
    assert len(lines) + len(messages) - 1 == len(first)
