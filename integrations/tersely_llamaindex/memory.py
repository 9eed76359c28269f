"""A memory block that brings back the parts of an earlier conversation that the next message needs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.memory.memory import BaseMemoryBlock
from pydantic.json_schema import SkipJsonSchema

from tersely import Compressor, Document
from tersely.messages import get_text
from tersely.runtime.locks import Lock
from tersely.user_text import find_last_request
from tersely_agents.experience import ExperienceBank, format_experiences
from tersely_agents.memory import SMALLEST_LIMIT, AgentMemory, MemoryStore
from tersely_agents.memory.shortening import Shortener

TASK_SHARE = 0.4
"""Largest share of the limit for the first message, which stays through every reset."""
DEFAULT_SESSION = "default"
"""Session of messages that name no session."""
SEPARATOR = "\n\n"
TITLES = {"user": "User", "assistant": "Assistant"}


class TerselyMemoryBlock(BaseMemoryBlock[str]):
    """A memory block that brings back earlier messages:
    `Memory.from_defaults(memory_blocks=[TerselyMemoryBlock()])`.

    It shows at most `budget` tokens of the messages that have left the chat history: the sentences that the
    newest message needs. Lessons of an experience bank, if there is one, take at most half of the budget.

    An `AgentMemory` of `limit` tokens holds the messages of each session; messages that no longer fit are
    reduced to the sentences that the session's first message needs. With a `store` the messages outlive the
    process, under the memory's `session_id`. Tokens are counted by the compressor.
    """

    name: str = "earlier_conversation"
    description: str | None = "Parts of the earlier conversation, and lessons of earlier runs."
    priority: int = 1
    budget: int = Field(default=1000, ge=1, strict=True)
    limit: int = Field(default=8000, ge=SMALLEST_LIMIT, strict=True)
    compressor: SkipJsonSchema[Compressor] = Field(default_factory=Compressor, exclude=True)
    experience: SkipJsonSchema[ExperienceBank | None] = Field(default=None, exclude=True)
    store: SkipJsonSchema[MemoryStore | None] = Field(default=None, exclude=True)

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    _memories: dict[str, AgentMemory] = PrivateAttr(default_factory=dict)
    _lock: Lock = PrivateAttr(default_factory=Lock)
    _last_request: tuple[str, str] = PrivateAttr(default=("", ""))
    """Session and query of the last content, to make a shorter one."""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._add, messages)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str = DEFAULT_SESSION,
        **block_kwargs: Any,
    ) -> str:
        self._last_request = session, query = session_id, _find_user_text(messages or ())
        return await asyncio.to_thread(self._recall, session, query, self.budget)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Make the content again for its query, with fewer tokens; None if nothing would be left."""
        budget = self.compressor.count_tokens(content) - tokens_to_truncate
        if budget <= 0:
            return None
        session, query = self._last_request
        return await asyncio.to_thread(self._recall, session, query, budget) or None

    def _add(self, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            for message in messages:
                session = message.additional_kwargs.get("session_id", DEFAULT_SESSION)
                converted = _to_openai(message)
                memory = self._find_memory(session)
                if memory is None:
                    task = converted["content"] if converted["role"] == "user" else ""
                    shortened = self._shorten_task(task)
                    memory = self._open_memory(session, [{"role": "user", "content": shortened}])
                    if task and shortened == task:
                        continue
                memory.prepare(None)  # a process that was killed may have left it full
                memory.append(converted)
                memory.prepare(None)  # takes in the step, so that it is found

    def _recall(self, session: str, query: str, budget: int) -> str:
        """Return the parts of a session and of the lessons that the query needs, in at most `budget`
        tokens."""
        with self._lock:
            memory = self._find_memory(session)
            messages = [] if memory is None else memory.transcript.conversation
            notes = "" if memory is None else memory.transcript.notes
        query = query.strip() or (messages[0]["content"].strip() if messages else "")
        lessons = self._recall_lessons(query, budget // 2) if query else ""
        room = budget - self.compressor.count_tokens(f"{lessons}{SEPARATOR}" if lessons else "")
        earlier = ""
        if messages and room > 0:
            documents = [Document(get_text(m), title=TITLES.get(m["role"], m["role"])) for m in messages]
            documents.insert(1, Document(notes, title="Notes"))
            earlier = self.compressor.compress(query or None, documents, budget=room).text
        return SEPARATOR.join(part for part in (earlier, lessons) if part)

    def _recall_lessons(self, query: str, budget: int) -> str:
        """Return the best lessons that fit into `budget` tokens, each whole."""
        lessons = [] if self.experience is None else self.experience.recall(query)
        while lessons and self.compressor.count_tokens(format_experiences(lessons)) > budget:
            lessons.pop()
        return format_experiences(lessons)

    def _find_memory(self, session: str) -> AgentMemory | None:
        if session not in self._memories and self.store is not None and self.store.events(session):
            self._open_memory(session, None)
        return self._memories.get(session)

    def _open_memory(self, session: str, first: Sequence[Mapping[str, Any]] | None) -> AgentMemory:
        """Open a session: a new one with the messages `first`, or the one in the store if `first` is None."""
        memory = AgentMemory(
            first, limit=self.limit, compressor=self.compressor, store=self.store, session=session
        )
        self._memories[session] = memory
        return memory

    def _shorten_task(self, task: str) -> str:
        shortener = Shortener(self.compressor, self.compressor.count_tokens)
        return shortener.fit(task, int(TASK_SHARE * self.limit), task)


def _to_openai(message: ChatMessage) -> dict[str, Any]:
    """Convert a message to OpenAI's format. Calls and their results become text, which needs no partners."""
    text = message.content or ""
    if message.role.value == "tool":
        return {"role": "assistant", "content": f"Result of a tool: {text}"}
    calls: list[str] = []
    for block in message.blocks:
        # Compare the name of its type, because only newer versions of LlamaIndex have a class for it.
        if getattr(block, "block_type", "") == "tool_call":
            call: Any = block
            calls.append(f"{call.tool_name} {call.tool_kwargs}")
    calls = calls or [str(call) for call in message.additional_kwargs.get("tool_calls") or ()]
    lines = [text, *(f"Call of a tool: {call}" for call in calls)]
    role = "user" if message.role.value == "user" else "assistant"
    return {"role": role, "content": "\n".join(lines).strip()}


def _find_user_text(messages: Sequence[ChatMessage]) -> str:
    """Return the last text with words of the user; empty without one."""
    return find_last_request(m.content or "" for m in reversed(messages) if m.role.value == "user")
