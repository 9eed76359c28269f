"""The data sets: files of each split, documents, and the number of questions that a benchmark reads."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from benchmarks.shared.tasks.example import Example, KeptSpan, SourceDocument
from benchmarks.shared.tasks.negatives import Neighbours, Passage, PassagePool
from benchmarks.shared.tasks.rows import Row, find_data_folder, locate, read_rows
from tersely.errors import InvalidInputError
from tersely.metrics import contains_answer

Split = Literal["train", "eval"]

XQUAD_LANGUAGES = ("en", "de", "zh", "ar", "el", "es", "hi", "ro", "ru", "th", "tr", "vi")

DRAWN_FROM = ("de", "zh")
"""XQuAD's questions are drawn from those that both have: a language in English's script, and one without
spaces in another."""


@dataclass(frozen=True, slots=True)
class Task:
    """One data set: its files and documents."""

    name: str
    title: str
    """Name in tables."""
    sources: Mapping[str, str]
    """File name in the data folder for each split; a set need not have both."""
    negatives: int = 0
    """Hard-negative documents added to each question's own."""
    sample: int | None = None
    """Number of questions drawn for a benchmark run; None reads all."""
    keep: Callable[[Row], bool] = lambda row: True
    """Rows that belong to the task."""
    language: str | None = None
    """XQuAD's language code; None for every other set."""

    def load(
        self,
        split: Split,
        *,
        data: str | Path | None = None,
        limit: int | None = None,
        seed: int = 13,
        neighbours: Neighbours = "mixed",
    ) -> list[Example]:
        """Load the examples of `split`, in the file's order, or `limit` of them drawn by `seed`.

        Documents are shuffled by `seed` and the example's id. Raises InvalidInputError if the data folder or
        the split does not exist.
        """
        if split not in self.sources:
            raise InvalidInputError(
                f"task {self.name} has no {split} split, only {', '.join(sorted(self.sources))}"
            )
        folder = find_data_folder(data)
        if self.language:
            return _load_parallel(self, folder, split, limit, seed, neighbours)
        rows = [row for row in read_rows(folder, split, self.sources[split]) if self.keep(row)]
        drawn = _draw(rows, limit, seed)
        if not self.negatives:
            return [_make_example(row, (), seed) for row in drawn]
        pool = PassagePool(_list_passages(rows), [row["question"] for row in drawn], neighbours)
        return [
            _make_example(row, _find_negatives(pool, i, row, self.negatives), seed)
            for i, row in enumerate(drawn)
        ]


def load(
    name: str,
    split: Split,
    *,
    data: str | Path | None = None,
    limit: int | None = None,
    seed: int = 13,
    negatives: int | None = None,
    neighbours: Neighbours = "mixed",
) -> list[Example]:
    """Load the task `name`; `negatives` replaces its number of hard-negative documents."""
    if name not in TASKS:
        raise InvalidInputError(f"no task is called {name}; there are {', '.join(TASKS)}")
    task = TASKS[name] if negatives is None else replace(TASKS[name], negatives=negatives)
    return task.load(split, data=data, limit=limit, seed=seed, neighbours=neighbours)


