"""The strategies "transcript" (ReAct) and "reset" (SUPO): a conversation with tool calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tersely_agents.agent.episode import EpisodeState, Request, Setup, Strategy
from tersely_agents.agent.tools import Tool, run_call, with_ids
from tersely_agents.chat import ChatError, Message, Reply
from tersely_agents.chat.protocol import remove_thoughts
from tersely_agents.memory import AgentMemory
from tersely_agents.memory.journal import Journal
from tersely_agents.prompts import load_prompt

REMINDER: Message = {"role": "user", "content": "You said nothing. Call a tool, or give your answer."}
"""Message that is sent once after an empty reply, and not kept."""
STRICT_RESETS = 7
"""Largest number of resets in strict mode, unless the caller passes a memory. The notes on SUPO give no
number."""


@dataclass(frozen=True)
class TranscriptStrategy(Strategy):
    """The strategy that sends the whole transcript in every request. The transcript never becomes full.

    Every message is written to the journal before the next step, for example a call before its tool runs.
    """

    limit_tokens: ClassVar[int] = 10**9
    journal: Journal

    @classmethod
    def start(cls, question: str, setup: Setup) -> EpisodeState:
        """Return the first state: that of the caller's memory, if there is one. Calls that an earlier process
        left without a result get a placeholder."""
        first: list[Message] = [
            {"role": "system", "content": load_prompt("agent_system").text},
            {"role": "user", "content": question},
        ]
        if setup.memory is not None:
            memory = setup.memory(first)
        else:
            memory = AgentMemory(
                first,
                limit=cls.limit_tokens,
                max_summaries=STRICT_RESETS if setup.strict else None,
                compress_over=setup.result_tokens,
                compressor=setup.compressor,
                replay=not setup.strict,
            )
        memory.interrupt()
        return EpisodeState(question, cls(setup, memory.journal), memory.transcript)

    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """Return the transcript and the tools; in a full context, the request to summarise it."""
        schemas = [tool.schema() for tool in tools]
        if not state.transcript.is_full:
            messages = [*state.transcript.messages, *state.retry]
            return Request(messages, {"tools": schemas, "tool_choice": "auto"})
        resetter = self.journal.resetter
        return Request([*resetter.summary_request(state.transcript)], resetter.summary_options(schemas))

    def step(self, state: EpisodeState, reply: Reply | ChatError, tools: Sequence[Tool]) -> EpisodeState:
        """Take the answer, or run the calls of the reply; in a full context, use the reply as notes.

        Outside strict mode, an empty reply gets one reminder.
        """
        if state.transcript.is_full:
            return self._reset(state, reply)
        if isinstance(reply, ChatError):
            return state.fail(str(reply), "server")
        if not reply.tool_calls:
            return self._take_text(state, reply.text)
        state = self._run_calls(state, reply, tools)
        if state.outcome is None and state.transcript.ending == "overlong":
            return state.end("the memory allows no further step", "overlong")
        return state

    def settle(self, state: EpisodeState) -> EpisodeState:
        """Return the state; overlong if the context is full and must not be reset again."""
        if not state.transcript.is_full or self.journal.resetter.may_reset(state.transcript):
            return state
        transcript, error = self.journal.finish_overlong(state.transcript)
        return replace(state, transcript=transcript).fail(str(error), "overlong")

    def original(self, state: EpisodeState, key: str) -> str | None:
        """Return the original text with this id, from the transcript or its store."""
        return self.journal.original(state.transcript, key)

    def _take_text(self, state: EpisodeState, text: str) -> EpisodeState:
        answer = remove_thoughts(text)
        if answer:
            state = self._append(state, {"role": "assistant", "content": text})
            return self._finish(state.with_turn(), {"answer": answer})
        if state.retry or self.setup.strict:
            often = " twice" if state.retry else ""
            return state.fail(f"{self.setup.model_name}{often} said nothing", "malformed")
        return replace(state, retry=(REMINDER,))

    def _run_calls(self, state: EpisodeState, reply: Reply, tools: Sequence[Tool]) -> EpisodeState:
        turn = state.turns + 1
        calls = with_ids(reply.tool_calls, len(state.trace))
        written = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
        message: Message = {"role": "assistant", "content": reply.text or None, "tool_calls": written}
        state = self._append(state, message)
        final: Mapping[str, str] | None = None
        for call in calls:
            arguments, result = run_call(call, tools)
            if call.name == "finish" and result.error is None:
                final = arguments
            state = self._append(state, {"role": "tool", "tool_call_id": call.id, "content": result.text})
            state = self.record(state, call.name, arguments, result, turn=turn)
            if state.outcome is not None:
                return state
        return state if final is None else self._finish(state, final)

    def _append(self, state: EpisodeState, message: Message) -> EpisodeState:
        return replace(state, transcript=self.journal.append(state.transcript, message))

    def _finish(self, state: EpisodeState, arguments: Mapping[str, str]) -> EpisodeState:
        return replace(state, transcript=self.journal.finish(state.transcript)).finish(arguments)

    def _reset(self, state: EpisodeState, reply: Reply | ChatError) -> EpisodeState:
        """Reset the context. In strict mode, notes that would have to be shortened end the episode."""
        if not self.setup.strict:
            text = "" if isinstance(reply, ChatError) else reply.text
            return replace(state, transcript=self.journal.reset_with_reply(state.transcript, text))
        if isinstance(reply, ChatError):
            return state.fail(str(reply), "server")
        notes = reply.text.strip()
        if not notes:
            return state.fail(f"{self.setup.model_name} wrote no notes", "malformed")
        tokens, most = self.journal.resetter.count(notes), self.journal.settings.summary_limit
        if tokens > most:
            return state.fail(f"the notes have {tokens} tokens, and {most} are allowed", "overlong")
        return replace(state, transcript=self.journal.reset(state.transcript, notes))


class ResetStrategy(TranscriptStrategy):
    """The strategy that summarises and resets the transcript when it would not fit."""

    limit_tokens: ClassVar[int] = 8000
