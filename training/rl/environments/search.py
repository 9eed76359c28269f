"""Questions to answer by searching documents: those of a task set, or any others.

The agent is the SDK's, with the strategy of a paper. From a search it reads raw passages, selected sentences
or a summary (`tersely_agents.agent.reading_tool`). The difficulty is the number of documents besides those
with the answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.shared.tasks import load_findable
from tersely import Compressor
from tersely.metrics import contains_answer, exact_match
from tersely.types import Document
from tersely_agents.agent import (
    Agent,
    DocumentIndex,
    EpisodeState,
    Reading,
    Retriever,
    StrategyName,
    read_passages,
    reading_tool,
)
from tersely_agents.chat import ScriptedChat
from tersely_agents.experience import ExperienceBank
from tersely_agents.levels import LEVELS
from training.agent.teacher import write_turn
from training.rl.language.chat import Chat
from training.rl.language.episodes import AgentEpisode, AgentTask

NOTE = 300
"""Characters of a passage in the expert's notes."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    answers: tuple[str, ...]
    """Each of them is correct."""
    documents: tuple[str, ...]
    """Ids of the documents with the answer, in the order in which they lead to it."""


@dataclass(frozen=True)
class SearchEnvironment:
    """The environment (`episode.Environment`).

    The reward is 1 for an answer that equals one of the question's after normalisation (RECON's exact match),
    else 0.

    Raises ValueError if there is no question, or a question names a missing document.
    """

    questions: Sequence[Question]
    documents: Mapping[str, Document]
    chat: Chat
    strategy: StrategyName = "recon"
    read: Reading = read_passages
    k: int = 5
    """Number of documents that a search finds."""
    max_turns: int | None = None
    """None for the strategy's number."""
    max_reply: int = 500
    positions: int = 4096
    """Maximum number of tokens of a context with its reply."""
    slip: float = 0.3
    """Probability that a flawed demonstration searches for a single word of the question, and that it gives
    the answer of another question."""
    compressor: Compressor = field(default_factory=Compressor)
    """Counts tokens, and shortens results that are too long."""
    experience: ExperienceBank | None = None
    """Lessons that the agent may recall."""

    def __post_init__(self) -> None:
        wanted = {docid for question in self.questions for docid in question.documents}
        if not self.questions or not wanted <= self.documents.keys():
            raise ValueError("There is no question, or a question names a document that is not there.")

    @property
    def vocabulary(self) -> Sequence[str]:
        return self.chat.tokenizer.convert_ids_to_tokens(range(len(self.chat.tokenizer)))

    @property
    def stop(self) -> int:
        return self.chat.stop

    def sample(self, random: random.Random, difficulty: float) -> SearchTask:
        question = random.choice(self.questions)
        return self.make_task(question, random, difficulty)

    def make_task(self, question: Question, random: random.Random, difficulty: float) -> SearchTask:
        """Make the task of a question, with a share `difficulty` of the other documents."""
        others = [docid for docid in self.documents if docid not in question.documents]
        chosen = {*question.documents, *random.sample(others, round(difficulty * len(others)))}
        index = self._whole if len(chosen) == len(self.documents) else self._make_index(chosen)
        agent = Agent(
            ScriptedChat(()),
            [reading_tool(index, self.read, self.k)],
            strategy=self.strategy,
            experience=self.experience,
            max_turns=self.max_turns,
            compressor=self.compressor,
            strict=True,
        )

        def score(state: EpisodeState) -> float:
            return float(exact_match(state.answer, question.answers))

        key = f"{question.id}-{random.getrandbits(32):08x}"
        task = AgentTask(key, question.text, agent, self.chat, score, self.positions, self.max_reply)
        return SearchTask(task, question, index)

    @cached_property
    def _whole(self) -> DocumentIndex:
        return self._make_index(self.documents)

    def _make_index(self, chosen: Container[str]) -> DocumentIndex:
        return DocumentIndex({docid: text for docid, text in self.documents.items() if docid in chosen})

    def demonstrate(
        self, episode: SearchEpisode, random: random.Random, *, flawed: bool = False
    ) -> Iterator[Sequence[int]]:
        """Yield one search for each document, then the answer. Text that the strategy also asks for consists
        of notes from the passages."""
        expert = _Expert(self, episode)
        for docid in episode.question.documents:
            if flawed and random.random() < self.slip:
                yield from expert.search(random.choice(episode.question.text.split()).strip("?"))
            yield from expert.search(expert.find_query(docid), docid)
        other = random.choice(self.questions) if flawed and random.random() < self.slip else None
        yield from expert.answer((other or episode.question).answers[0])


