"""The agent: one step function over an explicit state.

    ziprl   each prompt holds the question, the model's own summary, and the last tool result
    supo    the transcript, summarised and reset by `AgentMemory` where it would not fit
    react   the whole transcript

With the last two the memory in a state is changed by the step, not copied.

A rollout in training is this loop with a chat model that records what it needs; nothing here knows of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tersely.agent import trace, ziprl
from tersely.agent.calls import read_call, run_tool, said, with_ids
from tersely.agent.tools import Tool, experience_tool, finish_tool, original_tool
from tersely.agent.trace import TurnTrace
from tersely.agent.ziprl import Call, MalformedError
from tersely.chat.billing import Billed
from tersely.chat.protocol import ChatError, ChatModel, Message, without_thought
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.experience.bank import ExperienceBank
from tersely.inputs import check_count, check_query
from tersely.levels import LEVELS, level_of
from tersely.memory import AgentMemory, OverlongError
from tersely.memory.shortening import Shortener
from tersely.prompts import load_prompt
from tersely.quality import quality

Policy = Literal["ziprl", "supo", "react"]
Outcome = Literal["answered", "turns", "overlong", "failed"]

MEMORY_LIMIT = 8000
"""Tokens of the context with the policy "supo", unless a memory is given."""
ANSWER_TOKENS = 60
"""Most tokens of an answer that the model did not give and the compressor had to."""
_UNLIMITED = 10**9
_CHARACTERS = 3
"""Characters to a token, at the least, in the parts of an original."""


@dataclass(frozen=True, slots=True)
class State:
    """Everything that the next step depends on, but for the model and the tools."""

    question: str
    memory: AgentMemory | None
    """The transcript, with the policies that keep one."""
    summary: str = ""
    """What the model wrote down last, with ZipRL's policy."""
    result: str = ""
    """What the last tool gave."""
    originals: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tool results that were shortened, by id; with a memory they are there."""
    trace: tuple[TurnTrace, ...] = ()
    outcome: Outcome | None = None
    """None while the task goes on. "turns": it took too many; "overlong": so did its memory; "failed": the
    model did not answer."""
    answer: str = ""
    explanation: str = ""
    confidence: str = ""
    reason: str | None = None
    """Why there is no answer, or why it is not the model's own."""
    task: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    """Tells the turns of tasks apart that one file holds."""
    recalled: tuple[str, ...] = ()
    """Ids of the lessons that the model recalled. Once it is known whether the answer is right, the bank
    wants to know: `bank.record_use(state.recalled, success)`."""

    @property
    def turns(self) -> int:
        """Turns so far; one turn may call several tools."""
        return self.trace[-1].turn if self.trace else 0


