"""Groups of a selector's run: a question, its documents, and a label for each sentence.

The labels mark the sentences that support the answer: what retention is measured by. Phase I learns them, or
the sentences that contain the answer as a string (`Labels`). A group is kept whole in a batch, so that
sentences of different documents compete.
Rows and hard negatives are read as the benchmarks read them, but never from their split. A run keeps its
groups in its own folder; the runs that follow it read them from there.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from benchmarks.shared.tasks.negatives import Passage, PassagePool
from benchmarks.shared.tasks.rows import locate, read_rows
from tersely.metrics import WITHOUT_ANSWER_STRING, Range, contains_string, normalize_answer
from tersely.text.sentences import split_units
from training.run import write_text
from training.selector_model.config import DataConfig, Labels

Part = Literal["train", "heldout"]
"""Groups to train on, and those kept for validation, for the fusion layer and for calibration."""

MULTI_HOP = frozenset({"hotpotqa", "twowiki"})
"""Sets that bring their own distractors and need several sentences."""

LONG_DOCUMENT = 20_000
"""Characters from which a document is read in sections."""

SECTION = 1200
"""Characters of a section, cut at a line break."""

GOLD_SECTIONS, OTHER_SECTIONS = 4, 5
"""Sections of a long document that make a group, at most."""


@dataclass(slots=True)
class GroupDocument:
    title: str | None
    text: str
    units: list[Range]
    labels: list[int]
    gold: int
    """1 where a span of it supports the answer, else 0."""


@dataclass(slots=True)
class Group:
    id: str
    source: str
    question: str
    answers: list[str]
    documents: list[GroupDocument]

    @property
    def name(self) -> str:
        """The question's, the same wherever it is used."""
        return name_question(self.source, self.id)


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """A document and its support spans, in code points."""

    title: str | None
    text: str
    support: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    answers: tuple[str, ...]
    documents: tuple[LabelledDocument, ...]

    @property
    def article(self) -> str:
        """What the question is about, so that no article is trained on and held out at once."""
        gold = next(d for d in self.documents if d.support)
        return (gold.title or gold.text[:80]).lower()


def prepare_groups(data: Path, run_folder: Path, config: DataConfig, seed: int) -> None:
    """Write the groups of a run, made from the data folder `data`. Deterministic in `seed`."""
    rng = random.Random(seed)
    parts: dict[Part, list[Group]] = {"heldout": [], "train": []}
    for name in sorted(config.questions):
        questions = [q for q in map(parse_question, read_rows(data, "train", name)) if _is_usable(q)]
        rng.shuffle(questions)
        held, rest = split_by_article(questions, config.heldout.get(name, 0))
        rest = rest[: config.questions[name]]
        for part, chosen, negatives in (
            ("heldout", held, config.heldout_negatives),
            ("train", rest, config.negatives),
        ):
            documents = _choose_documents(name, chosen, questions, negatives, config, rng)
            parts[part] += [_make_group(name, q, d, rng) for q, d in zip(chosen, documents, strict=True)]
    for part, groups in parts.items():
        write_groups(run_folder, part, groups)


def write_groups(run_folder: Path, part: Part, groups: Sequence[Group]) -> None:
    """Keep the groups of a part in a run's folder."""
    path = _locate_groups(run_folder, part)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(asdict(g), ensure_ascii=False) + "\n" for g in groups)
    write_text(path, "".join(lines))


