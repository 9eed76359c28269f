"""Examples for an agent: ZipRL's turns, written by scripted experts.

The SDK's agent runs in strict mode, and an expert takes the model's place. So an example is exactly what the
model reads at run time, token for token. Level and summary come from the compressor (`teacher`). One expert
repeats the run of a ReAct agent: its thoughts, searches and answer, over an index that holds the snippets of
the run among passages and snippets of other questions. The other knows the evidence of a question
(`questions`), and searches among the question's own documents. An expert gives up if a search does not
find the evidence, and its run gives no examples.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.shared.tasks import Example
from benchmarks.shared.tasks.rows import read_rows
from tersely import Compressor, Document
from tersely_agents.agent import DocumentIndex
from tersely_agents.agent.trained import make_agent
from tersely_agents.chat import Message, Reply, ScriptedChat
from tersely_agents.levels import LEVELS
from training.agent.moves import Expert, Move, finish
from training.agent.questions import LabelledExpert, find_evidence, read_labelled
from training.agent.teacher import LONGEST, Notes, write_notes, write_turn
from training.agent.trajectories import Search, Trajectory, read_trajectories, shuffle
from training.run import read_whole_lines, show_progress
from training.summarizer.examples import Lesson

_HIT = re.compile(
    r"\[docid: (?P<docid>[^\]]*)\] (?P<title>[^\n]*)\n(?P<passage>(?:(?!\n\n\[docid: ).)*)", re.DOTALL
)
_NAME = re.compile(r"[A-Z][\w'’-]*(?: (?:(?:of|the|and|in|de) (?=[A-Z]))?[A-Z0-9][\w'’-]*)*")
_SLUG = re.compile(r"\W+")
_WIDER = 4
_SHORTEST_TEXT = 60
"""Smallest number of characters of a snippet. A shorter one is only an answer, which means little without its
query."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of the examples."""

    passages: list[str] = field(default_factory=lambda: ["hotpotqa", "twowiki"])
    """Training sets that add passages to the snippets."""
    others: int = 8
    """Number of passages that are added to a run's snippets, with half as many snippets of other runs."""
    trajectories: int | None = None
    """Maximum number of runs; None for all."""
    questions: list[str] = field(default_factory=list[str])
    """Training sets with labelled evidence. An expert answers their questions too."""
    wide: float = 0.0
    """Share of the runs with searches that show four times as many tokens, for summaries of higher levels."""
    search_tokens: int = 200
    """Maximum number of tokens that a search shows, all documents together."""
    summary_characters: int = LONGEST
    """Maximum number of characters of a summary. With 6000, and more tokens of a search, turns have all five
    levels."""
    seed: int = 13


