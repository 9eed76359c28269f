"""Questions that bring their own documents, for the agent that ships (`tersely_agents.agent.trained`): it
searches among the documents, reads what the selector keeps of them, and writes ZipRL's turns.

The reward is the F1 of the answer's words and those of the question's answer that fits best. An episode
without an answer earns nothing, so that a reply which breaks the form does not either. The quality of the
summaries is no part of it: it enters through the advantage (ZipRL, appendix T.3, which names exact match and
F1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.shared.episodes import count_turns, make_index
from benchmarks.shared.tasks import Example
from tersely import Compressor
from tersely.metrics import is_correct, token_f1
from tersely_agents.agent.trained import make_agent
from tersely_agents.chat import ScriptedChat
from training.rl.language.chat import Chat
from training.rl.language.episodes import AgentEpisode, AgentTask


@dataclass(frozen=True, slots=True)
class TurnsEnvironment:
    chat: Chat
    compressor: Compressor
    search_tokens: int
    """Most tokens of what a search shows, of all documents together."""
    max_turns: int
    max_reply: int
    """Tokens of the longest reply."""
    positions: int
    """The most tokens of a context with its reply."""

    def make_task(self, example: Example) -> TurnsTask:
        """The task of one question."""
        agent = make_agent(
            ScriptedChat(()),
            make_index(example),
            self.compressor,
            self.search_tokens,
            strict=True,
            max_turns=self.max_turns,
        )
        return TurnsTask(
            id=example.id,
            question=example.question,
            agent=agent,
            chat=self.chat,
            score=lambda state: token_f1(state.answer, example.answers),
            positions=self.positions,
            max_reply=self.max_reply,
            answers=example.answers,
        )


@dataclass(frozen=True, slots=True)
class TurnsTask(AgentTask):
    answers: tuple[str, ...]
    """Any of them is right."""

    def start(self) -> TurnsEpisode:
        return TurnsEpisode(self)


class TurnsEpisode(AgentEpisode):
    """One rollout. facts: also those of `count_turns`, and `correct`, whether the answer contains a right
    one."""

    def __init__(self, task: TurnsTask) -> None:
        self._answers = task.answers
        super().__init__(task)

    @property
    def facts(self) -> Mapping[str, Any]:
        correct = is_correct(self.state.answer, self._answers)
        return {**super().facts, **asdict(count_turns(self.state)), "correct": correct}
