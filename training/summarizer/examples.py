"""Make examples for a summarizer without a teacher, from sets with gold sentences or human summaries.

    question sets   the sentences that support the answer, rewritten to be understood alone (`standalone`)
    QMSum           the sentences of the reference summary that the passage supports

The model reads the passages that the selector kept for a question, in RECON's prompt. A target contains only
what passes the run-time check of summaries against this text (`tersely_agents.summaries.grounding`), so that
the model does not learn to add anything.

RECON's aspects: "completeness" and "coverage" add the sentences that the selector ranks next; the other four
have the same target.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.shared.tasks import Example, SourceDocument, load
from benchmarks.shared.tasks.example import KeptSpan
from benchmarks.shared.tasks.rows import find_data_folder, read_lines
from tersely import Compression, Compressor, Document
from tersely.split.sentences import split_units
from tersely_agents.summaries.grounding import Sources
from tersely_agents.summaries.types import ASPECTS, Aspect
from tersely_agents.summaries.writing import score_texts, write_messages
from training.run import read_whole_lines, show_progress
from training.selector_model.questions import Question, read_questions
from training.summarizer.standalone import Reference, clean_tokenized, make_standalone

TASKS = {
    "hotpotqa": "hotpotqa",
    "twowiki": "twowiki",
    "qed_nq": "qed_nq_10",
    "squad_train44": "squad",
    "qmsum": "qmsum",
}
"""Benchmark task that reads each set's training part. Any other name is a file of the data folder with
questions, answers and retrieved documents (`load_set`)."""
NEGATIVES = 9
EXTRA: Mapping[Aspect, int] = {"completeness": 1, "coverage": 2}
"""Number of sentences that an aspect adds to the gold ones."""
_USEFUL = 0.3
"""Minimum score of an added sentence."""
_MARKUP = re.compile(r"\s*\{\w+\}")
_LONGEST_TARGET = 900
"""Maximum characters of a target; a longer one is a list, or was not split into sentences."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One example: the messages that a model reads and the summary that it should write."""

    id: str
    source: str
    messages: list[dict[str, str]]
    summary: str
    teacher: str | None = None
    """The model that wrote the summary; None for people's sentences."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of the examples."""

    questions: dict[str, int]
    """Questions of each set, drawn by the seed; not all of them become examples."""
    documents: int = 6
    """Number of passages of a question: its gold ones and others."""
    smallest: int = 140
    largest: int = 340
    """Range of the tokens that the selector keeps."""
    examples: int | None = None
    """Maximum number of examples; None for all that the questions give."""
    clean: float = 0.7
    """Share of tokenised texts whose usual spaces are restored."""
    seed: int = 13
    """Seed of the drawn questions and of their order."""


def make_lessons(
    recipe: Recipe, compressor: Compressor, file: Path, data: Path | None = None
) -> list[Lesson]:
    """Make examples of all sets in random order, the same for the same recipe and selector.

    Each finished question is appended to `file` as a line, so that a second call makes only the rest.
    """
    data = find_data_folder(data)
    references = _read_references(data)
    drawn = draw_questions(recipe, data)
    tried = read_whole_lines(file)
    made = sum(row["lesson"] is not None for row in tried)
    with open(file, "a", encoding="utf-8") as stream:
        for name, example in show_progress("examples", drawn[len(tried) :], unit="q"):
            if recipe.examples is not None and made >= recipe.examples:
                break
            draw = random.Random(f"{recipe.seed} {example.id}")
            lesson = _make_lesson(recipe, compressor, name, example, references.get(example.id, ()), draw)
            made += lesson is not None
            row = {"id": example.id, "lesson": lesson and asdict(lesson)}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            stream.flush()
    lessons = read_lessons(file)
    if not lessons:
        raise ValueError(
            f"none of {len(drawn)} questions gave an example: the selector has to keep every sentence that is"
            " needed, or more questions are needed"
        )
    return lessons


def read_lessons(file: Path) -> list[Lesson]:
    """Read the examples from a file that `make_lessons` wrote."""
    return [Lesson(**row["lesson"]) for row in read_whole_lines(file) if row["lesson"] is not None]