def read_groups(run_folder: Path, part: Part) -> list[Group]:
    """The groups that the run in a folder trains on or validates on."""
    with open(_locate_groups(run_folder, part), encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return [Group(**{**r, "documents": [GroupDocument(**d) for d in r["documents"]]}) for r in rows]


def has_groups(run_folder: Path) -> bool:
    """Whether both parts are there."""
    return all(_locate_groups(run_folder, part).exists() for part in get_args(Part))


def _locate_groups(run_folder: Path, part: Part) -> Path:
    return run_folder / "prepared" / f"{part}.jsonl"


def name_question(source: str, number: str) -> str:
    """The name of a question: its set and its id there."""
    return f"{source} {number}"


def belongs_to_readers(source: str, number: str) -> bool:
    """Whether a question of a multi-hop set may train readers. The other half is for policies, because a
    reader that knows a question by heart rewards whatever is kept for it."""
    return source in MULTI_HOP and hashlib.sha256(number.encode()).digest()[0] % 2 == 0


def list_labels(group: Group, labels: Labels) -> list[list[int]]:
    """For each document of a group, 1 or 0 for each of its sentences."""
    if labels == "support":
        return [list(d.labels) for d in group.documents]
    return [[int(contains_string(d.text[a:b], group.answers)) for a, b in d.units] for d in group.documents]


def has_answer_string(group: Group) -> bool:
    """Whether an answer is more than "yes", "no" or "noanswer", which no sentence contains (EFFCOMP appendix
    B.3)."""
    return any(normalize_answer(answer) not in WITHOUT_ANSWER_STRING for answer in group.answers)


def label_document(document: LabelledDocument) -> GroupDocument:
    """Split a document; a sentence is positive when it and a support span share half of the shorter one."""
    units = [(u.start, u.end) for u in split_units(document.text)]
    labels = [int(any(_share_half(u, s) for s in document.support)) for u in units]
    return GroupDocument(document.title, document.text, units, labels, int(bool(document.support)))


def split_by_article(questions: Sequence[Question], count: int) -> tuple[list[Question], list[Question]]:
    """About `count` questions to hold out and the others, with no article on both sides."""
    sizes: dict[str, int] = {}
    for question in questions:
        sizes[question.article] = sizes.get(question.article, 0) + 1
    articles: set[str] = set()
    held = 0
    for name in sorted(sizes, key=lambda a: hashlib.sha256(a.encode()).hexdigest()):
        if held < count and held + sizes[name] <= count * 1.5 + 5:
            articles.add(name)
            held += sizes[name]
    inside = [q for q in questions if q.article in articles]
    return inside[:count], [q for q in questions if q.article not in articles]


def parse_question(row: dict[str, Any]) -> Question:
    """A row of a data folder as a question."""
    return Question(
        str(row["id"]),
        row["question"].strip(),
        tuple(row["answers"]),
        tuple(map(_parse_document, row["docs"])),
    )


def _is_usable(question: Question) -> bool:
    return bool(question.text) and any(d.support for d in question.documents)


def _parse_document(document: dict[str, Any]) -> LabelledDocument:
    ranges: set[Range] = {(a, b) for a, b in document.get("spans") or ()}
    if document.get("support") and document.get("sentences"):
        located = locate(document["text"], document["sentences"])
        ranges |= {at for i in document["support"] if (at := located[i]) is not None}
    title = document.get("title")
    title = title.replace("_", " ") if title else None
    return LabelledDocument(title, document["text"], tuple(sorted(ranges)))


def _choose_documents(
    name: str,
    questions: Sequence[Question],
    pool_questions: Sequence[Question],
    negatives: int,
    config: DataConfig,
    rng: random.Random,
) -> Iterator[Sequence[LabelledDocument]]:
    """The documents of each question: its own, its sections, or what supports it among hard negatives."""
    if name in MULTI_HOP and config.documents is None:
        yield from (q.documents for q in questions)
    elif any(len(d.text) > LONG_DOCUMENT for q in pool_questions[:5] for d in q.documents):
        yield from (_sample_sections(q.documents[0], rng) for q in questions)
    else:
        passages = {d.text: Passage(d.title, d.text) for q in pool_questions for d in q.documents}
        pool = PassagePool(list(passages.values()), [q.text for q in questions], config.neighbours)
        for number, question in enumerate(questions):
            own = [d for d in question.documents if d.support or name in MULTI_HOP]
            count = negatives if config.documents is None else max(0, config.documents - len(own))
            texts = {d.text for d in question.documents}
            chosen = pool.negatives(number, question.answers, texts, count)
            nearest = [LabelledDocument(pool.passages[i].title, pool.passages[i].text, ()) for i in chosen]
            yield [*own, *nearest]


def _sample_sections(document: LabelledDocument, rng: random.Random) -> list[LabelledDocument]:
    sections = list(_split_sections(document))
    gold = [s for s in sections if s.support]
    others = [s for s in sections if not s.support]
    return rng.sample(gold, min(GOLD_SECTIONS, len(gold))) + rng.sample(
        others, min(OTHER_SECTIONS, len(others))
    )


def _split_sections(document: LabelledDocument) -> Iterator[LabelledDocument]:
    text, start = document.text, 0
    while start < len(text):
        end = text.rfind("\n", start + 1, start + SECTION) + 1 or min(start + SECTION, len(text))
        inside = [(max(a, start) - start, min(b, end) - start) for a, b in document.support]
        yield LabelledDocument(None, text[start:end], tuple((a, b) for a, b in inside if a < b))
        start = end


def _make_group(
    name: str, question: Question, documents: Sequence[LabelledDocument], rng: random.Random
) -> Group:
    labelled = [d for d in map(label_document, documents) if d.units]
    rng.shuffle(labelled)
    return Group(question.id, name, question.text, list(question.answers), labelled)


def _share_half(unit: Range, span: Range) -> bool:
    overlap = min(unit[1], span[1]) - max(unit[0], span[0])
    return overlap > 0 and 2 * overlap >= min(unit[1] - unit[0], span[1] - span[0])
