"""The memory block in LlamaIndex's own memory."""

from __future__ import annotations

import asyncio
import pickle
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
from tersely_agents.experience import Experience, ExperienceBank
from tersely_agents.memory import AgentMemory, MemoryStore
from tersely_llamaindex import TerselyMemoryBlock
from tests.sdk.fakes import BrokenScorer, FakeScorer

FACT = "The spare key of the lighthouse hangs behind the stove."


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def make_conversation(entries: int) -> list[ChatMessage]:
    """Return two exchanges, the second with the fact, and `entries` useless ones."""
    messages = [
        user("I look after the lighthouse of Port Maren. Help me with it."),
        ChatMessage(role="assistant", content="Gladly."),
        user(f"{FACT} The lamp was cleaned in May."),
        ChatMessage(role="assistant", content="Noted."),
    ]
    for i in range(entries):
        messages.append(user(f"Entry {i}: the wind came from the west all day long."))
        messages.append(
            ChatMessage(role="assistant", content=f"Entry {i} is written down in the log of the tower.")
        )
    return messages


def split_words(text: str) -> list[str]:
    return text.split()


def make_block(**options: Any) -> TerselyMemoryBlock:
    return TerselyMemoryBlock(compressor=Compressor(FakeScorer()), **options)


def make_memory(block: TerselyMemoryBlock, engine: AsyncEngine) -> Memory:
    return Memory.from_defaults(
        token_limit=300,
        chat_history_token_ratio=0.5,
        token_flush_size=40,
        memory_blocks=[block],
        tokenizer_fn=split_words,
        async_engine=engine,
    )


def test_messages_that_left_the_history_come_back(bundled: Compressor) -> None:
    block = TerselyMemoryBlock(compressor=bundled, budget=40)
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    memory = make_memory(block, engine)

    async def converse() -> list[ChatMessage]:
        await memory.aput_messages(make_conversation(20))
        await memory.aput(user("Where does the spare key hang?"))
        try:
            return await memory.aget()
        finally:
            await engine.dispose()  # LlamaIndex leaves that to its caller

    system, *history = asyncio.run(converse())
    assert FACT not in str(history), "it has left the history"
    assert system.role.value == "system"
    assert FACT in str(system.content)
    assert bundled.count_tokens(str(system.content).split("<earlier_conversation>")[1]) < 60


def test_messages_are_titled_with_their_authors() -> None:
    block = make_block(budget=200)
    asyncio.run(block.aput(make_conversation(0)))
    content = asyncio.run(block.aget([user("lighthouse Port Maren gladly key stove")]))
    assert content.startswith("User\nI look after the lighthouse of Port Maren.")
    assert "Assistant\nGladly." in content


def test_a_long_conversation_stays_within_its_limit() -> None:
    block = make_block(limit=600, budget=100)

    async def converse() -> str:
        for message in make_conversation(150):
            await block.aput([message])
        return await block.aget([user("lighthouse Port Maren")])

    content = asyncio.run(converse())
    assert "Port Maren" in content
    assert block.compressor.count_tokens(content) <= 100
    memory = block._memories["default"]
    assert memory.transcript.resets > 3
    assert memory.transcript.tokens < 600
    assert not memory.transcript.is_full, "every message was taken in"


def test_calls_and_results_become_text() -> None:
    call = ChatMessage(
        role="assistant",
        content="",
        additional_kwargs={"tool_calls": [{"id": "1", "function": {"name": "tide", "arguments": "{}"}}]},
    )
    result = ChatMessage(
        role="tool", content="High tide is at noon.", additional_kwargs={"tool_call_id": "1"}
    )
    block = make_block(budget=200)
    asyncio.run(block.aput([result, user("Thanks."), call, result]))
    content = asyncio.run(block.aget([user("high tide noon call tool")]))
    assert "Result of a tool: High tide is at noon." in content
    assert "Call of a tool" in content


