"""The loop that callers write: append what the user says, prepare, append what the model answers."""

from __future__ import annotations

import pytest

from tersely import InvalidInputError
from tersely_agents.chat import ScriptedChat
from tersely_agents.memory import AgentMemory
from tests.sdk.conversations import COMPRESSOR, call, facts, fill, make_memory, result
from tests.sdk.memory_oracles import REFERENCE, check_context, check_references, check_roles

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


def test_a_system_message_that_follows_a_full_context_survives() -> None:
    memory = make_memory(500)
    fill(memory)
    rule = {"role": "system", "content": "From now on, name the year first."}
    memory.append(rule, ask(1))
    messages = memory.prepare(None)
    check_context(messages, memory)
    assert rule in messages
    assert ask(1)["content"] in str(messages)


def test_without_replay_the_user_is_still_heard() -> None:
    memory = make_memory(500, replay=False)
    number = fill(memory)
    memory.append(ask(3))
    messages = memory.prepare(None)
    check_context(messages, memory)
    assert ask(3)["content"] in messages[-1]["content"]
    assert f"c{number - 1}" not in str(messages)
