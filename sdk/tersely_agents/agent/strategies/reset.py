"""The transcript, summarised and reset where it would not fit (SUPO)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tersely_agents.agent.episode import EpisodeState, Request
from tersely_agents.agent.strategies.setup import Setup
from tersely_agents.agent.strategies.transcript import TranscriptStrategy, first_prompt
from tersely_agents.agent.tools import Tool
from tersely_agents.chat.protocol import ChatError, Reply
from tersely_agents.memory.memory import AgentMemory

MEMORY_LIMIT = 8000
"""Tokens of the context, unless a memory is given."""
STRICT_SUMMARIES = 7
"""Resets (S) in strict mode, unless a memory is given. The notes on SUPO give no number."""


def start(question: str, setup: Setup) -> EpisodeState:
    """The first state of an episode: that of the caller's memory, where there is one. Calls of a process that
    ended in the middle of them are answered."""
    first = first_prompt(question)
    if setup.memory is None:
        memory = AgentMemory(
            first,
            limit=MEMORY_LIMIT,
            max_summaries=STRICT_SUMMARIES if setup.strict else None,
            compress_over=setup.result_tokens,
            compressor=setup.compressor,
            replay=not setup.strict,
        )
    else:
        memory = setup.memory(first)
    memory.interrupt()
    strategy = ResetStrategy(TranscriptStrategy(setup, memory.journal))
    return EpisodeState(question, strategy, memory.transcript)


@dataclass(frozen=True, slots=True)
class ResetStrategy:
    """`turns` takes the turns. Where the context is full, the request is one for a summary, and the reply
    becomes the notes."""

    turns: TranscriptStrategy

    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """The next turn, or, in a full context, the request to summarise it."""
        if not state.transcript.is_full:
            return self.turns.request(state, tools)
        resetter = self.turns.journal.resetter
        options = resetter.summary_options([tool.schema() for tool in tools])
        return Request([*resetter.summary_request(state.transcript)], options)

    def step(self, state: EpisodeState, reply: Reply | ChatError, tools: Sequence[Tool]) -> EpisodeState:
        """The next turn, or, in a full context, the reset with the reply as its notes."""
        if state.transcript.is_full and self.turns.setup.strict:
            return self._reset_strictly(state, reply)
        if state.transcript.is_full:
            text = "" if isinstance(reply, ChatError) else reply.text
            transcript = self.turns.journal.reset_with_reply(state.transcript, text)
            return replace(state, transcript=transcript)
        after = self.turns.step(state, reply, tools)
        is_turn = len(after.trace) > len(state.trace)
        if is_turn and after.outcome is None and after.transcript.ending == "overlong":
            return replace(after, outcome="overlong", reason="the memory allows no further step")
        return after

    def _reset_strictly(self, state: EpisodeState, reply: Reply | ChatError) -> EpisodeState:
        """The reset with the reply as it is: one that would have to be shortened ends the episode."""
        if isinstance(reply, ChatError):
            return state.fail(str(reply), "server")
        journal, summary = self.turns.journal, reply.text.strip()
        if not summary:
            return state.fail(f"{self.turns.setup.model_name} wrote no notes", "malformed")
        tokens, most = journal.resetter.count(summary), journal.settings.summary_limit
        if tokens > most:
            return state.fail(f"the notes have {tokens} tokens, and {most} are allowed", "overlong")
        return replace(state, transcript=journal.reset(state.transcript, summary))

    def settle(self, state: EpisodeState) -> EpisodeState:
        """The state; overlong, where the context is full and may not be reset again."""
        journal = self.turns.journal
        if not state.transcript.is_full or journal.resetter.may_reset(state.transcript):
            return state
        transcript, error = journal.finish_overlong(state.transcript)
        return replace(state, transcript=transcript).fail(str(error), "overlong")

    def original(self, state: EpisodeState, key: str) -> str | None:
        """The text that was shortened under this id, from the transcript or its store."""
        return self.turns.original(state, key)