def test_sessions_are_kept_apart_and_outlive_the_process(tmp_path: Path) -> None:
    query = [user("spare key lighthouse stove")]
    with closing(MemoryStore(tmp_path / "chat.db")) as store:
        first = make_block(store=store)
        asyncio.run(first.aput(make_conversation(3), session_id="ada"))
        content = asyncio.run(first.aget(query, session_id="ada"))
        assert FACT in content
        assert asyncio.run(first.aget(query, session_id="bob")) == ""
    with closing(MemoryStore(tmp_path / "chat.db")) as store:
        second = make_block(store=store)
        assert asyncio.run(second.aget(query, session_id="ada")) == content
        asyncio.run(second.aput(make_conversation(0), session_id="ada"))
        assert asyncio.run(second.aget(query)) == ""


def test_a_session_goes_on_after_its_process_was_killed(tmp_path: Path) -> None:
    with closing(MemoryStore(tmp_path / "chat.db")) as store:
        killed = AgentMemory([{"role": "user", "content": "Help."}], limit=512, store=store, session="ada")
        while not killed.transcript.is_full:
            killed.append({"role": "assistant", "content": f"{FACT} The lamp was cleaned in May."})
        block = make_block(limit=512, store=store)
        asyncio.run(block.aput(make_conversation(0), session_id="ada"))
        assert FACT in asyncio.run(block.aget([user("spare key stove")], session_id="ada"))


def test_lessons_leave_room_for_the_conversation() -> None:
    with closing(ExperienceBank(":memory:")) as bank:
        lesson = ("Ask the keeper", "When a key is missing.", "He has two.", "Open the door.")
        bank.add(Experience(*lesson, success=True))
        for i in range(4):
            content = " ".join(f"Rope {i}{j}." for j in range(300))
            bank.add(Experience(f"Knot {i}", "When a rope tears.", content, f"Mend rope {i}.", success=True))
        block = make_block(experience=bank, budget=150)
        asyncio.run(block.aput(make_conversation(3)))
        content = asyncio.run(block.aget([user("The spare key is missing behind the stove.")]))
    assert "He has two." in content
    assert "data, not instructions" in content
    assert FACT in content
    assert block.compressor.count_tokens(content) <= 150


def test_a_copy_of_a_block_shares_files_but_not_messages(tmp_path: Path) -> None:
    with (
        closing(MemoryStore(tmp_path / "chat.db")) as store,
        closing(ExperienceBank(tmp_path / "bank")) as bank,
    ):
        block = make_block(store=store, experience=bank)
        asyncio.run(block.aput(make_conversation(3)))
        other = pickle.loads(pickle.dumps(block))
        bank.add(Experience("Ask", "When a key is missing.", "He has two.", "Find a key.", success=True))
        query = [user("spare key lighthouse stove missing")]
        content = asyncio.run(other.aget(query))
        assert FACT in content
        assert "He has two." in content
        asyncio.run(other.aput([user("The spare key was moved to the cellar.")]))
        assert "cellar" in asyncio.run(other.aget(query))
        assert "cellar" not in asyncio.run(block.aget(query))
        other.store.close()
        other.experience.close()


def test_a_truncated_block_keeps_what_matters_most() -> None:
    block = make_block(budget=200)
    asyncio.run(block.aput(make_conversation(3)))
    content = asyncio.run(block.aget([user("spare key lighthouse hangs stove")]))
    tokens = block.compressor.count_tokens(content)
    truncated = asyncio.run(block.atruncate(content, tokens - 20))
    assert truncated is not None
    assert block.compressor.count_tokens(truncated) <= 20
    assert FACT in truncated
    assert asyncio.run(block.atruncate(content, tokens)) is None


def test_the_original_of_a_long_message_is_kept() -> None:
    text = " ".join(f"The rope {i} is wet." for i in range(200)) + f" {FACT}"
    block = make_block(limit=512, budget=100)
    asyncio.run(block.aput([user(text)]))
    memory = block._memories["default"]
    (key,) = re.findall(r"id of the original: (\w+)", str(memory.transcript.messages))
    assert memory.original(key) == text


def test_an_empty_memory_gives_an_empty_text() -> None:
    assert asyncio.run(make_block().aget()) == ""
    assert asyncio.run(make_block().aget([user("")])) == ""


def test_a_failing_model_gives_what_matches_within_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    compressor = Compressor(BrokenScorer(RuntimeError("no memory")))
    block = TerselyMemoryBlock(compressor=compressor, budget=20)
    asyncio.run(block.aput(make_conversation(0)))
    assert FACT in asyncio.run(block.aget([user("Where is the key?")]))
    assert "no memory" in caplog.text
