"""Turns the rows of a data folder into groups: a question, its documents, and a label per sentence.

Labels follow EFFCOMP Phase I (1 where the sentence holds the answer), improved by supporting-sentence labels
where a set has them. A group is kept whole in a batch, so that sentences of different documents compete.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tersely.text.sentences import split_units
from training.data.negatives import BM25, hard_negatives, normalise
from training.data.rows import Passage, Row, iter_rows
from training.selector.config import DataConfig

MULTI_HOP = frozenset({"hotpotqa", "twowiki"})
"""Sets that bring their own distractors and need several sentences."""

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to unit vectors, shape (n, d)."""


@dataclass(slots=True)
class GroupDocument:
    title: str | None
    text: str
    units: list[tuple[int, int]]
    labels: list[int]
    gold: int
    """1 holds evidence, 0 does not, -1 unknown."""


@dataclass(slots=True)
class Group:
    id: str
    source: str
    question: str
    answers: list[str]
    documents: list[GroupDocument]


def prepare(folder: Path, out: Path, config: DataConfig, seed: int, embed: Embed | None) -> None:
    """Write `train.jsonl` and `heldout.jsonl` to `out`. Deterministic in `seed`."""
    rng = random.Random(seed)
    out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[Group]] = {"train": [], "heldout": []}
    for name in sorted(config.questions):
        rows = [r for r in iter_rows(folder, name) if usable(r)]
        rng.shuffle(rows)
        held, rest = split_by_article(rows, config.heldout.get(name, 0))
        rest = rest[: config.questions[name]]
        for part, chosen in (("heldout", held), ("train", rest)):
            negatives = config.heldout_negatives if part == "heldout" else config.negatives
            parts[part].extend(groups_of(name, chosen, rows, negatives, rng, embed))
    for part, groups in parts.items():
        with open(out / f"{part}.jsonl", "w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(asdict(g), ensure_ascii=False) + "\n" for g in groups)


def read_groups(path: Path) -> list[Group]:
    with open(path, encoding="utf-8") as stream:
        raws = [json.loads(line) for line in stream]
    return [Group(**{**r, "documents": [GroupDocument(**d) for d in r["documents"]]}) for r in raws]


def usable(row: Row) -> bool:
    return bool(row.question) and any(p.evidence for p in row.passages)


def split_by_article(rows: Sequence[Row], count: int) -> tuple[list[Row], list[Row]]:
    """About `count` rows for validation and the others, without a passage's article on both sides."""

    def article(row: Row) -> str:
        gold = next(p for p in row.passages if p.evidence)
        return normalise(gold.title or gold.text[:80])

    held_articles: set[str] = set()
    held = 0
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[article(row)] = sizes.get(article(row), 0) + 1
    for name in sorted(sizes, key=lambda a: hashlib.sha256(a.encode()).hexdigest()):
        if held >= count:
            break
        if held + sizes[name] <= count * 1.5 + 5:
            held_articles.add(name)
            held += sizes[name]
    inside = [r for r in rows if article(r) in held_articles]
    return inside[:count], [r for r in rows if article(r) not in held_articles]


def groups_of(
    name: str,
    rows: Sequence[Row],
    pool_rows: Sequence[Row],
    negatives: int,
    rng: random.Random,
    embed: Embed | None,
) -> Iterator[Group]:
    if name in MULTI_HOP:
        yield from (_group(r, r.passages, rng) for r in rows)
    elif any(len(r.passages[0].text) > 20_000 for r in rows[:5]):
        yield from (_group(r, tuple(_sections(r.passages[0], rng)), rng) for r in rows)
    else:
        yield from _with_negatives(rows, pool_rows, negatives, rng, embed)


def _with_negatives(
    rows: Sequence[Row], pool_rows: Sequence[Row], count: int, rng: random.Random, embed: Embed | None
) -> Iterator[Group]:
    pool: dict[str, Passage] = {}
    for row in pool_rows:
        for passage in row.passages:
            pool.setdefault(normalise(passage.text), passage)
    texts = list(pool)
    index_of = {t: i for i, t in enumerate(texts)}
    passages = list(pool.values())
    bm25 = BM25([f"{p.title or ''} {p.text}" for p in passages])
    vectors = questions = None
    if embed is not None:
        vectors = embed([f"{p.title or ''} {p.text}" for p in passages])
        questions = embed([r.question for r in rows])
    for number, row in enumerate(rows):
        gold = [p for p in row.passages if p.evidence]
        rankings = [bm25.scores(row.question)]
        if vectors is not None and questions is not None:
            rankings.append(vectors @ questions[number])
        own = {index_of[normalise(p.text)] for p in gold}
        chosen = hard_negatives(rankings, texts, row.answers, own, count)
        others = [Passage(passages[i].title, passages[i].text, False, ()) for i in chosen]
        yield _group(row, (*gold, *others), rng)


def _sections(
    passage: Passage, rng: random.Random, size: int = 1200, negatives: int = 5
) -> Iterable[Passage]:
    """Pieces of a long document: those that hold evidence, and a few others."""
    pieces: list[Passage] = []
    start = 0
    while start < len(passage.text):
        end = passage.text.rfind("\n", start + 1, start + size) + 1 or min(start + size, len(passage.text))
        inside = tuple(
            (max(a, start) - start, min(b, end) - start)
            for a, b in passage.evidence or ()
            if a < end and b > start
        )
        pieces.append(Passage(None, passage.text[start:end], bool(inside), inside))
        start = end
    gold = [p for p in pieces if p.evidence]
    others = [p for p in pieces if not p.evidence]
    return rng.sample(gold, min(4, len(gold))) + rng.sample(others, min(negatives, len(others)))


def _group(row: Row, passages: Sequence[Passage], rng: random.Random) -> Group:
    documents = [d for d in map(label, passages) if d.units]
    rng.shuffle(documents)
    return Group(row.id, row.source, row.question, list(row.answers), documents)


def label(passage: Passage) -> GroupDocument:
    """Split a passage; a sentence is positive when it and an evidence range share half of the shorter one."""
    units = [(u.start, u.end) for u in split_units(passage.text)]
    labels = [int(any(_shares(u, e) for e in passage.evidence or ())) for u in units]
    gold = -1 if passage.evidence is None and passage.gold is None else int(bool(passage.evidence))
    return GroupDocument(passage.title, passage.text, units, labels, gold)


def _shares(unit: tuple[int, int], evidence: tuple[int, int]) -> bool:
    overlap = min(unit[1], evidence[1]) - max(unit[0], evidence[0])
    return overlap > 0 and 2 * overlap >= min(unit[1] - unit[0], evidence[1] - evidence[0])