class Agent:
    """Answers questions with tools.

    Args:
        model: decides.
        tools: what it may use beside `finish`; see `search_tools`.
        memory: makes the memory of a task from its first prompt, for "supo":
            `lambda first: AgentMemory(first, ...)`.
        experience: lessons that the model may recall.
        policy: what the model gets to see of earlier turns.
        max_turns: turns after which a task ends without an answer (20 in ZipRL's training).
        result_tokens: a tool result of more tokens is compressed for the question; the model may open the
            original. A memory of the caller's has `compress_over` for it.
        compressor: compresses and counts tokens; None for the bundled model.
        trace_file: where every turn is appended as one JSON line.
    """

    def __init__(
        self,
        model: ChatModel,
        tools: Sequence[Tool],
        *,
        memory: Callable[[list[Message]], AgentMemory] | None = None,
        experience: ExperienceBank | None = None,
        policy: Policy = "ziprl",
        max_turns: int = 20,
        result_tokens: int = 2000,
        compressor: Compressor | None = None,
        trace_file: str | Path | None = None,
    ) -> None:
        if policy not in get_args(Policy):
            raise InvalidInputError(
                f"policy is {policy!r}. Pass one of {', '.join(map(repr, get_args(Policy)))}."
            )
        if memory is not None and policy != "supo":
            raise InvalidInputError(
                f"A memory is given, and the policy {policy!r} has none. Pass policy='supo'."
            )
        if memory is not None and not callable(memory):
            kind = type(cast("object", memory)).__name__
            raise InvalidInputError(
                f"memory is a {kind}. Pass a function that makes one: lambda first: AgentMemory(first, ...)."
            )
        self.model = model
        self.compressor = compressor or Compressor()
        self._tools = [*tools, finish_tool()]
        names = [tool.name for tool in self._tools]
        if len(set(names)) < len(names):
            raise InvalidInputError(f"The tools are called {names}. Each needs a name of its own.")
        self._memory = memory
        self._experience = experience
        self._policy: Policy = policy
        self._max_turns = check_count(max_turns, "max_turns", "turns")
        self._result_tokens = check_count(result_tokens, "result_tokens", "tokens")
        self._shortener = Shortener(self.compressor, self.compressor.count_tokens)
        self._trace_file = None if trace_file is None else Path(trace_file)

    def run(self, question: str) -> State:
        """Steps until there is an answer, or none is to be had."""
        state = self.start(question)
        while state.outcome is None:
            state = self.step(state)
        return state

    def start(self, question: str) -> State:
        """The state of a new task."""
        question = check_query(question)
        if self._policy == "ziprl":
            return State(question, None)
        first: list[Message] = [
            {"role": "system", "content": load_prompt("agent_system").text},
            {"role": "user", "content": question},
        ]
        if self._policy == "react":
            return State(question, self._own_memory(first, _UNLIMITED))
        if self._memory is not None:
            memory = self._memory(first)
            memory.interrupt()  # calls of a process that ended in the middle of them
            return State(question, memory)
        return State(question, self._own_memory(first, MEMORY_LIMIT))

    def _own_memory(self, first: list[Message], limit: int) -> AgentMemory:
        over = self._result_tokens
        return AgentMemory(first, limit=limit, compress_over=over, compressor=self.compressor)

    def step(self, state: State) -> State:
        """One turn: the model decides, its tool runs. A state that has an outcome stays as it is."""
        if state.outcome is not None:
            return state
        if state.turns >= self._max_turns:
            return replace(state, outcome="turns", reason=f"there is no answer after {self._max_turns} turns")
        model = Billed(self.model, self.compressor.count_tokens)
        recalled: list[str] = []
        tools = self.tools(state, recalled)
        try:
            after = (
                self._compressed_turn(state, model, tools)
                if state.memory is None
                else self._transcript_turn(state, state.memory, model, tools)
            )
            after = replace(after, recalled=(*state.recalled, *recalled))
        except (ChatError, OverlongError) as error:
            outcome = "failed" if isinstance(error, ChatError) else "overlong"
            turn = self._note(state, model, None, {}, "", str(error))
            after = replace(state, outcome=outcome, reason=str(error), trace=(*state.trace, turn))
        if self._trace_file is not None:
            trace.write(self._trace_file, after.trace[len(state.trace) :])
        return after

    def tools(self, state: State, recalled: list[str] | None = None) -> list[Tool]:
        """What the model may use for a task, the same in every turn. Ids of lessons that are recalled then go
        to `recalled`."""
        lookup = state.originals.get if state.memory is None else state.memory.original
        own = [original_tool(lookup, _CHARACTERS * self._result_tokens)]
        if self._experience is not None:
            noted = [] if recalled is None else recalled
            own.append(experience_tool(self._experience, state.question, noted))
        return [*self._tools[:-1], *own, self._tools[-1]]

    # ZipRL

    def _compressed_turn(self, state: State, model: Billed, tools: Sequence[Tool]) -> State:
        prompt = ziprl.messages(tools, state.question, state.summary, state.result)
        source = "\n\n".join(filter(None, (state.summary, state.result)))
        text, problem, retried = "", "", False
        for _ in range(2):
            text = model.complete(prompt).text
            try:
                turn = ziprl.parse(text, tools, something_to_keep=bool(source))
                break
            except MalformedError as error:
                problem, retried = str(error), True
                correction = f"That cannot be read: {problem}. Answer again with all four parts."
                prompt = [
                    *prompt,
                    {"role": "assistant", "content": text},
                    {"role": "user", "content": correction},
                ]
        else:
            return self._fall_back(state, text, problem, tools, model)
        score = quality(turn.summary, source, state.question, turn.level).total if source else None
        after = replace(state, summary=self._bounded(turn.summary, state.question), reason=None)
        facts = {"level": turn.level.number, "quality": score, "retried": retried}
        return self._act(after, turn.call, model, **facts)

    def _bounded(self, summary: str, question: str) -> str:
        """A summary no longer than the highest level allows: with a model that only adds to it, the prompt
        would grow from turn to turn."""
        most = LEVELS[-1].characters[1]
        if len(summary) <= most:
            return summary
        short = self.compressor.compress(question, [summary], level=5).text
        return short if 0 < len(short) <= most else summary[:most]

    def _fall_back(
        self, state: State, text: str, problem: str, tools: Sequence[Tool], model: Billed
    ) -> State:
        """A turn for a model that twice gave none: an extractive summary at the level that the material
        deserves, and the call that can still be read. Without one, the question is searched for; and if that
        has been done, the answer is taken from the summary."""
        failed = bool(state.trace) and state.trace[-1].error is not None
        source = "\n\n".join(filter(None, (state.summary, "" if failed else state.result)))
        summary, level, score = "", LEVELS[0], None
        if source:
            found = self.compressor.compress(state.question, [source], level="auto")
            summary = found.text if found.status != "failed_open" else source[: level.characters[1]]
            level = level_of(s.score for s in found.kept)
            score = quality(summary, source, state.question, level).total
        facts: dict[str, Any] = {"level": level.number, "quality": score}
        facts |= {"retried": True, "fallback": problem}
        after = replace(state, summary=summary, reason="the model's turns could not be read")
        try:
            call = ziprl.parse_call(text, tools)
        except MalformedError:
            search = next((tool for tool in tools if tool.name == "search"), None)
            if search is not None and all(turn.tool != search.name for turn in state.trace):
                call = Call(search, {"query": state.question})
            elif source:
                material = [summary or source]
                answer = self.compressor.compress(state.question, material, budget=ANSWER_TOKENS).text
                told = "taken from the summary by the compressor"
                call = Call(tools[-1], {"answer": answer, "explanation": told})
            else:
                turn = self._note(after, model, None, {}, "", None, **facts)
                reason = f"{after.reason}, and nothing was found to answer from"
                return replace(after, trace=(*after.trace, turn), outcome="failed", reason=reason)
        return self._act(after, call, model, **facts)

    def _act(self, state: State, call: Call, model: Billed, **facts: Any) -> State:
        """Run the tool and note the turn, whose summary stands in the state."""
        result, error = run_tool(call.tool, call.arguments)
        turn = self._note(
            state, model, call.tool.name, call.arguments, result, error, summary=state.summary, **facts
        )
        state = replace(state, trace=(*state.trace, turn))
        if call.tool.name == "finish" and error is None:
            return _finished(state, call.arguments)
        query = f"{' '.join(call.arguments.values())} {state.question}"
        message: Message = {"role": "tool", "content": result}
        short, originals = self._shortener.shorten(dict(message), self._result_tokens, query)
        return replace(state, result=short["content"], originals={**state.originals, **dict(originals)})

    # Transcripts

    def _transcript_turn(
        self, state: State, memory: AgentMemory, model: Billed, tools: Sequence[Tool]
    ) -> State:
        memory.interrupt()  # where an earlier step ended between a call and its result
        number_of_turn = state.turns + 1
        reply = said(model, memory, [tool.schema() for tool in tools])
        reply = replace(reply, tool_calls=with_ids(reply.tool_calls, len(state.trace)))
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in reply.tool_calls
        ]
        if not calls:
            memory.append({"role": "assistant", "content": reply.text})
            memory.finish()
            turn = self._note(state, model, None, {}, "", None)
            return _finished(
                replace(state, trace=(*state.trace, turn)), {"answer": without_thought(reply.text)}
            )
        memory.append({"role": "assistant", "content": reply.text or None, "tool_calls": calls})
        finished: Mapping[str, str] | None = None
        for number, call in enumerate(reply.tool_calls):
            tool, arguments, problem = read_call(call, tools)
            result, error = (problem, problem) if tool is None else run_tool(tool, arguments)
            if call.name == "finish" and error is None:
                finished = arguments
            memory.append({"role": "tool", "tool_call_id": call.id, "content": result})
            spent = Billed(self.model, self.compressor.count_tokens) if number else model
            turn = self._note(state, spent, call.name, arguments, result, error, turn=number_of_turn)
            state = replace(state, trace=(*state.trace, turn))
        if finished is not None:
            memory.finish()
            return _finished(state, finished)
        if memory.transcript.ending == "overlong":
            return replace(state, outcome="overlong", reason="the memory allows no further step")
        return state

    def _note(
        self,
        state: State,
        model: Billed,
        tool: str | None,
        arguments: Mapping[str, str],
        result: str,
        error: str | None,
        **facts: Any,
    ) -> TurnTrace:
        facts.setdefault("turn", state.turns + 1)
        return TurnTrace(
            tokens_in=model.tokens_in,
            tokens_out=model.tokens_out,
            seconds=round(model.seconds(), 3),
            task=state.task,
            tool=tool,
            arguments=dict(arguments),
            result_tokens=self.compressor.count_tokens(result),
            error=error,
            **facts,
        )


def _finished(state: State, arguments: Mapping[str, str]) -> State:
    return replace(
        state,
        outcome="answered",
        answer=arguments.get("answer", ""),
        explanation=arguments.get("explanation", ""),
        confidence=arguments.get("confidence", ""),
    )
