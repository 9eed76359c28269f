"""One task run by an agent: its state, and what takes it from one state to the next."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal, Protocol, get_args

from tersely_agents.agent.tools import Tool
from tersely_agents.agent.trace import TurnTrace
from tersely_agents.chat.metering import count_call
from tersely_agents.chat.protocol import ChatError, Message, Options, Reply
from tersely_agents.memory.transcript import Transcript

Outcome = Literal["answered", "malformed", "turns", "overlong", "environment", "server"]
"""How an episode ended.

answered     the model gave an answer, right or wrong
malformed    the model wrote something that is no action
turns        the model used up its turns
overlong     the model used up its context, or its resets
environment  a tool broke; the model is not to blame
server       the model's server gave no reply; the model is not to blame
"""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class Request:
    """What to send to the model: `model.complete(request.messages, **request.options)`."""

    messages: list[Message]
    options: Options


@dataclass(frozen=True, slots=True)
class Cost:
    """What the turn under way has cost so far."""

    tokens_in: int = 0
    tokens_out: int = 0
    started: float = field(default_factory=perf_counter, compare=False)
    """When the turn before ended, by `perf_counter`."""

    def add(self, messages: Sequence[Message], reply: Reply, count: Callable[[str], int]) -> Cost:
        """The cost with one more call of the model."""
        tokens_in, tokens_out = count_call(messages, reply, count)
        return replace(self, tokens_in=self.tokens_in + tokens_in, tokens_out=self.tokens_out + tokens_out)


@dataclass(frozen=True, slots=True)
class EpisodeState:
    """Everything that the next step depends on, but for the model and the tools."""

    question: str
    strategy: Strategy = field(repr=False, compare=False)
    transcript: Transcript = field(default_factory=Transcript)
    """The messages so far, with the strategies "reset" and "transcript"; else empty."""
    summary: str = ""
    """What the model wrote down last, with the strategy "summary"."""
    response: str = ""
    """What the model wrote so far and what was put between, with the strategy "recon"."""
    result: str = ""
    """What the last tool gave, with the strategy "summary"."""
    originals: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tool results that were shortened, by id, with the strategy "summary"."""
    retry: tuple[Message, ...] = ()
    """What a second try adds to the prompt: what was wrong with the first reply of the turn."""
    cost: Cost = field(default_factory=Cost)
    trace: tuple[TurnTrace, ...] = ()
    outcome: Outcome | None = None
    """None while the episode goes on."""
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

    def with_turn(
        self,
        tool: str | None = None,
        arguments: Mapping[str, str] | None = None,
        error: str | None = None,
        **facts: Any,
    ) -> EpisodeState:
        """The state with a row of the trace, which is charged with what the turn has cost since the last
        one. `facts` are further fields of `TurnTrace`."""
        row = TurnTrace(
            turn=facts.pop("turn", self.turns + 1),
            tokens_in=self.cost.tokens_in,
            tokens_out=self.cost.tokens_out,
            seconds=round(perf_counter() - self.cost.started, 3),
            task=self.task,
            tool=tool,
            arguments=dict(arguments or {}),
            error=error,
            **facts,
        )
        return replace(self, trace=(*self.trace, row), retry=(), cost=Cost())

    def fail(self, reason: str, outcome: Outcome) -> EpisodeState:
        """The end of an episode whose last turn came to nothing."""
        return self.with_turn(error=reason).end(reason, outcome)

    def end(self, reason: str, outcome: Outcome) -> EpisodeState:
        """The end of an episode without an answer, after its last turn."""
        return replace(self, outcome=outcome, reason=reason)

    def finish(self, arguments: Mapping[str, str]) -> EpisodeState:
        """The end of an episode with an answer: the arguments of the tool `finish`."""
        return replace(
            self,
            outcome="answered",
            answer=arguments.get("answer", ""),
            explanation=arguments.get("explanation", ""),
            confidence=arguments.get("confidence", ""),
        )


class Strategy(Protocol):
    """What the model is shown of earlier turns, and what becomes of its replies. A frozen value: whatever
    changes is in the state."""

    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """What to send to the model."""
        ...

    def step(self, state: EpisodeState, reply: Reply | ChatError, tools: Sequence[Tool]) -> EpisodeState:
        """The state after the reply to `request`, whose tools have run. A turn may take several steps, when
        the reply has to be corrected or is a summary."""
        ...

    def settle(self, state: EpisodeState) -> EpisodeState:
        """The state, with an outcome where there is no further request."""
        ...

    def original(self, state: EpisodeState, key: str) -> str | None:
        """The text that was shortened under this id; None for an id that is not known."""
        ...