def make_lessons(recipe: Recipe, compressor: Compressor, file: Path, data: Path) -> list[list[Lesson]]:
    """Make the turns of each run, in random order; a run without examples gives an empty list.

    `file` gets a line for each run when it is done. If it already exists, only the rest is added.
    """
    good = shuffle(read_trajectories(data), recipe.seed)
    searches = [search for trajectory in good for search in trajectory.searches]
    passages = [
        Document(row["text"], row["title"])
        for name in recipe.passages
        for example in read_rows(data, "train", name)
        for row in example["docs"]
    ]
    labelled = [(name, e) for name in recipe.questions for e in read_labelled(name, data)]
    chosen = [("traj_fireact", t) for t in good[: recipe.trajectories]] + labelled
    random.Random(recipe.seed).shuffle(chosen)
    done = read_lessons(file)
    with open(file, "a", encoding="utf-8") as stream:
        for number, (source, subject) in enumerate(show_progress("examples", chosen, unit="run")):
            if number < len(done):
                continue
            draw = random.Random(f"{recipe.seed} {subject.question}")
            wide = _WIDER if draw.random() < recipe.wide else 1
            if isinstance(subject, Trajectory):
                beside = [*draw.sample(passages, recipe.others)]
                beside += [as_document(search) for search in draw.sample(searches, recipe.others // 2)]
                documents, expert = _start_replay(subject, beside, draw)
            else:
                documents, expert = _start_labelled(subject, draw)
            limit = wide * recipe.search_tokens
            longest = recipe.summary_characters
            turns = _take_turns(subject.question, documents, expert, limit, longest, compressor)
            lessons = [
                Lesson(f"{number}-{n}", source, messages, text) for n, (messages, text) in enumerate(turns)
            ]
            stream.write(json.dumps([asdict(lesson) for lesson in lessons], ensure_ascii=False) + "\n")
            stream.flush()
            done.append(lessons)
    return done


def read_lessons(file: Path) -> list[list[Lesson]]:
    """Read the examples of each run from a file that `make_lessons` wrote."""
    return [[Lesson(**row) for row in rows] for rows in read_whole_lines(file)]


def _start_replay(
    run: Trajectory, beside: Sequence[Document], draw: random.Random
) -> tuple[dict[str, Document], Expert]:
    """Return the documents to search in, and the expert that repeats the run."""
    documents = name_documents([*(as_document(search) for search in run.searches), *beside], draw)
    ids = list(documents)[: len(run.searches)]
    moves = 0

    def move(found: Mapping[str, Document]) -> Move | None:
        nonlocal moves
        number, moves = moves, moves + 1
        if number and ids[number - 1] not in found:
            return None
        if number == len(ids):
            return finish(run.thought, run.answer, ids)
        search = run.searches[number]
        return Move(search.thought, ids[:number], "search", {"query": search.query})

    return dict(draw.sample(list(documents.items()), len(documents))), move


def _start_labelled(example: Example, draw: random.Random) -> tuple[dict[str, Document], Expert]:
    """Return the question's documents, and the expert that knows its evidence."""
    documents = name_documents(example.to_documents(), draw)
    expert = LabelledExpert(example.question, example.answers[0], find_evidence(example), list(documents))
    return documents, expert


def _take_turns(
    question: str,
    documents: Mapping[str, Document],
    expert: Expert,
    search_tokens: int,
    longest: int,
    compressor: Compressor,
) -> list[tuple[list[dict[str, str]], str]]:
    """Run the agent with the expert, and return the messages and the reply of each turn. longest: characters
    of a summary."""
    agent = make_agent(ScriptedChat(()), DocumentIndex(documents), compressor, search_tokens, strict=True)
    state, notes = agent.start(question), Notes(LEVELS[0], {})
    turns: list[tuple[list[dict[str, str]], str]] = []
    while state.outcome is None:
        found = read_hits(state.result) if turns else {}
        move = expert(found)
        if move is None:
            return []
        if turns:
            known = {docid: Document(text, documents[docid].title) for docid, text in notes.entries.items()}
            material = {**known, **{docid: d for docid, d in found.items() if docid not in known}}
            written = write_notes(compressor, question, material, move.needed, longest)
            if written is None:
                return []
            notes = written
        text = write_turn(move.think, notes.level, notes.text, move.tool, move.arguments)
        turns.append((_copy(agent.request(state).messages), text))
        state = agent.step(state, Reply(text))
    return turns if state.outcome == "answered" else []


def as_document(search: Search) -> Document:
    """Return a snippet as a document, titled with the longest name in the query, or with the query's first
    words."""
    names = sorted(_NAME.findall(search.query), key=len, reverse=True)
    title = names[0] if names and len(names[0]) > 2 else " ".join(search.query.split()[:4])
    if len(search.found) >= _SHORTEST_TEXT:
        return Document(search.found, title)
    return Document(f"{search.query}{'' if search.query.endswith('?') else ':'} {search.found}", title)


def name_documents(documents: Sequence[Document], draw: random.Random) -> dict[str, Document]:
    """Give each document an id: a file named after its title, or a number."""
    numbered, named = draw.random() < 0.4, dict[str, Document]()
    numbers = draw.sample(range(1, 100), len(documents))
    for number, document in zip(numbers, documents, strict=True):
        slug = _SLUG.sub("-", (document.title or "").lower()).strip("-")[:30]
        name = f"d{number}" if numbered or not slug else f"{slug}.md"
        named[name if name not in named else f"{slug}-{number}.md"] = document
    return named


def read_hits(result: str) -> dict[str, Document]:
    """Read the documents from the result of a search, by their ids."""
    return {hit["docid"]: Document(hit["passage"], hit["title"]) for hit in _HIT.finditer(result)}


def _copy(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": str(m["role"]), "content": str(m["content"])} for m in messages]


def hold_out(runs: Sequence[Sequence[Lesson]], count: int) -> list[Lesson]:
    """Return all turns, the `count` held-out ones first. No later turn has a question of theirs."""
    heldout: list[Lesson] = []
    taught: list[Lesson] = []
    for turns in runs:
        (heldout if len(heldout) < count else taught).extend(turns)
    return [*heldout[:count], *taught]
