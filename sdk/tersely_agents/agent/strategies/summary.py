"""In each prompt the question, the model's own summary of what came before, and the last tool result
(ZipRL)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tersely_agents.agent.calls import run_tool
from tersely_agents.agent.episode import EpisodeState, Request
from tersely_agents.agent.strategies.grammar import write_grammar
from tersely_agents.agent.strategies.setup import Setup
from tersely_agents.agent.strategies.tagged import Call, MalformedError, make_prompt, parse_call, parse_turn
from tersely_agents.agent.tools import Tool
from tersely_agents.chat.protocol import ChatError, Message, Options, Reply
from tersely_agents.levels import LEVELS, Level, choose_level_for
from tersely_agents.memory.shortening import Shown
from tersely_agents.quality import quality

ANSWER_TOKENS = 60
"""Most tokens of an answer that the model did not give and the compressor had to."""


def start(question: str, setup: Setup) -> EpisodeState:
    """The first state of an episode."""
    return EpisodeState(question, SummaryStrategy(setup))


@dataclass(frozen=True, slots=True)
class SummaryStrategy:
    setup: Setup

    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """The prompt of the turn; on a second try, with the reply that could not be read."""
        prompt = make_prompt(tools, state.question, state.summary, state.result)
        options: Options = {}
        if self.setup.constrained:
            material = len(_join(state.summary, state.result))
            options = {"grammar": write_grammar(tools, material)}
        return Request([*prompt, *state.retry], options)

    def step(self, state: EpisodeState, reply: Reply | ChatError, tools: Sequence[Tool]) -> EpisodeState:
        """The turn that the reply describes. A reply that cannot be read is corrected once; after that a
        fallback takes the turn. In strict mode it ends the episode."""
        if isinstance(reply, ChatError):
            return state.fail(str(reply), "server")
        source = _join(state.summary, state.result)
        try:
            turn = parse_turn(reply.text, tools, needs_summary=bool(source))
        except MalformedError as error:
            if self.setup.strict:
                return state.fail(str(error), "malformed")
            if state.retry:
                return self._fall_back(state, reply.text, str(error), tools)
            return replace(state, retry=_correction(reply.text, error))
        # In the first turn there is nothing to summarise but the question.
        text = source or (state.question if turn.summary else "")
        score = quality(turn.summary, text, state.question, turn.level).total if text else None
        facts = {"level": turn.level.number, "quality": score, "retried": bool(state.retry)}
        summary = turn.summary if self.setup.strict else self._bound(turn.summary, state.question)
        after = replace(state, summary=summary, reason=None)
        return self._act(after, turn.call, **facts)

    def settle(self, state: EpisodeState) -> EpisodeState:
        """The state itself: there is always a next prompt, because prompts do not grow."""
        return state

    def original(self, state: EpisodeState, key: str) -> str | None:
        """The tool result that was shortened under this id."""
        return state.originals.get(key)

    def _bound(self, summary: str, question: str) -> str:
        """A summary no longer than the highest level allows: with a model that only adds to it, the prompt
        would grow from turn to turn."""
        most = LEVELS[-1].characters[1]
        if len(summary) <= most:
            return summary
        short = self.setup.compressor.compress(question, [summary], level=5).text
        return short if 0 < len(short) <= most else summary[:most]

    def _fall_back(self, state: EpisodeState, text: str, problem: str, tools: Sequence[Tool]) -> EpisodeState:
        """A turn for a model that twice gave none: an extractive summary, and the call that can still be
        read. Without one, the question is searched for; and if that has been done, the answer is taken from
        the summary."""
        has_failed = bool(state.trace) and state.trace[-1].error is not None
        source = _join(state.summary, "" if has_failed else state.result)
        summary, level, score = self._summarise(source, state.question)
        facts: dict[str, Any] = {"level": level.number, "quality": score}
        facts |= {"retried": True, "fallback": problem}
        after = replace(state, summary=summary, reason="the model's turns could not be read")
        try:
            call = parse_call(text, tools)
        except MalformedError:
            search = next((tool for tool in tools if tool.name == "search"), None)
            if search is not None and all(turn.tool != search.name for turn in state.trace):
                call = Call(search, {"query": state.question})
            elif source:
                call = self._answer_from(summary or source, state.question, tools[-1])
            else:
                reason = f"{after.reason}, and nothing was found to answer from"
                return after.with_turn(**facts).end(reason, "malformed")
        return self._act(after, call, **facts)

    def _summarise(self, source: str, question: str) -> tuple[str, Level, float | None]:
        """An extractive summary at the level that the material deserves, the level, and the summary's
        quality."""
        level = LEVELS[0]
        if not source:
            return "", level, None
        result = self.setup.compressor.compress(question, [source], level="auto")
        summary = result.text if result.status != "failed_open" else source[: level.characters[1]]
        level = choose_level_for(span.score for span in result.kept)
        return summary, level, quality(summary, source, question, level).total

    def _answer_from(self, text: str, question: str, finish: Tool) -> Call:
        answer = self.setup.compressor.compress(question, [text], budget=ANSWER_TOKENS).text
        explanation = "taken from the summary by the compressor"
        return Call(finish, {"answer": answer, "explanation": explanation})

    def _act(self, state: EpisodeState, call: Call, **facts: Any) -> EpisodeState:
        """Run the tool. The turn's summary stands in the state."""
        result = run_tool(call.tool, call.arguments)
        tokens = self.setup.compressor.count_tokens(result.text)
        facts |= {"summary": state.summary, "result_tokens": tokens}
        state = state.with_turn(call.tool.name, call.arguments, result.error, **facts)
        if result.is_broken and self.setup.strict:
            return state.end(f"the tool {call.tool.name} broke: {result.error}", "environment")
        if call.tool.name == "finish" and result.error is None:
            return state.finish(call.arguments)
        query = f"{' '.join(call.arguments.values())} {state.question}"
        given = Shown({"role": "tool", "content": result.text})
        short, originals = self.setup.shortener.shorten(given, self.setup.result_tokens, query)
        kept = {**state.originals, **dict(originals)}
        return replace(state, result=short.message["content"], originals=kept)


def _correction(text: str, error: MalformedError) -> tuple[Message, ...]:
    """The reply that cannot be read, and what is wrong with it."""
    complaint = f"That cannot be read: {error}. Answer again with all four parts."
    return {"role": "assistant", "content": text}, {"role": "user", "content": complaint}


def _join(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))
