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
from tersely.agent import AgentMemory, MemoryStore
from tersely.agent.memory import SMALLEST_LIMIT
from tersely.agent.shortening import Shortener
from tersely.experience import ExperienceBank, format_experiences

TASK_SHARE = 0.4
"""Most of the limit that the first message takes, which stays through every reset."""
TITLES = {"user": "User", "assistant": "Assistant"}


class TerselyMemoryBlock(BaseMemoryBlock[str]):
    """For `Memory.from_defaults(memory_blocks=[TerselyMemoryBlock()])`: of the messages that have left the
    chat history, the sentences that the newest message needs, word for word, in at most `budget` tokens; and
    the lessons of an experience bank, where there is one.

    The messages are held by an `AgentMemory` of `limit` tokens, so that a conversation of any length stays
    small: what no longer fits is reduced to the sentences that its first message needs. With a `store` they
    outlive the process, under `session`. Tokens are the compressor's.
    """

    name: str = "earlier_conversation"
    description: str | None = "Parts of the earlier conversation, and lessons of earlier runs."
    priority: int = 1
    budget: int = Field(default=1000, ge=1)
    limit: int = Field(default=8000, ge=SMALLEST_LIMIT)
    compressor: Compressor = Field(default_factory=Compressor, exclude=True)
    experience: ExperienceBank | None = Field(default=None, exclude=True)
    store: MemoryStore | None = Field(default=None, exclude=True)
    session: str = "default"

    _memory: AgentMemory | None = PrivateAttr(default=None)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _query: str = PrivateAttr(default="")

    def model_post_init(self, context: Any, /) -> None:
        """Opens the session, where the store has it."""
        super().model_post_init(context)
        AgentMemory(
            [{"role": "user", "content": ""}], limit=self.limit
        )  # complains now, not at the first put
        if self.store is not None and self.store.events(self.session):
            self._memory = self._open(None)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._put, messages)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await asyncio.to_thread(self._get, messages or [])

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The sentences that matter most, in so much less; None where nothing would be left."""
        room = self.compressor.count_tokens(content) - tokens_to_truncate
        if room <= 0:
            return None
        return await asyncio.to_thread(self._shortener().fit, content, room, self._query)

    def _put(self, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            for message in messages:
                given = _mapping(message)
                if self._memory is None:
                    task = given["content"] if given["role"] == "user" else ""
                    short = self._shortener().fit(task, int(TASK_SHARE * self.limit), task)
                    self._memory = self._open([{"role": "user", "content": short}])
                    if task and short == task:
                        continue
                self._memory.append(given)
                self._memory.prepare(None)  # a step that is held back would not be found

    def _get(self, messages: Sequence[ChatMessage]) -> str:
        held = [] if self._memory is None else self._memory.conversation
        asked = [m.content for m in messages if m.role.value == "user" and m.content]
        query = asked[-1] if asked else ""
        if not query.strip():
            query = held[0]["content"] if held else ""
        self._query = query = query.strip() or "the task"
        lessons = "" if self.experience is None else format_experiences(self.experience.recall(query))
        room = self.budget - self.compressor.count_tokens(lessons)
        earlier = ""
        if held and room > 0:
            documents = [Document(m["content"], title=TITLES[m["role"]]) for m in held]
            notes = self._memory.notes if self._memory is not None else ""
            documents.insert(1, Document(notes, title="Notes"))
            earlier = self.compressor.compress(query, documents, budget=room).text
        return "\n\n".join(part for part in (earlier, lessons) if part)

    def _open(self, first: Sequence[Mapping[str, Any]] | None) -> AgentMemory:
        return AgentMemory(
            first, limit=self.limit, compressor=self.compressor, store=self.store, session=self.session
        )

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
