"""Questions to answer by searching documents: those of a task set, or any others.

The agent is the SDK's, with the strategy of a paper. From a search it reads raw passages, selected sentences
or a summary (`tersely_agents.agent.reading_tool`), or it gets ZipRL's tools: raw hits with their docids and
URLs, and `open_page`. It searches the documents of the questions, or a retriever such as a server of
`training.retrieval`. The difficulty is the number of documents besides those with the answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.shared.tasks import load
from benchmarks.shared.tasks.rows import open_lines
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
    Tool,
    read_passages,
    reading_tool,
    search_tools,
)
from tersely_agents.chat import Message, ScriptedChat
from tersely_agents.experience import ExperienceBank
from tersely_agents.levels import LEVELS
from tersely_agents.memory import AgentMemory
from training.agent.teacher import write_turn
from training.rl.language.chat import Chat
from training.rl.language.episodes import AgentEpisode, AgentTask

NOTE = 300
"""Number of characters of a passage in the expert's notes."""
_Row = tuple[str, str, Sequence[str], list[tuple[str | None, str, bool | None]]]
"""Id, question and answers. Then for each document its title, its text, and whether it is needed (None if
unknown)."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    answers: tuple[str, ...]
    """The correct answers. Any one of them is enough."""
    documents: tuple[str, ...]
    """Ids of the documents with the answer, in the order in which they lead to it."""


def match_exactly(question: Question, answer: str) -> float:
    """Return 1.0 for an answer that equals one of the question's after normalisation (RECON's exact match),
    else 0.0."""
    return float(exact_match(answer, question.answers))


@dataclass(frozen=True)
class SearchEnvironment:
    """The environment (`episode.Environment`).

    Raises ValueError without questions. It also does if a question names a missing document, unless there is
    a retriever.
    """

    questions: Sequence[Question]
    documents: Mapping[str, Document]
    chat: Chat
    strategy: StrategyName = "recon"
    read: Reading | None = read_passages
    """The function that makes the text that the agent reads after a search; None for ZipRL's tools `search`
    and `open_page`."""
    k: int = 5
    """Number of documents that a search finds."""
    max_turns: int | None = None
    """Largest number of turns; None for the strategy's number."""
    max_reply: int = 500
    positions: int = 4096
    """Maximum number of tokens of a context with its reply."""
    slip: float = 0.3
    """Probability that a flawed demonstration searches for a single word of the question, and that it gives
    the answer of another question."""
    compressor: Compressor = field(default_factory=Compressor)
    """The compressor that counts tokens, and shortens results that are too long."""
    experience: Callable[[], ExperienceBank] | None = None
    """A function that returns the lessons that the agent of a new task may recall."""
    retriever: Retriever | None = None
    """The index that the agent searches instead of the documents."""
    score: Callable[[Question, str], float] = match_exactly
    """Reward of an answer, from 0 to 1."""
    reset_tokens: int = 8000
    """SUPO's L, with the strategy "reset": a context of this size is summarised."""
    resets: int = 7
    """SUPO's S: maximum number of summaries."""
    result_tokens: int = 2000
    """Largest number of tokens of a tool result. A longer one is compressed."""

    def __post_init__(self) -> None:
        wanted = {docid for question in self.questions for docid in question.documents}
        if not self.questions or (self.retriever is None and not wanted <= self.documents.keys()):
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
        index = self.retriever or self._choose_documents(question, random, difficulty)
        agent = Agent(
            ScriptedChat(()),
            self._make_tools(index),
            memory=self._make_memory if self.strategy == "reset" else None,
            strategy=self.strategy,
            experience=None if self.experience is None else self.experience(),
            max_turns=self.max_turns,
            result_tokens=self.result_tokens,
            compressor=self.compressor,
            strict=True,
        )

        def score(state: EpisodeState) -> float:
            return self.score(question, state.answer)

        key = f"{question.id}-{random.getrandbits(32):08x}"
        task = AgentTask(key, question.text, agent, self.chat, score, self.positions, self.max_reply)
        return SearchTask(task, question, index)

    def _make_tools(self, index: Retriever) -> list[Tool]:
        return search_tools(index, self.k) if self.read is None else [reading_tool(index, self.read, self.k)]

    def _make_memory(self, first: list[Message]) -> AgentMemory:
        return AgentMemory(
            first,
            limit=self.reset_tokens,
            max_summaries=self.resets,
            compress_over=self.result_tokens,
            compressor=self.compressor,
            replay=False,
        )

    def _choose_documents(self, question: Question, random: random.Random, difficulty: float) -> Retriever:
        others = [docid for docid in self.documents if docid not in question.documents]
        chosen = {*question.documents, *random.sample(others, round(difficulty * len(others)))}
        return self._whole if len(chosen) == len(self.documents) else self._make_index(chosen)

    @cached_property
    def _whole(self) -> DocumentIndex:
        return self._make_index(self.documents)

    def _make_index(self, chosen: Container[str]) -> DocumentIndex:
        return DocumentIndex({docid: text for docid, text in self.documents.items() if docid in chosen})

    def demonstrate(
        self, episode: SearchEpisode, random: random.Random, *, flawed: bool = False
    ) -> Iterator[Sequence[int]]:
        """Yield one search for each document, then the answer. With lessons, they are recalled first; with
        ZipRL's tools, each document is opened. Text that the strategy also asks for consists of notes from
        the passages."""
        expert = _Expert(self, episode)
        if self.experience is not None and self.strategy != "recon":
            yield from expert.recall()
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
    """One rollout. facts: also `question`, `answers`, `found` (whether the agent has read an answer),
    `queries` (those of its searches), `recalls` (how often it asked for lessons) and `recalled` (their
    ids)."""

    def __init__(self, task: SearchTask) -> None:
        self.question, self.index = task.question, task.index
        self.found = False
        super().__init__(task.agent_task)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {
            **super().facts,
            "question": self.question.text,
            "answers": list(self.question.answers),
            "found": self.found,
            "queries": [row.arguments["query"] for row in self.state.trace if row.tool == "search"],
            "recalls": sum(row.tool == "retrieve_experience" for row in self.state.trace),
            "recalled": list(self.state.recalled),
        }

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

    def recall(self) -> Iterator[Sequence[int]]:
        yield from self._act("retrieve_experience", query=self._episode.question.text)

    def search(self, query: str, docid: str | None = None) -> Iterator[Sequence[int]]:
        yield from self._act("search", query=query)
        if docid is None:
            return
        self._notes += f"{self._environment.documents[docid].text[:NOTE]} [docid: {docid}] "
        if self._environment.read is None:
            yield from self._act("open_page", docid=docid)

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
            explained = {"explanation": "It is in the notes."} if tool == "finish" else {}
            thought = "The notes hold the answer." if tool == "finish" else "I need to look this up."
            has_read = self._episode.state.result or self._episode.state.summary
            notes = self._notes.strip() or ("Nothing was found yet." if has_read else "")
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


