"""Turns the training part of a data folder into groups: a question, its documents, and a label per sentence.

Labels follow EFFCOMP Phase I (1 where the sentence holds the answer), improved by supporting-sentence labels
where a set has them. A group is kept whole in a batch, so that sentences of different documents compete.
Rows and hard negatives are read as the benchmarks read them, but never from their split.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.shared.tasks.negatives import Neighbours, Passage, PassagePool
from benchmarks.shared.tasks.rows import locate, read_rows
from tersely.metrics import Range
from tersely.text.sentences import split_units
from training.selector.config import DataConfig

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
    """1 holds evidence, 0 does not."""


@dataclass(slots=True)
class Group:
    id: str
    source: str
    question: str
    answers: list[str]
    documents: list[GroupDocument]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A document with the code-point ranges that answer the question."""

    title: str | None
    text: str
    evidence: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    answers: tuple[str, ...]
    documents: tuple[Labelled, ...]

    @property
    def article(self) -> str:
        """What the question is about, so that no article is trained on and held out at once."""
        gold = next(d for d in self.documents if d.evidence)
        return (gold.title or gold.text[:80]).lower()


def prepare(folder: Path, out: Path, config: DataConfig, seed: int) -> None:
    """Write `train.jsonl` and `heldout.jsonl` to `out`. Deterministic in `seed`."""
    rng = random.Random(seed)
    out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[Group]] = {"train": [], "heldout": []}
    for name in sorted(config.questions):
        questions = [q for q in map(question, read_rows(folder, "train", name)) if _usable(q)]
        rng.shuffle(questions)
        held, rest = split_by_article(questions, config.heldout.get(name, 0))
        rest = rest[: config.questions[name]]
        for part, chosen in (("heldout", held), ("train", rest)):
            count = config.heldout_negatives if part == "heldout" else config.negatives
            documents = _documents(name, chosen, questions, count, config.neighbours, rng)
            parts[part] += [_group(name, q, d, rng) for q, d in zip(chosen, documents, strict=True)]
    for part, groups in parts.items():
        with open(out / f"{part}.jsonl", "w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(asdict(g), ensure_ascii=False) + "\n" for g in groups)


def read_groups(path: Path) -> list[Group]:
    with open(path, encoding="utf-8") as stream:
        raws = [json.loads(line) for line in stream]
    return [Group(**{**r, "documents": [GroupDocument(**d) for d in r["documents"]]}) for r in raws]


def label(document: Labelled) -> GroupDocument:
    """Split a document; a sentence is positive when it and a labelled range share half of the shorter one."""
    units = [(u.start, u.end) for u in split_units(document.text)]
    labels = [int(any(_shares(u, e) for e in document.evidence)) for u in units]
    return GroupDocument(document.title, document.text, units, labels, int(bool(document.evidence)))


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


def question(row: dict[str, Any]) -> Question:
    return Question(
        str(row["id"]), row["question"].strip(), tuple(row["answers"]), tuple(map(_labelled, row["docs"]))
    )


def _usable(question: Question) -> bool:
    return bool(question.text) and any(d.evidence for d in question.documents)


def _labelled(document: dict[str, Any]) -> Labelled:
    ranges: set[Range] = {(a, b) for a, b in document.get("spans") or ()}
    if document.get("support") and document.get("sentences"):
        located = locate(document["text"], document["sentences"])
        ranges |= {at for i in document["support"] if (at := located[i]) is not None}
    title = document.get("title")
    return Labelled(title.replace("_", " ") if title else None, document["text"], tuple(sorted(ranges)))


def _documents(
    name: str,
    questions: Sequence[Question],
    pool_questions: Sequence[Question],
    negatives: int,
    neighbours: Neighbours,
    rng: random.Random,
) -> Iterator[Sequence[Labelled]]:
    """The documents of each question: its own, its sections, or its passage among hard negatives."""
    if name in MULTI_HOP:
        yield from (q.documents for q in questions)
    elif any(len(d.text) > LONG_DOCUMENT for q in pool_questions[:5] for d in q.documents):
        yield from (_some_sections(q.documents[0], rng) for q in questions)
    else:
        passages = {d.text: Passage(d.title, d.text) for q in pool_questions for d in q.documents}
        pool = PassagePool(list(passages.values()), [q.text for q in questions], neighbours)
        for number, question in enumerate(questions):
            own = {d.text for d in question.documents}
            chosen = pool.negatives(number, question.answers, own, negatives)
            near = [Labelled(pool.passages[i].title, pool.passages[i].text, ()) for i in chosen]
            yield [d for d in question.documents if d.evidence] + near


def _some_sections(document: Labelled, rng: random.Random) -> list[Labelled]:
    sections = list(_sections(document))
    gold = [s for s in sections if s.evidence]
    others = [s for s in sections if not s.evidence]
    return rng.sample(gold, min(GOLD_SECTIONS, len(gold))) + rng.sample(
        others, min(OTHER_SECTIONS, len(others))
    )


def _sections(document: Labelled) -> Iterable[Labelled]:
    text, start = document.text, 0
    while start < len(text):
        end = text.rfind("\n", start + 1, start + SECTION) + 1 or min(start + SECTION, len(text))
        inside = [(max(a, start) - start, min(b, end) - start) for a, b in document.evidence]
        yield Labelled(None, text[start:end], tuple((a, b) for a, b in inside if a < b))
        start = end


def _group(name: str, question: Question, documents: Sequence[Labelled], rng: random.Random) -> Group:
    labelled = [d for d in map(label, documents) if d.units]
    rng.shuffle(labelled)
    return Group(question.id, name, question.text, list(question.answers), labelled)


def _shares(unit: Range, evidence: Range) -> bool:
    overlap = min(unit[1], evidence[1]) - max(unit[0], evidence[0])
    return overlap > 0 and 2 * overlap >= min(unit[1] - unit[0], evidence[1] - evidence[0])