def load_findable(
    name: str, split: Split, *, data: str | Path | None, limit: int, seed: int
) -> list[Example]:
    """Return the first `limit` examples with an answer in some document, of a draw a quarter larger."""
    drawn = load(name, split, data=data, seed=seed, limit=limit * 5 // 4)
    return [e for e in drawn if e.findable][:limit]


def _draw(rows: list[Row], limit: int | None, seed: int) -> list[Row]:
    if limit is None or limit >= len(rows):
        return rows
    return [rows[i] for i in sorted(random.Random(seed).sample(range(len(rows)), limit))]


def _list_passages(rows: Sequence[Row]) -> list[Passage]:
    by_text = {doc["text"]: Passage(doc.get("title"), doc["text"]) for row in rows for doc in row["docs"]}
    return list(by_text.values())


def _find_negatives(pool: PassagePool, question: int, row: Row, count: int) -> list[Passage]:
    texts = {doc["text"] for doc in row["docs"]}
    return [pool.passages[i] for i in pool.negatives(question, row["answers"], texts, count)]


def _make_example(row: Row, negatives: Sequence[Passage], seed: int) -> Example:
    documents = [
        SourceDocument(_clean_title(doc.get("title")), doc["text"], doc.get("gold")) for doc in row["docs"]
    ]
    documents += [SourceDocument(_clean_title(p.title), p.text, False) for p in negatives]
    order = list(range(len(documents)))
    random.Random(f"{seed}:{row['id'].split(':')[-1]}").shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    answers = tuple(row["answers"])
    return Example(
        id=row["id"],
        question=row["question"],
        answers=answers,
        documents=tuple(documents[old] for old in order),
        support=_locate_support(row, place),
        support_sets=_locate_sets(row),
        answer_spans=_locate_answers(row, place),
        findable=any(contains_answer(document.text, answers) for document in documents),
    )


def _clean_title(title: str | None) -> str | None:
    return title.replace("_", " ") if title else None


def _locate_support(row: Row, place: Mapping[int, int]) -> tuple[KeptSpan, ...] | None:
    labelled = [(i, doc) for i, doc in enumerate(row["docs"]) if doc.get("support") is not None]
    if not labelled:
        return None
    spans: list[KeptSpan] = []
    for index, doc in labelled:
        ranges = locate(doc["text"], doc["sentences"])
        sentences: list[int] = sorted(set(doc["support"]))
        for sentence in sentences:
            span = ranges[sentence]
            if span is None:
                raise InvalidInputError(
                    f"row {row['id']}: supporting sentence {sentence} is not in its document"
                )
            spans.append((place[index], *span))
    return tuple(sorted(spans))


def _locate_sets(row: Row) -> tuple[tuple[KeptSpan, ...], ...]:
    """Return the sets of sentences that are each enough, of a row with one document."""
    sets: list[list[int]] = row.get("meta", {}).get("sets") or []
    ranges = locate(row["docs"][0]["text"], row["docs"][0]["sentences"]) if any(sets) else []
    spans = [[ranges[at] for at in own] for own in sets]
    return tuple(tuple((0, *span) for span in own if span) for own in spans if own and all(own))


def _locate_answers(row: Row, place: Mapping[int, int]) -> tuple[KeptSpan, ...] | None:
    labelled = [(i, doc["spans"]) for i, doc in enumerate(row["docs"]) if doc.get("spans") is not None]
    if not labelled:
        return None
    spans: list[KeptSpan] = [(place[i], start, end) for i, ranges in labelled for start, end in ranges]
    return tuple(sorted(spans))


def _load_parallel(
    task: Task, folder: Path, split: Split, limit: int | None, seed: int, neighbours: Neighbours
) -> list[Example]:
    """Load XQuAD in one language, with the same questions and documents as in the others.

    A question that was not translated into this one is left out. The English rows are the rows of SQuAD dev
    that were translated. Neighbours are ranked in English and then taken in the task's language, so that the
    language is the only difference.
    """
    translated: dict[str, dict[str, Row]] = {}
    for row in read_rows(folder, split, "xquad_multilingual"):
        language, _, question = row["id"].partition(":")
        translated.setdefault(language, {})[question] = row
    parallel_rows = [translated[language] for language in DRAWN_FROM]
    english = [
        r for r in read_rows(folder, split, "squad_dev") if all(r["id"] in rows for rows in parallel_rows)
    ]
    local = {row["id"]: row for row in english} if task.language == "en" else translated[task.language or ""]

    passages = _list_passages(english)
    in_language = {
        row["docs"][0]["text"]: local[row["id"]]["docs"][0] for row in english if row["id"] in local
    }
    drawn = [row for row in _draw(english, limit, seed) if row["id"] in local]
    pool = PassagePool(passages, [row["question"] for row in drawn], neighbours)
    examples: list[Example] = []
    for i, row in enumerate(drawn):
        mine = local[row["id"]]
        text = mine["docs"][0]["text"]
        nearest = _find_negatives(pool, i, row, len(passages))
        parallel = [in_language[p.text] for p in nearest if p.text in in_language]
        others = [
            Passage(doc.get("title"), doc["text"])
            for doc in parallel
            if doc["text"] != text and not contains_answer(doc["text"], mine["answers"])
        ]
        examples.append(_make_example(mine, others[: task.negatives], seed))
    return examples


def _has_several_documents(row: Row) -> bool:
    return len(row["docs"]) >= 10


def _is_supported(row: Row) -> bool:
    return row["meta"]["label"] != "not_supported"


def _is_specific(row: Row) -> bool:
    return row["docs"][0].get("support") is not None


_QED = partial(Task, sources={"train": "qed_nq", "eval": "qed_nq"}, sample=200)
_XQUAD = partial(Task, sources={"eval": "xquad_multilingual"}, negatives=10, sample=100)

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "hotpotqa",
            "HotpotQA, 10 paragraphs",
            {"train": "hotpotqa", "eval": "hotpotqa"},
            keep=_has_several_documents,
        ),
        Task("twowiki", "2WikiMultihopQA, 10 paragraphs", {"train": "twowiki"}, keep=_has_several_documents),
        _QED("qed_nq_10", "Natural Questions (QED), 10 hard negatives", negatives=10),
        _QED("qed_nq_30", "Natural Questions (QED), 30 hard negatives", negatives=30),
        Task(
            "squad",
            "SQuAD, 10 hard negatives",
            {"train": "squad_train44", "eval": "squad_dev"},
            negatives=10,
            sample=200,
        ),
        Task(
            "wikiqa",
            "WikiQA, 10 hard negatives",
            {"train": "selqa", "eval": "wikiqa"},
            negatives=10,
            sample=200,
        ),
        Task(
            "packages",
            "Packages' documentation, 24 passages",
            {"train": "package_questions", "eval": "package_questions"},
            sample=200,
        ),
        Task(
            "wice",
            "WiCE, claims over a web page",
            {"eval": "wice"},
            sample=200,
            keep=_is_supported,
        ),
        Task(
            "qmsum",
            "QMSum, 10k-word meetings",
            {"train": "qmsum", "eval": "qmsum"},
            sample=30,
            keep=_is_specific,
        ),
        *(
            _XQUAD(f"xquad_{code}", f"XQuAD {code}, 10 hard negatives", language=code)
            for code in XQUAD_LANGUAGES
        ),
    )
}
