"""Questions with their documents, for the shipped agent (`tersely_agents.agent.trained`): it searches the
documents, reads what the selector keeps, and writes ZipRL's turns.

The reward is the F1 of the answer's words with the closest correct answer (ZipRL, appendix T.3, which names
exact match and F1). An episode without an answer earns 0, and so does one with a malformed reply. The quality
of the summaries is not part of the reward, but of the advantage.
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
    """Maximum number of tokens that a search shows of all documents together."""
    max_turns: int
    max_reply: int
    """Maximum number of tokens of a reply."""
    positions: int
    """Maximum number of tokens of a context with its reply."""

    def make_task(self, example: Example) -> TurnsTask:
        """Make the task of a question."""
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
    """The correct answers. Any one of them is enough."""

    def start(self) -> TurnsEpisode:
        return TurnsEpisode(self)


class TurnsEpisode(AgentEpisode):
    """One rollout. Its `facts` include those of `count_turns`, and `correct`: whether the answer contains a
    correct one."""

    def __init__(self, task: TurnsTask) -> None:
        self._answers = task.answers
        super().__init__(task)

    @property
    def facts(self) -> Mapping[str, Any]:
        correct = is_correct(self.state.answer, self._answers)
        return {**super().facts, **asdict(count_turns(self.state)), "correct": correct}
