"""What a chat's memory has no room for, as far as the next message needs it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory.memory import BaseMemoryBlock

from tersely import Compressor, Document
from tersely.chat.transcript import text_of
from tersely.experience import ExperienceBank, format_experiences
from tersely.memory import SMALLEST_LIMIT, AgentMemory, MemoryStore
from tersely.memory.shortening import Shortener

TASK_SHARE = 0.4
"""Most of the limit that the first message takes, which stays through every reset."""
DEFAULT = "default"
"""Session of messages that come without one."""
BETWEEN = "\n\n"
TITLES = {"user": "User", "assistant": "Assistant"}


class TerselyMemoryBlock(BaseMemoryBlock[str]):
    """For `Memory.from_defaults(memory_blocks=[TerselyMemoryBlock()])`: of the messages that have left the
    chat history, the sentences that the newest message needs, in at most `budget` tokens; and the lessons of
    an experience bank, where there is one, in at most half of them.

    The messages of each session are held by an `AgentMemory` of `limit` tokens: what no longer fits is
    reduced to the sentences that the session's first message needs. With a `store` they outlive the process,
    under the memory's `session_id`. Tokens are the compressor's.
    """

    name: str = "earlier_conversation"
    description: str | None = "Parts of the earlier conversation, and lessons of earlier runs."
    priority: int = 1
    budget: int = Field(default=1000, ge=1)
    limit: int = Field(default=8000, ge=SMALLEST_LIMIT)
    compressor: Compressor = Field(default_factory=Compressor, exclude=True)
    experience: ExperienceBank | None = Field(default=None, exclude=True)
    store: MemoryStore | None = Field(default=None, exclude=True)

    _memories: dict[str, AgentMemory] = PrivateAttr(default_factory=dict)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _told: tuple[str, str] = PrivateAttr(default=("", ""))
    """Session and query of the last content, to make it again, shorter."""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._put, messages)

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str = DEFAULT, **block_kwargs: Any
    ) -> str:
        asked = [m.content for m in messages or () if m.role.value == "user" and m.content]
        self._told = told = session_id, asked[-1] if asked else ""
        return await asyncio.to_thread(self._tell, *told, self.budget)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """What matters most, in so much less; None where nothing would be left."""
        room = self.compressor.count_tokens(content) - tokens_to_truncate
        return await asyncio.to_thread(self._tell, *self._told, room) or None if room > 0 else None

    def _put(self, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            for message in messages:
                session = message.additional_kwargs.get("session_id", DEFAULT)
                given = _mapping(message)
                memory = self._memory(session)
                if memory is None:
                    task = given["content"] if given["role"] == "user" else ""
                    short = self._shortener().fit(task, int(TASK_SHARE * self.limit), task)
                    memory = self._open(session, [{"role": "user", "content": short}])
                    if task and short == task:
                        continue
                memory.prepare(None)  # a process that was killed may have left it full
                memory.append(given)
                memory.prepare(None)  # a step that is held back would not be found

    def _tell(self, session: str, query: str, budget: int) -> str:
        with self._lock:
            memory = self._memory(session)
            held = [] if memory is None else memory.transcript.conversation
            notes = "" if memory is None else memory.transcript.notes
        query = query.strip() or (held[0]["content"].strip() if held else "") or "the task"
        lessons = self._lessons(query, budget // 2)
        room = budget - self.compressor.count_tokens(f"{lessons}{BETWEEN}" if lessons else "")
        earlier = ""
        if held and room > 0:
            documents = [Document(text_of(m), title=TITLES.get(m["role"], m["role"])) for m in held]
            documents.insert(1, Document(notes, title="Notes"))
            earlier = self.compressor.compress(query, documents, budget=room).text
        return BETWEEN.join(part for part in (earlier, lessons) if part)

    def _lessons(self, query: str, room: int) -> str:
        """The best lessons that fit, whole."""
        found = [] if self.experience is None else self.experience.recall(query)
        while found and self.compressor.count_tokens(format_experiences(found)) > room:
            found.pop()
        return format_experiences(found)

    def _memory(self, session: str) -> AgentMemory | None:
        if session not in self._memories and self.store is not None and self.store.events(session):
            self._open(session, None)
        return self._memories.get(session)

    def _open(self, session: str, first: Sequence[Mapping[str, Any]] | None) -> AgentMemory:
        memory = AgentMemory(
            first, limit=self.limit, compressor=self.compressor, store=self.store, session=session
        )
        self._memories[session] = memory
        return memory

    def _shortener(self) -> Shortener:
        return Shortener(self.compressor, self.compressor.count_tokens)


def _mapping(message: ChatMessage) -> dict[str, Any]:
    """Calls and their results become text: what is quoted in a prompt needs no pairs."""
    text = message.content or ""
    if message.role.value == "tool":
        return {"role": "assistant", "content": f"Result of a tool: {text}"}
    calls: list[str] = []
    for block in message.blocks:
        if getattr(block, "block_type", "") == "tool_call":  # a class of newer versions
            given: Any = block
            calls.append(f"{given.tool_name} {given.tool_kwargs}")
    calls = calls or [str(call) for call in message.additional_kwargs.get("tool_calls") or ()]
    text = "\n".join([text, *(f"Call of a tool: {call}" for call in calls)]).strip()
    return {"role": "user" if message.role.value == "user" else "assistant", "content": text}