def load_task_set(
    name: str, *, data: str | Path | None, limit: int
) -> tuple[list[Question], dict[str, Document]]:
    """Load questions and their documents: a set of the benchmarks' train split, or a file of JSON lines
    (`.jsonl` or `.jsonl.gz`) with `question`, `answers` and, unless a retriever has the documents, `docs`. A
    question's documents are those that the set marks as gold, or else those with an answer."""
    questions: list[Question] = []
    documents: dict[str, Document] = {}
    ids: dict[tuple[str | None, str], str] = {}
    for key, question, answers, given in _read_rows(name, data, limit):
        own: list[str] = []
        for title, text, gold in given:
            docid = ids.setdefault((title, text), f"{name}-d{len(ids)}")
            documents[docid] = Document(text, title, docid)
            if contains_answer(text, answers) if gold is None else gold:
                own.append(docid)
        questions.append(Question(key, question, tuple(answers), tuple(own)))
    return questions, documents


def _read_rows(name: str, data: str | Path | None, limit: int) -> Iterator[_Row]:
    if not name.endswith((".jsonl", ".jsonl.gz")):
        drawn = load(name, "train", data=data, limit=limit * 5 // 4)
        usable = [example for example in drawn if example.findable]
        if len(usable) < len(drawn):
            lost = len(drawn) - len(usable)
            print(f"{name}: {lost} of {len(drawn)} questions are left out: no document holds an answer")
        for example in usable[:limit]:
            found = [(d.title, d.text, d.gold) for d in example.documents]
            yield example.id, example.question, example.answers, found
        return
    with open_lines(Path(name)) as stream:
        for number, line in enumerate(stream, 1):
            if number > limit:
                return
            try:
                row = json.loads(line)
                found = [(d.get("title"), d["text"], d.get("gold")) for d in row.get("docs", [])]
                stem = Path(name).name.removesuffix(".gz").removesuffix(".jsonl")
                yield f"{stem}-{number}", row["question"], [str(a) for a in row["answers"]], found
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f'{name}, line {number}: expected {{"question": string, "answers": [string, ...], "docs":'
                    f' [{{"title": string or null, "text": string}}, ...]}}: {error!r}'
                ) from error
