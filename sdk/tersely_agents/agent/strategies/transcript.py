"""The whole transcript in every prompt (ReAct)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tersely_agents.agent.calls import Result, read_call, run_tool, with_ids
from tersely_agents.agent.episode import EpisodeState, Request
from tersely_agents.agent.strategies.setup import Setup
from tersely_agents.agent.tools import Tool
from tersely_agents.chat.protocol import ChatError, Message, Reply, ToolCall, remove_thoughts
from tersely_agents.memory.journal import Journal, make_journal
from tersely_agents.memory.reset import MemorySettings
from tersely_agents.prompts import load_prompt

REMINDER: Message = {"role": "user", "content": "You said nothing. Call a tool, or give your answer."}
"""Sent once after a reply that holds nothing, and not kept."""
_UNLIMITED = 10**9


def start(question: str, setup: Setup) -> EpisodeState:
    """The first state of an episode."""
    settings = MemorySettings(_UNLIMITED, compress_over=setup.result_tokens)
    journal = make_journal(settings, setup.compressor)
    transcript = journal.open(first_prompt(question))
    return EpisodeState(question, TranscriptStrategy(setup, journal), transcript)


def first_prompt(question: str) -> list[Message]:
    """What every transcript begins with."""
    return [
        {"role": "system", "content": load_prompt("agent_system").text},
        {"role": "user", "content": question},
    ]


@dataclass(frozen=True, slots=True)
class TranscriptStrategy:
    """Every message is in the journal before the next thing happens: a call before its tool runs."""

    setup: Setup
    journal: Journal

    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """The transcript and the tools."""
        schemas = [tool.schema() for tool in tools]
        messages = [*state.transcript.messages, *state.retry]
        return Request(messages, {"tools": schemas, "tool_choice": "auto"})

    def step(self, state: EpisodeState, reply: Reply | ChatError, tools: Sequence[Tool]) -> EpisodeState:
        """The answer, or the calls of the reply and their results. An empty reply gets one reminder, but not
        in strict mode."""
        if isinstance(reply, ChatError):
            return state.fail(str(reply), "server")
        if reply.tool_calls:
            return self._call_tools(state, reply, tools)
        answer = remove_thoughts(reply.text)
        if answer:
            return self._answer(state, reply.text, answer)
        if state.retry or self.setup.strict:
            often = " twice" if state.retry else ""
            return state.fail(f"{self.setup.model_name}{often} said nothing", "malformed")
        return replace(state, retry=(REMINDER,))

    def settle(self, state: EpisodeState) -> EpisodeState:
        """The state itself: there is always room."""
        return state

    def original(self, state: EpisodeState, key: str) -> str | None:
        """The text that was shortened under this id, from the transcript or its store."""
        return self.journal.original(state.transcript, key)

    def _answer(self, state: EpisodeState, text: str, answer: str) -> EpisodeState:
        """The end with a reply that calls no tool."""
        transcript = self.journal.append(state.transcript, {"role": "assistant", "content": text})
        transcript = self.journal.finish(transcript)
        return replace(state, transcript=transcript).with_turn().finish({"answer": answer})

    def _call_tools(self, state: EpisodeState, reply: Reply, tools: Sequence[Tool]) -> EpisodeState:
        turn = state.turns + 1
        calls = with_ids(reply.tool_calls, len(state.trace))
        message = {
            "role": "assistant",
            "content": reply.text or None,
            "tool_calls": [_to_json(call) for call in calls],
        }
        state = replace(state, transcript=self.journal.append(state.transcript, message))
        final: Mapping[str, str] | None = None
        for call in calls:
            tool, arguments, complaint = read_call(call, tools)
            result = Result(complaint, complaint) if tool is None else run_tool(tool, arguments)
            if call.name == "finish" and result.error is None:
                final = arguments
            message = {"role": "tool", "tool_call_id": call.id, "content": result.text}
            state = replace(state, transcript=self.journal.append(state.transcript, message))
            tokens = self.setup.compressor.count_tokens(result.text)
            state = state.with_turn(call.name, arguments, result.error, turn=turn, result_tokens=tokens)
            if result.is_broken and self.setup.strict:
                return state.end(f"the tool {call.name} broke: {result.error}", "environment")
        if final is None:
            return state
        return replace(state, transcript=self.journal.finish(state.transcript)).finish(final)


def _to_json(call: ToolCall) -> dict[str, object]:
    """The call in OpenAI's format."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