@dataclass(frozen=True, slots=True)
class SearchTask:
    """A question among documents (`episode.Task`)."""

    agent_task: AgentTask
    question: Question
    index: Retriever

    @property
    def id(self) -> str:
        return self.agent_task.id

    def start(self) -> SearchEpisode:
        return SearchEpisode(self)


class SearchEpisode(AgentEpisode):
    """One rollout. facts: also `found`, whether the agent has read an answer."""

    def __init__(self, task: SearchTask) -> None:
        self.question, self.index = task.question, task.index
        self.found = False
        super().__init__(task.agent_task)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "found": self.found}

    def step(self, reply: Sequence[int]) -> float | None:
        quality = super().step(reply)
        state = self.state
        read = (state.response.partition("<information>")[2], state.result, *_results(state))
        self.found = self.found or any(contains_answer(text, self.question.answers) for text in read)
        return quality


class _Expert:
    """Writer of actions in the form of the environment's strategy."""

    def __init__(self, environment: SearchEnvironment, episode: SearchEpisode) -> None:
        self._environment, self._episode = environment, episode
        self._notes = ""

    def find_query(self, docid: str) -> str:
        """Return the shortest query that finds the document: the question, the document's title, or its
        text."""
        document, k = self._environment.documents[docid], self._environment.k
        queries = [self._episode.question.text, document.title or "", f"{document.title} {document.text}"]
        finds = [q for q in queries if docid in {hit.docid for hit in self._episode.index.search(q, k)}]
        return (finds or queries)[0].rstrip("?").replace("<", " ")

    def search(self, query: str, docid: str | None = None) -> Iterator[Sequence[int]]:
        yield from self._act("search", query=query)
        if docid is not None:
            self._notes += f"{self._environment.documents[docid].text[:NOTE]} [docid: {docid}] "

    def answer(self, text: str) -> Iterator[Sequence[int]]:
        yield from self._act("finish", answer=text)

    def _act(self, tool: str, **arguments: str) -> Iterator[Sequence[int]]:
        """Yield the action, and before it the notes if the agent asks for them."""
        chat, strategy = self._environment.chat, self._environment.strategy
        (value,) = arguments.values()
        if strategy == "recon":
            tag = "search" if tool == "search" else "answer"
            yield chat.encode(f"<{tag}>{value}</{tag}>")
            return
        if strategy == "summary":
            explained = {"explanation": "It stands in the notes."} if tool == "finish" else {}
            thought = "The notes hold the answer." if tool == "finish" else "I need to look this up."
            notes = self._notes.strip()
            text = write_turn(thought, LEVELS[0], notes, tool, {**arguments, **explained})
            yield [*chat.encode(text), chat.stop]
            return
        call = json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False)
        action = [*chat.encode(f"<tool_call>\n{call}\n</tool_call>"), chat.stop]
        yield action
        if self._episode.state.outcome is None and self._episode.state.transcript.is_full:
            yield [*chat.encode(self._notes.strip() or "Nothing was found yet."), chat.stop]
            if self._episode.dropped_turn is False and self._episode.state.outcome is None:
                yield action


def _results(state: EpisodeState) -> list[str]:
    return [str(m["content"]) for m in state.transcript.messages if m["role"] == "tool"]


def read_questions(file: Path) -> list[Question]:
    """Read questions from JSON lines with `question`, `answers` and `documents` (ids; in a folder, paths)."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        Question(f"{file.stem}-{number}", row["question"], tuple(row["answers"]), tuple(row["documents"]))
        for number, row in enumerate(rows, 1)
    ]


def load_task_set(
    name: str, *, data: str | Path | None, limit: int, seed: int = 13
) -> tuple[list[Question], dict[str, Document]]:
    """Load questions of a set of the benchmarks' train split, and the documents of all of them. A question's
    documents are those that the set marks as gold, or else those with an answer."""
    questions: list[Question] = []
    documents: dict[str, Document] = {}
    ids: dict[tuple[str | None, str], str] = {}
    for example in load_findable(name, "train", data=data, limit=limit, seed=seed):
        own: list[str] = []
        for document in example.documents:
            docid = ids.setdefault((document.title, document.text), f"d{len(ids)}")
            documents[docid] = Document(document.text, document.title, docid)
            is_gold = document.gold
            if contains_answer(document.text, example.answers) if is_gold is None else is_gold:
                own.append(docid)
        questions.append(Question(example.id, example.question, example.answers, tuple(own)))
    return questions, documents