def draw_questions(recipe: Recipe, data: Path) -> list[tuple[str, Example]]:
    """Draw questions with the names of their sets, in the random order of the recipe's seed."""
    drawn = [
        (name, example)
        for name, count in recipe.questions.items()
        for example in _draw(recipe, name, count, data)
    ]
    random.Random(recipe.seed).shuffle(drawn)
    return drawn


def _draw(recipe: Recipe, name: str, count: int, data: Path) -> list[Example]:
    negatives = NEGATIVES if name in ("qed_nq", "squad_train44") else 0
    return load_set(name, data, count, recipe.seed, negatives)


def load_set(name: str, data: Path, count: int, seed: int, negatives: int = 0) -> list[Example]:
    """Load training questions of a set.

    The documents of a set that is not in TASKS are those of its file. Without labels, the sentences with an
    answer in the first document that has one are gold; further documents with an answer are left out, because
    they may hold it by chance. `negatives` are added to the sets in TASKS.

    Raises ValueError, which names the file, if it is missing or nothing can be learned from it.
    """
    if name in TASKS:
        return load(
            TASKS[name],
            "train",
            data=data,
            limit=count,
            seed=seed,
            negatives=negatives,
            neighbours="bm25",
        )
    usable = [question for question in read_questions(data, name, "string") if question.is_labelled]
    if not usable:
        raise ValueError(f"{name}: no sentence is labelled or holds an answer")
    drawn = random.Random(seed).sample(usable, min(count, len(usable)))
    return [_make_example(question) for question in drawn]


def _make_example(question: Question) -> Example:
    first = question.documents.index(question.passage)
    documents = [
        document
        for place, document in enumerate(question.documents)
        if place == first or not (question.matched and document.support)
    ]
    return Example(
        question.id,
        question.text,
        question.answers,
        tuple(SourceDocument(d.title, d.text, bool(d.support)) for d in documents),
        tuple((place, start, end) for place, d in enumerate(documents) for start, end in d.support),
        answer_spans=None,
        findable=True,
    )


def _read_references(data: Path) -> dict[str, list[Reference]]:
    """Read QED's annotation by the question's id: which mention refers to which part of the question. A data
    folder need not have it."""
    references: dict[str, list[Reference]] = {}
    file = data / "train" / "qed_references.jsonl.gz"
    for row in read_lines(file) if file.exists() else ():
        named = [r for r in row["references"] if r["question_text"]]
        references[row["id"]] = [
            Reference(r["context"][0], r["context"][1], r["question_text"]) for r in named
        ]
    return references


def _make_lesson(
    recipe: Recipe,
    compressor: Compressor,
    name: str,
    example: Example,
    references: Sequence[Reference],
    draw: random.Random,
) -> Lesson | None:
    """Return an example, or None without a gold sentence that the selector kept and the text supports."""
    clean = draw.random() < recipe.clean
    aspect: Aspect = "clarity" if draw.random() < 0.5 else draw.choice(list(ASPECTS))
    room = choose_room(recipe, draw)
    documents, gold = gather_passages(recipe, name, example, clean, draw)
    if not documents:
        return None
    kept = compressor.compress(example.question, documents, budget=room)
    shown = read_shown(kept, name, clean)
    if name == "qmsum":
        sentences, least = _split(example.answers[0]), 1
    else:
        sentences = _rewrite_gold(kept, documents, gold, EXTRA.get(aspect, 0), references)
        least = len(sentences)
        if clean and name == "qed_nq":
            sentences = [clean_tokenized(s) for s in sentences]
    if not sentences:
        return None
    grounded = _keep_grounded(sentences, shown, compressor)
    summary = " ".join(grounded)
    if not grounded or len(grounded) < least or len(summary) > _LONGEST_TARGET:
        return None
    budget = round(compressor.count_tokens(summary) * draw.uniform(1.1, 1.8)) if draw.random() < 0.4 else None
    messages = write_messages(example.question, example.question, shown, aspect, budget)
    return Lesson(example.id, name, [{"role": m["role"], "content": m["content"]} for m in messages], summary)


