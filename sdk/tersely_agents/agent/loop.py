"""The agent: a plain loop over an explicit state.

    while state.outcome is None:
        state = agent.step(state, agent.complete(agent.request(state)))

To run many tasks side by side, collect the requests of all states, generate once for all, and step each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import check_compressor, check_count, check_list, check_members, check_query, type_name
from tersely.runtime.paths import check_path
from tersely_agents.agent.episode import EpisodeState, Request, Setup, Strategy
from tersely_agents.agent.recon import ReconStrategy
from tersely_agents.agent.summary import TOKEN_CHARACTERS, SummaryStrategy
from tersely_agents.agent.tools import Tool, experience_tool, finish_tool, original_tool
from tersely_agents.agent.trace import write_turns
from tersely_agents.agent.transcript import ResetStrategy, TranscriptStrategy
from tersely_agents.chat import ChatError, ChatModel, Message, Reply
from tersely_agents.chat.protocol import complete_safely
from tersely_agents.experience import ExperienceBank
from tersely_agents.memory import AgentMemory

StrategyName = Literal["summary", "reset", "transcript", "recon"]
STRATEGIES: Mapping[str, type[Strategy]] = {
    "summary": SummaryStrategy,
    "reset": ResetStrategy,
    "transcript": TranscriptStrategy,
    "recon": ReconStrategy,
}
MAX_TURNS, RECON_TURNS = 20, 5
"""Largest number of turns of an episode, unless the caller passes one (ZipRL, section 5.1; RECON, appendix
B.4)."""


class Agent:
    """An agent that answers questions with tools.

    Args:
        model: decides what to do.
        tools: tools that it may use in addition to `finish`; see `search_tools`.
        memory: a function that makes the memory of an episode from its first prompt, for the strategy
            "reset": `lambda first: AgentMemory(first, ...)`. The episode starts with the memory's transcript
            and writes to the memory's store. From then on the memory itself does not change: the newest
            transcript is in the state.
        experience: lessons that the model may recall.
        strategy: the form of earlier turns for the model. "summary": its own summary of them. "reset": a
            transcript that is summarised when it would not fit. "transcript": the whole transcript. "recon":
            its one growing response, with the search results inserted.
        max_turns: turns after which an episode ends without an answer; None for the strategy's default: 5
            for "recon", otherwise 20 (both from the papers' training).
        result_tokens: a longer tool result is compressed for the question; the model may open the original,
            except with "recon". If you pass a memory, its `compress_over` applies instead.
        compressor: compresses and counts tokens; None for the bundled model.
        strict: for training. Every turn has the model's own words: nothing corrects or shortens them, or
            answers in its place. A tool that breaks ends the episode. So does a reply that cannot be
            read as a tool call or an answer, except with "recon", which asks the model to rethink.
        constrained: True to force the model by a grammar to write valid turns, and to answer in the last
            turn; for the strategy "summary" and models of llama.cpp.
        trace_file: file to which every turn is appended as one JSON line.
        redact_secrets: True to keep texts that look like keys, tokens or passwords out of the trace file.

    Raises:
        InvalidInputError: an argument cannot be used.
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
        if strategy not in [*STRATEGIES]:
            raise InvalidInputError(
                f"strategy is {strategy!r}. Pass one of {', '.join(map(repr, STRATEGIES))}."
            )
        if memory is not None and strategy != "reset":
            raise InvalidInputError(
                f"A memory is given, and the strategy {strategy!r} has none. Pass strategy='reset'."
            )
        if constrained and strategy != "summary":
            raise InvalidInputError(
                f"constrained is for the strategy 'summary', not {strategy!r}. Leave it out."
            )
        if memory is not None and not callable(memory):
            raise InvalidInputError(
                f"memory is {type_name(cast('object', memory))}. Pass a function that makes one: "
                "lambda first: AgentMemory(first, ...)."
            )
        check_members(model, ("complete", "name"), "The model", "Pass a model of tersely_agents.chat.")
        self._tools: list[Tool] = check_list(
            tools, Tool, "tools", "Pass a list of tersely_agents.agent.Tool."
        )
        self._finish = finish_tool(needs_explanation=strategy == "summary")
        tool_names = [tool.name for tool in (*self._tools, self._finish)]
        if len(set(tool_names)) < len(tool_names):
            raise InvalidInputError(f"The tools are called {tool_names}. Each needs a name of its own.")
        self._trace_file = None if trace_file is None else check_path(trace_file, "The trace file")
        if self._trace_file is not None and self._trace_file.is_dir():
            raise InvalidInputError(f"The trace file {self._trace_file} is a folder. Name a file in it.")
        if max_turns is None:
            max_turns = RECON_TURNS if strategy == "recon" else MAX_TURNS
        self._experience = experience
        self._redact_secrets = redact_secrets
        self.model = model
        self.strict = strict
        self.compressor = Compressor() if compressor is None else check_compressor(compressor)
        self._strategy = STRATEGIES[strategy]
        self._setup = Setup(
            self.compressor,
            model.name,
            result_tokens=check_count(result_tokens, "result_tokens", "tokens"),
            memory=memory,
            strict=strict,
            constrained=constrained,
            max_turns=check_count(max_turns, "max_turns", "turns"),
            max_tokens=getattr(model, "max_tokens", None),
        )

    def run(self, question: str) -> EpisodeState:
        """Take steps until the episode has an outcome."""
        state = self.start(question)
        while state.outcome is None:
            state = self.step(state, self.complete(self.request(state)))
        return state

    def start(self, question: str) -> EpisodeState:
        """Return the first state of an episode."""
        state = self._strategy.start(check_query(question), self._setup)
        return self._settle(state, rows_written=0)

    def request(self, state: EpisodeState) -> Request:
        """Return the next request to the model. Raises InvalidInputError for an episode that has ended."""
        if state.outcome is not None:
            raise InvalidInputError(f"The episode has ended ({state.outcome}). Start another one.")
        return state.strategy.request(state, self._tools_for(state, []))

    def complete(self, request: Request) -> Reply | ChatError:
        """Return the model's reply, or the error if the model gives none."""
        try:
            return complete_safely(self.model, request.messages, **request.options)
        except ChatError as error:
            return error

    def step(self, state: EpisodeState, reply: Reply | ChatError) -> EpisodeState:
        """Run the tools that the reply to `request(state)` calls, and return the next state.

        A state with an outcome stays as it is.
        """
        if state.outcome is not None:
            return state
        recalled: list[str] = []
        tools = self._tools_for(state, recalled)
        charged = state
        if isinstance(reply, Reply):
            charged = state.charge(self.request(state).messages, reply, self.compressor.count_tokens)
        after = state.strategy.step(charged, reply, tools)
        return self._settle(replace(after, recalled=(*state.recalled, *recalled)), len(state.trace))

    def _settle(self, state: EpisodeState, rows_written: int) -> EpisodeState:
        """Set the outcome of a state that cannot go on, and write its new turns to the trace file."""
        max_turns = self._setup.max_turns
        if state.outcome is None and state.turns >= max_turns:
            state = state.end(f"there is no answer after {max_turns} turns", "turns")
        if state.outcome is None:
            state = state.strategy.settle(state)
        new = state.trace[rows_written:]
        if self._trace_file is not None and new:
            write_turns(self._trace_file, new, redact_secrets=self._redact_secrets)
        return state

    def _tools_for(self, state: EpisodeState, recalled: list[str]) -> list[Tool]:
        """Return the tools of a turn, the same in every turn. Ids of recalled lessons go to `recalled`."""
        part = TOKEN_CHARACTERS * self._setup.result_tokens
        tools = [*self._tools, original_tool(lambda key: state.strategy.original(state, key), part)]
        if self._experience is not None:
            tools.append(experience_tool(self._experience, state.question, recalled))
        return [*tools, self._finish]
