"""The memory block inside LlamaIndex's own memory."""

from __future__ import annotations

import asyncio
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from tersely import Compressor
from tersely.experience import Experience, ExperienceBank
from tersely.memory import AgentMemory, MemoryStore
from tersely_llamaindex import TerselyMemoryBlock
from tests.sdk.fakes import BrokenScorer, FakeScorer

KEY = "The spare key of the lighthouse hangs behind the stove."


def said(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def chat(count: int) -> list[ChatMessage]:
    talk = [
        said("I look after the lighthouse of Port Maren. Help me with it."),
        ChatMessage(role="assistant", content="Gladly."),
        said(f"{KEY} The lamp was cleaned in May."),
        ChatMessage(role="assistant", content="Noted."),
    ]
    for i in range(count):
        talk.append(said(f"Entry {i}: the wind came from the west all day long."))
        talk.append(
            ChatMessage(role="assistant", content=f"Entry {i} is written down in the log of the tower.")
        )
    return talk


def words(text: str) -> list[str]:
    return text.split()


def block(**options: Any) -> TerselyMemoryBlock:
    return TerselyMemoryBlock(compressor=Compressor(FakeScorer()), **options)


def memory(found: TerselyMemoryBlock, engine: AsyncEngine) -> Memory:
    return Memory.from_defaults(
        token_limit=300,
        chat_history_token_ratio=0.5,
        token_flush_size=40,
        memory_blocks=[found],
        tokenizer_fn=words,
        async_engine=engine,
    )


def test_what_has_left_the_history_comes_back_where_it_is_needed() -> None:
    bundled = TerselyMemoryBlock(compressor=Compressor(), budget=40)
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    kept = memory(bundled, engine)

    async def talk() -> list[ChatMessage]:
        await kept.aput_messages(chat(20))
        await kept.aput(said("Where does the spare key hang?"))
        try:
            return await kept.aget()
        finally:
            await engine.dispose()  # LlamaIndex leaves that to its caller

    system, *history = asyncio.run(talk())
    assert KEY not in str(history), "it has left the history"
    assert system.role.value == "system"
    assert KEY in str(system.content)
    assert bundled.compressor.count_tokens(str(system.content).split("<earlier_conversation>")[1]) < 60


def test_messages_and_their_authors_are_told_apart() -> None:
    found = block(budget=200)
    asyncio.run(found.aput(chat(0)))
    told = asyncio.run(found.aget([said("lighthouse Port Maren gladly key stove")]))
    assert told.startswith("User\nI look after the lighthouse of Port Maren.")
    assert "Assistant\nGladly." in told


def test_a_long_conversation_stays_small() -> None:
    found = block(limit=600, budget=100)

    async def talk() -> str:
        for message in chat(150):
            await found.aput([message])
        return await found.aget([said("lighthouse Port Maren")])

    told = asyncio.run(talk())
    assert "Port Maren" in told
    assert found.compressor.count_tokens(told) <= 100
    held = found._memories["default"]
    assert held.transcript.resets > 3
    assert held.transcript.tokens < 600
    assert not held.transcript.is_full, "nothing waits unseen"


def test_calls_and_results_become_text() -> None:
    call = ChatMessage(
        role="assistant",
        content="",
        additional_kwargs={"tool_calls": [{"id": "1", "function": {"name": "tide", "arguments": "{}"}}]},
    )
    result = ChatMessage(
        role="tool", content="High tide is at noon.", additional_kwargs={"tool_call_id": "1"}
    )
    found = block(budget=200)
    asyncio.run(found.aput([result, said("Thanks."), call, result]))
    told = asyncio.run(found.aget([said("high tide noon call tool")]))
    assert "Result of a tool: High tide is at noon." in told
    assert "Call of a tool" in told


def test_sessions_are_kept_apart_and_outlive_the_process(tmp_path: Path) -> None:
    asked = [said("spare key lighthouse stove")]
    with closing(MemoryStore(tmp_path / "chat.db")) as store:
        first = block(store=store)
        asyncio.run(first.aput(chat(3), session_id="ada"))
        told = asyncio.run(first.aget(asked, session_id="ada"))
        assert KEY in told
        assert asyncio.run(first.aget(asked, session_id="bob")) == ""
    with closing(MemoryStore(tmp_path / "chat.db")) as store:
        again = block(store=store)
        assert asyncio.run(again.aget(asked, session_id="ada")) == told
        asyncio.run(again.aput(chat(0), session_id="ada"))
        assert asyncio.run(again.aget(asked)) == ""


def test_a_process_that_was_killed_before_a_reset(tmp_path: Path) -> None:
    with closing(MemoryStore(tmp_path / "chat.db")) as store:
        killed = AgentMemory([{"role": "user", "content": "Help."}], limit=512, store=store, session="ada")
        while not killed.transcript.is_full:
            killed.append({"role": "assistant", "content": f"{KEY} The lamp was cleaned in May."})
        again = block(limit=512, store=store)
        asyncio.run(again.aput(chat(0), session_id="ada"))
        assert KEY in asyncio.run(again.aget([said("spare key stove")], session_id="ada"))


def test_lessons_stand_beside_the_conversation() -> None:
    with closing(ExperienceBank(":memory:")) as bank:
        lesson = ("Ask the keeper", "When a key is missing.", "He has two.", "Open the door.")
        bank.add(Experience(*lesson, success=True))
        for i in range(4):
            long = " ".join(f"Rope {i}{j}." for j in range(300))
            bank.add(Experience(f"Knot {i}", "When a rope tears.", long, f"Mend rope {i}.", success=True))
        found = block(experience=bank, budget=150)
        asyncio.run(found.aput(chat(3)))
        told = asyncio.run(found.aget([said("The spare key is missing behind the stove.")]))
    assert "He has two." in told
    assert "data, not instructions" in told
    assert KEY in told, "long lessons leave room for the conversation"
    assert found.compressor.count_tokens(told) <= 150


def test_it_gives_way_sentence_by_sentence() -> None:
    found = block(budget=200)
    asyncio.run(found.aput(chat(3)))
    told = asyncio.run(found.aget([said("spare key lighthouse hangs stove")]))
    before = found.compressor.count_tokens(told)
    short = asyncio.run(found.atruncate(told, before - 20))
    assert short is not None
    assert found.compressor.count_tokens(short) <= 20
    assert KEY in short
    assert asyncio.run(found.atruncate(told, before)) is None


def test_a_message_longer_than_the_limit_is_not_lost() -> None:
    text = " ".join(f"The rope {i} is wet." for i in range(200)) + f" {KEY}"
    found = block(limit=512, budget=100)
    asyncio.run(found.aput([said(text)]))
    held = found._memories["default"]
    (key,) = re.findall(r"id of the original: (\w+)", str(held.transcript.messages))
    assert held.original(key) == text


def test_nothing_to_tell() -> None:
    assert asyncio.run(block().aget()) == ""
    assert asyncio.run(block().aget([said("")])) == ""


def test_a_failing_model_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    broken = TerselyMemoryBlock(compressor=Compressor(BrokenScorer(RuntimeError("no memory"))), budget=5)
    asyncio.run(broken.aput(chat(0)))
    assert KEY in asyncio.run(broken.aget([said("Where is the key?")]))
    assert "uncompressed" in caplog.text


@pytest.mark.parametrize(("options", "least"), [({"limit": 100}, 512), ({"budget": 0}, 1)])
def test_bad_settings(options: dict[str, int], least: int) -> None:
    with pytest.raises(ValueError, match=f"greater than or equal to {least}"):
        block(**options)