def read_shown(kept: Compression, name: str, clean: bool) -> list[Document]:
    """Return the documents that the model reads; `clean` restores the usual spaces of tokenised texts."""
    cleans = clean and name == "qed_nq"
    return [Document(clean_tokenized(d.text) if cleans else d.text, d.title) for d in kept.documents]


def choose_room(recipe: Recipe, draw: random.Random) -> int:
    """Draw the number of tokens that the selector keeps of a question's passages."""
    return draw.randint(recipe.smallest, recipe.largest)


def gather_passages(
    recipe: Recipe, name: str, example: Example, clean: bool, draw: random.Random
) -> tuple[list[Document], tuple[KeptSpan, ...]]:
    """Return the passages of a question and the gold spans in them.

    For a meeting, return its relevant turns without spans. Without a gold sentence, return nothing.
    """
    if name == "qmsum":
        turns = _join_turns(example, clean)
        return ([turns] if turns.text else []), ()
    documents, gold = _choose_documents(example, find_gold(example), recipe.documents, draw)
    return (documents, gold) if gold and documents[0].text else ([], ())


def _rewrite_gold(
    kept: Compression,
    documents: Sequence[Document],
    gold: Sequence[KeptSpan],
    extra: int,
    references: Sequence[Reference],
) -> list[str]:
    """Return the kept gold units and `extra` others in the order of the text, rewritten to make sense alone.

    Returns nothing if the selector kept no unit of a gold document.
    """
    spans = [s for d in kept.documents for s in d.spans]
    chosen = [s for s in spans if _overlaps(s.doc, s.start, s.end, gold)]
    if {doc for doc, _, _ in gold} - {s.doc for s in chosen}:
        return []
    others = [s for s in spans if s not in chosen and s.score >= _USEFUL]
    chosen += sorted(others, key=lambda s: -s.score)[:extra]
    return [
        make_standalone(
            documents[s.doc].text,
            s.start,
            s.end,
            documents[s.doc].title,
            references if _overlaps(s.doc, s.start, s.end, gold) else (),
        )
        for s in spans
        if s in chosen
    ]


def find_gold(example: Example) -> tuple[KeptSpan, ...]:
    """Return the labelled sentences. In SQuAD, which labels answers, return the first answer."""
    if example.support is not None:
        return example.support
    return (example.answer_spans or ())[:1] if len(example.answers) else ()


def _choose_documents(
    example: Example, gold: Sequence[KeptSpan], count: int, draw: random.Random
) -> tuple[list[Document], tuple[KeptSpan, ...]]:
    """Return `count` documents in order, the gold ones included, and `gold` with the new document numbers."""
    own = {doc for doc, _, _ in gold}
    rest = [i for i in range(len(example.documents)) if i not in own]
    kept = sorted([*own, *draw.sample(rest, min(len(rest), max(0, count - len(own))))])
    place = {old: new for new, old in enumerate(kept)}
    everything = example.to_documents()
    return [everything[i] for i in kept], tuple((place[d], a, b) for d, a, b in gold)


def _join_turns(example: Example, clean: bool) -> Document:
    """Join the relevant turns of a meeting into one text, without very short ones."""
    turns = [example.documents[doc].text[start:end] for doc, start, end in example.support or ()]
    text = "\n".join(turn for turn in turns if len(turn.split()) > 5)
    return Document(clean_tokenized(_MARKUP.sub("", text)) if clean else text)


def _overlaps(doc: int, start: int, end: int, gold: Sequence[KeptSpan]) -> bool:
    """Return whether a unit and a gold sentence share at least half of the shorter one."""
    return any(d == doc and min(end, b) - max(start, a) >= min(end - start, b - a) / 2 for d, a, b in gold)


def _split(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in split_units(text)]


def _keep_grounded(sentences: Sequence[str], shown: Sequence[Document], compressor: Compressor) -> list[str]:
    """Return the sentences that the shown text supports, with all of their names and numbers."""
    sources = Sources(shown, partial(score_texts, compressor))
    return [s for s in sentences if not sources.find_unknown(s) and sources.check(s).support]
