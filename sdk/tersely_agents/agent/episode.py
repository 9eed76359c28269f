"""One task of an agent: its state, and the methods of a strategy in each turn."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal, get_args

from tersely.compressor import Compressor
from tersely_agents.agent.tools import Result, Tool
from tersely_agents.agent.trace import TurnTrace
from tersely_agents.chat.protocol import ChatError, Message, Options, Reply, count_call
from tersely_agents.memory import AgentMemory, Transcript

Outcome = Literal["answered", "malformed", "turns", "overlong", "environment", "server"]
"""Ways in which an episode ends.

- `answered`: the model gave an answer, right or wrong
- `malformed`: the model wrote something that is not an action
- `turns`: the model used up its turns
- `overlong`: the model used up its context, or its resets
- `environment`: a tool broke; the model is not to blame
- `server`: the model's server gave no reply; the model is not to blame
"""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the model: `model.complete(request.messages, **request.options)`."""

    messages: list[Message]
    options: Options


@dataclass(frozen=True, slots=True)
class EpisodeState:
    """Everything that the next step depends on, except the model and the tools."""

    question: str
    strategy: Strategy = field(repr=False, compare=False)
    transcript: Transcript = field(default_factory=Transcript)
    """The messages so far, with the strategies "reset" and "transcript"; otherwise empty."""
    summary: str = ""
    """The model's latest summary, with the strategy "summary"."""
    response: str = ""
    """The model's response so far, search results included, with the strategy "recon"."""
    result: str = ""
    """The last tool result, with the strategy "summary"."""
    originals: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tool results that were shortened, by id, with the strategy "summary"."""
    retry: tuple[Message, ...] = ()
    """Messages that a second try adds to the prompt: the reply that could not be used, and the reason."""
    tokens_in: int = 0
    tokens_out: int = 0
    """Number of tokens of the current turn so far."""
    turn_started: float = field(default_factory=perf_counter, compare=False)
    """Time at which the previous turn ended, by `perf_counter`."""
    trace: tuple[TurnTrace, ...] = ()
    outcome: Outcome | None = None
    """The end of the episode; None while it goes on."""
    answer: str = ""
    explanation: str = ""
    confidence: str = ""
    reason: str | None = None
    """The reason for a missing answer, or for an answer that is not the model's."""
    task: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    """Id of the task in a trace file with several tasks."""
    recalled: tuple[str, ...] = ()
    """Ids of the lessons that the model recalled. Once you know whether the answer is right, tell the bank:
    `bank.record_use(state.recalled, success)`."""

    @property
    def turns(self) -> int:
        """Number of turns so far. One turn may call several tools."""
        return self.trace[-1].turn if self.trace else 0

    def charge(self, messages: Sequence[Message], reply: Reply, count: Callable[[str], int]) -> EpisodeState:
        """Add the tokens of one call of the model to the current turn."""
        tokens_in, tokens_out = count_call(messages, reply, count)
        return replace(self, tokens_in=self.tokens_in + tokens_in, tokens_out=self.tokens_out + tokens_out)

    def with_turn(
        self,
        tool: str | None = None,
        arguments: Mapping[str, str] | None = None,
        error: str | None = None,
        **fields: Any,
    ) -> EpisodeState:
        """Add a row to the trace, with the tokens and seconds since the last row. `fields` are further fields
        of `TurnTrace`."""
        row = TurnTrace(
            turn=fields.pop("turn", self.turns + 1),
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            seconds=round(perf_counter() - self.turn_started, 3),
            task=self.task,
            tool=tool,
            arguments=dict(arguments or {}),
            error=error,
            **fields,
        )
        trace = (*self.trace, row)
        return replace(self, trace=trace, retry=(), tokens_in=0, tokens_out=0, turn_started=perf_counter())

    def fail(self, reason: str, outcome: Outcome) -> EpisodeState:
        """End the episode without an answer, and record a turn that failed."""
        return self.with_turn(error=reason).end(reason, outcome)

    def end(self, reason: str, outcome: Outcome) -> EpisodeState:
        """End the episode without an answer."""
        return replace(self, outcome=outcome, reason=reason)

    def finish(self, arguments: Mapping[str, str]) -> EpisodeState:
        """End the episode with an answer: the arguments of the tool `finish`."""
        return replace(
            self,
            outcome="answered",
            answer=arguments.get("answer", ""),
            explanation=arguments.get("explanation", ""),
            confidence=arguments.get("confidence", ""),
        )


@dataclass(frozen=True, slots=True)
class Setup:
    """The arguments of `Agent` that its strategy needs."""

    compressor: Compressor
    model_name: str
    result_tokens: int
    memory: Callable[[list[Message]], AgentMemory] | None
    strict: bool
    constrained: bool
    max_turns: int
    max_tokens: int | None
    """Largest number of tokens of a reply, if the model has a limit."""


@dataclass(frozen=True)
class Strategy(ABC):
    """The part of an agent that decides what the model sees of earlier turns, and turns its reply into the
    next state.

    A strategy is frozen. Only the state changes.
    """

    setup: Setup

    @classmethod
    def start(cls, question: str, setup: Setup) -> EpisodeState:
        """Return the first state of an episode."""
        return EpisodeState(question, cls(setup))

    @abstractmethod
    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """Return the next request to the model."""

    @abstractmethod
    def step(self, state: EpisodeState, reply: Reply | ChatError, tools: Sequence[Tool]) -> EpisodeState:
        """Run the tools that the reply calls, and return the state after them.

        A turn may take several steps, if a reply has to be corrected or is a summary.
        """

    def settle(self, state: EpisodeState) -> EpisodeState:
        """Return the state, with an outcome if no further request is possible."""
        return state

    def original(self, state: EpisodeState, key: str) -> str | None:
        """Return the original text with this id; None for an unknown id."""
        return state.originals.get(key)

    def record(
        self, state: EpisodeState, tool: str, arguments: Mapping[str, str], result: Result, **fields: Any
    ) -> EpisodeState:
        """Add the call of a tool to the trace. In strict mode, a tool that broke ends the episode."""
        tokens = self.setup.compressor.count_tokens(result.text)
        state = state.with_turn(tool, arguments, result.error, result_tokens=tokens, **fields)
        if result.is_broken and self.setup.strict:
            return state.end(f"the tool {tool} broke: {result.error}", "environment")
        return state
