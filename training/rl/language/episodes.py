"""The SDK's agent as an episode of exact token ids: the same loop serves users and is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tersely.errors import InvalidInputError
from tersely_agents.agent import Agent, EpisodeState
from tersely_agents.chat import Reply, Usage
from training.rl.language.chat import Chat, read_tool_calls
from training.rl.trajectory import Outcome


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A question for an agent (`episode.Task`)."""

    id: str
    question: str
    agent: Agent
    """An agent in strict mode."""
    chat: Chat
    score: Callable[[EpisodeState], float]
    """A function that returns the reward of an episode with an answer. Other episodes get no reward."""
    positions: int
    """Maximum number of tokens of a context with its reply; a context without room for a reply is
    overlong."""
    max_reply: int
    """Maximum number of tokens of a reply."""

    def __post_init__(self) -> None:
        if not self.agent.strict:
            raise InvalidInputError("The agent would help the policy. Make it with strict=True.")

    def start(self) -> AgentEpisode:
        return AgentEpisode(self)


class AgentEpisode:
    """One rollout (`episode.Episode`).

    A context that continues the last one keeps its tokens, and only new text is encoded. Any other context is
    encoded as a whole and begins a segment.

    facts: `answer`, `turns`, `searches`, `resets`, `context` (tokens of the longest context) and `reason`
    for a missing answer.
    """

    def __init__(self, task: AgentTask) -> None:
        self.state = task.agent.start(task.question)
        self.dropped_turn = False
        self._task = task
        self._longest = 0
        self._text, self._tokens = "", list[int]()
        """The context."""
        self._reply: Sequence[int] = ()
        """The policy's last reply."""
        self._read_context("")

    @property
    def outcome(self) -> Outcome | None:
        return self.state.outcome

    @property
    def reward(self) -> float:
        return self._task.score(self.state) if self.state.outcome == "answered" else 0.0

    @property
    def facts(self) -> Mapping[str, Any]:
        state = self.state
        facts = {
            "answer": state.answer,
            "turns": state.turns,
            "searches": sum(row.tool == "search" for row in state.trace),
            "resets": state.transcript.resets,
            "context": self._longest,
        }
        return facts if state.reason is None else {**facts, "reason": state.reason}

    def context(self) -> Sequence[int]:
        return self._tokens

    def step(self, reply: Sequence[int]) -> float | None:
        task, before = self._task, self.state
        request = task.agent.request(before)
        text = task.chat.decode(reply)
        calls = read_tool_calls(text) if request.options.get("tools") else ()
        is_cut = len(reply) >= task.max_reply and reply[-1] != task.chat.stop
        usage = Usage(len(self._tokens), len(reply))
        self.state = task.agent.step(before, Reply(text, calls, "length" if is_cut else "stop", usage))
        self._reply = reply
        self.dropped_turn = _drops_turn(before, self.state)
        if self.state.outcome is None:
            self._read_context(text)
        return self.state.trace[-1].quality if len(self.state.trace) > len(before.trace) else None

    def _read_context(self, written: str) -> None:
        task = self._task
        text = task.chat.render(task.agent.request(self.state))
        seen = self._text + written
        if self._tokens and text.startswith(seen) and not self.dropped_turn:
            self._tokens = task.chat.follow(self._tokens, self._reply, text[len(seen) :])
        else:
            self._tokens = task.chat.encode(text)
        self._text = text
        self._longest = max(self._longest, len(self._tokens))
        if len(self._tokens) + task.max_reply > task.positions:
            reason = f"a context of {len(self._tokens)} tokens leaves no room for a reply"
            self.state = self.state.end(reason, "overlong")


def _drops_turn(before: EpisodeState, after: EpisodeState) -> bool:
    """Return whether the turn filled the context, so that it is dropped and a summary is requested (SUPO)."""
    return after.outcome is None and after.transcript.is_full and not before.transcript.is_full
