"""The agent: a plain loop over an explicit state.

    while state.outcome is None:
        state = agent.step(state, agent.complete(agent.request(state)))

A batched rollout asks many states for their requests, generates once for all, and steps each. Nothing here
knows of training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import check_compressor, check_count, check_members, check_query, is_list_of
from tersely.runtime.paths import check_path
from tersely_agents.agent.episode import EpisodeState, Request
from tersely_agents.agent.strategies import MAX_TURNS, STRATEGIES, Setup, StrategyName
from tersely_agents.agent.tools import Tool, experience_tool, finish_tool, original_tool
from tersely_agents.agent.trace import write_turns
from tersely_agents.chat.protocol import ChatError, ChatModel, Message, Reply, complete_safely
from tersely_agents.experience.bank import ExperienceBank
from tersely_agents.memory.memory import AgentMemory

_CHARACTERS = 3
"""Characters to a token, at the least, in the parts of an original."""


class Agent:
    """Answers questions with tools.

    Args:
        model: decides.
        tools: what it may use beside `finish`; see `search_tools`.
        memory: makes the memory of an episode from its first prompt, for the strategy "reset":
            `lambda first: AgentMemory(first, ...)`. The episode starts from its transcript and writes to its
            store; the newest transcript is in the state.
        experience: lessons that the model may recall.
        strategy: what the model gets to see of earlier turns: its own "summary" of them, a transcript that is
            summarised and "reset" where it would not fit, the whole "transcript", or with "recon" its one
            growing response, into which what it searched for is put.
        max_turns: turns after which an episode ends without an answer; None for the strategy's own number: 5
            for "recon", else 20 (both from the papers' training).
        result_tokens: a tool result of more tokens is compressed for the question; the model may open the
            original. A memory of the caller's has `compress_over` for it.
        compressor: compresses and counts tokens; None for the bundled model.
        strict: for training. Every turn is what the model wrote: nothing corrects it, answers for it, or
            shortens what it wrote. A reply that is no action, and a tool that breaks, end the episode.
        constrained: whether the model can write nothing but turns, for the strategy "summary" and a model of
            llama.cpp, which takes a grammar.
        trace_file: where every turn is appended as one JSON line.
        redact_secrets: whether what looks like keys, tokens and passwords is kept out of the trace file.
    """

    def __init__(
        self,
        model: ChatModel,
        tools: Sequence[Tool],
        *,
        memory: Callable[[list[Message]], AgentMemory] | None = None,
        experience: ExperienceBank | None = None,
        strategy: StrategyName = "summary",
        max_turns: int | None = None,
        result_tokens: int = 2000,
        compressor: Compressor | None = None,
        strict: bool = False,
        constrained: bool = False,
        trace_file: str | Path | None = None,
        redact_secrets: bool = True,
    ) -> None:
        names = get_args(StrategyName)
        if strategy not in names:
            raise InvalidInputError(f"strategy is {strategy!r}. Pass one of {', '.join(map(repr, names))}.")
        if memory is not None and strategy != "reset":
            raise InvalidInputError(
                f"A memory is given, and the strategy {strategy!r} has none. Pass strategy='reset'."
            )
        if constrained and strategy != "summary":
            raise InvalidInputError(
                f"constrained is for the strategy 'summary', not {strategy!r}. Leave it out."
            )
        if memory is not None and not callable(memory):
            kind = type(cast("object", memory)).__name__
            raise InvalidInputError(
                f"memory is a {kind}. Pass a function that makes one: lambda first: AgentMemory(first, ...)."
            )
        check_members(model, ("complete", "name"), "The model", "Pass a model of tersely_agents.chat.")
        if compressor is not None:
            check_compressor(compressor)
        self.model = model
        self.strict = strict
        self.compressor = Compressor() if compressor is None else compressor
        if not is_list_of(tools, Tool):
            raise InvalidInputError("The tools are not all tools. Pass a list of tersely_agents.agent.Tool.")
        self._tools = [*tools, finish_tool(needs_explanation=strategy == "summary")]
        tool_names = [tool.name for tool in self._tools]
        if len(set(tool_names)) < len(tool_names):
            raise InvalidInputError(f"The tools are called {tool_names}. Each needs a name of its own.")
        self._experience = experience
        turns = MAX_TURNS[strategy] if max_turns is None else max_turns
        self._max_turns = check_count(turns, "max_turns", "turns")
        self._result_tokens = check_count(result_tokens, "result_tokens", "tokens")
        self._setup = Setup(self.compressor, model.name, self._result_tokens, memory, strict, constrained)
        self._start = STRATEGIES[strategy]
        self._trace_file = None if trace_file is None else check_path(trace_file, "The trace file")
        if self._trace_file is not None and self._trace_file.is_dir():
            raise InvalidInputError(f"The trace file {self._trace_file} is a folder. Name a file in it.")
        self._redact_secrets = redact_secrets

    def run(self, question: str) -> EpisodeState:
        """Steps until there is an answer, or none is to be had."""
        state = self.start(question)
        while state.outcome is None:
            state = self.step(state, self.complete(self.request(state)))
        return state

    def start(self, question: str) -> EpisodeState:
        """The first state of an episode."""
        state = self._start(check_query(question), self._setup)
        return self._record(state, state)

    def request(self, state: EpisodeState) -> Request:
        """What to send to the model. Raises InvalidInputError for an episode that has ended."""
        if state.outcome is not None:
            raise InvalidInputError(f"The episode has ended ({state.outcome}). Start another one.")
        return state.strategy.request(state, self._tools_for(state, []))

    def complete(self, request: Request) -> Reply | ChatError:
        """The model's reply, or why there is none."""
        try:
            return complete_safely(self.model, request.messages, **request.options)
        except ChatError as error:
            return error

    def step(self, state: EpisodeState, reply: Reply | ChatError) -> EpisodeState:
        """The state after the reply to `request(state)`, whose tools have run. A state that has an outcome
        stays as it is."""
        if state.outcome is not None:
            return state
        recalled: list[str] = []
        tools = self._tools_for(state, recalled)
        after = state.strategy.step(self._charge(state, reply), reply, tools)
        return self._record(state, replace(after, recalled=(*state.recalled, *recalled)))

    def _charge(self, state: EpisodeState, reply: Reply | ChatError) -> EpisodeState:
        """The state that has paid for the call of the model."""
        if isinstance(reply, ChatError):
            return state
        messages = self.request(state).messages
        return replace(state, cost=state.cost.add(messages, reply, self.compressor.count_tokens))

    def _record(self, before: EpisodeState, state: EpisodeState) -> EpisodeState:
        """The state, with an outcome where it cannot go on. The turns since `before` go to the trace
        file."""
        if state.outcome is None and state.turns >= self._max_turns:
            reason = f"there is no answer after {self._max_turns} turns"
            state = replace(state, outcome="turns", reason=reason)
        if state.outcome is None:
            state = state.strategy.settle(state)
        new = state.trace[len(before.trace) :]
        if self._trace_file is not None and new:
            write_turns(self._trace_file, new, redact_secrets=self._redact_secrets)
        return state

    def _tools_for(self, state: EpisodeState, recalled: list[str]) -> list[Tool]:
        """What the model may use, the same in every turn. Ids of lessons that are recalled go to
        `recalled`."""
        part = _CHARACTERS * self._result_tokens
        own = [original_tool(lambda key: state.strategy.original(state, key), part)]
        if self._experience is not None:
            own.append(experience_tool(self._experience, state.question, recalled))
        return [*self._tools[:-1], *own, self._tools[-1]]
