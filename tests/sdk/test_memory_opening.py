"""A session opens at its own limit, with any content, and at a lower one. No input of a user stops it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tersely import InvalidInputError
from tersely_agents.chat import ScriptedChat
from tersely_agents.memory import AgentMemory, MemoryStore
from tests.sdk.conversations import COMPRESSOR, FIRST, SYSTEM, TASK, call, facts, fill, make_memory, result
from tests.sdk.memory_oracles import REFERENCE, check_context

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


def test_lower_limit_shortens_old_notes_and_a_long_task() -> None:
    store = MemoryStore(":memory:")
    task = {"role": "user", "content": "Which one was first? " + facts(5, 60)}
    memory = AgentMemory([SYSTEM, task], limit=8000, store=store, compressor=COMPRESSOR)
    memory.append(call(0), result(0, facts(0)))
    memory.reset(facts(3, 80))
    again = open_again(store)
    messages = again.prepare(None)
    check_context(messages, again)
    assert messages[0] == SYSTEM
    assert again.original(key_of(messages[1])) == task["content"]
    assert AgentMemory([SYSTEM, task], limit=600, store=store).transcript == again.transcript


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


def test_a_user_message_never_stops_a_pin_or_a_system_message() -> None:
    memory = AgentMemory([SYSTEM, {**TASK, "content": facts(1, 13)}], limit=600, compressor=COMPRESSOR)
    assert memory.transcript.messages[1]["content"] == facts(1, 13)
    memory.pin("rule", "word " * 150)
    fill(memory)
    messages = memory.prepare(None)
    check_context(messages, memory)
    assert "word " * 150 in str(messages)
    assert memory.original(key_of(messages[1])) == facts(1, 13)
