"""Questions with labelled documents, read from rows, and the choice of held-out articles."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.shared.tasks.rows import locate, read_rows
from tersely.metrics import Range, contains_answer
from tersely.split.sentences import split_units
from training.selector_model.config import Labels

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """A document and its support spans, in code points."""

    title: str | None
    text: str
    support: tuple[Range, ...]
    gold: bool = False
    """True if the document is needed although no span is labelled. Then the needed sentences are unknown."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    answers: tuple[str, ...]
    documents: tuple[LabelledDocument, ...]
    matched: bool = False
    """True if the labels are matches of the answers, because the row has no labels."""

    @property
    def articles(self) -> tuple[str, ...]:
        """Articles that the question is about. No article may be both trained on and held out. If the labels
        are matches, only the first document with an answer counts, because the others may mention it by
        chance."""
        gold = [d for d in self.documents if d.support or d.gold]
        gold = gold[:1] if self.matched else gold
        return tuple((d.title or d.text[:80]).split(" §")[0].lower() for d in gold)

    @property
    def passage(self) -> LabelledDocument:
        """The first document with a labelled span."""
        return next(d for d in self.documents if d.support)

    @property
    def is_labelled(self) -> bool:
        """True if a span is labelled."""
        return any(d.support for d in self.documents)

    @property
    def is_usable(self) -> bool:
        """True if a model can learn something from it."""
        return bool(self.text) and any(d.support or d.gold for d in self.documents)


def read_questions(data: Path, name: str, labels: Labels) -> list[Question]:
    """Read the training questions of a set. With string labels, the sentences of a question without any label
    are needed if they hold an answer.

    Raises ValueError, which names the file and the line, for a row that cannot be read, and if nothing can be
    learned from any row.
    """
    path = data / "train" / f"{name}.jsonl.gz"
    rows = enumerate(read_rows(data, "train", name), 1)
    questions = [parse_question(row, labels, f"{path}, line {number}") for number, row in rows]
    unusable = {line: q for line, q in enumerate(questions, 1) if not q.is_usable}
    if unusable or not questions:
        lines = [f"line {line}: {_explain(question, labels)}" for line, question in unusable.items()]
        summary = "\n".join(
            [f"{path}: nothing can be learned from {len(lines)} of {len(questions)} questions.", *lines[:3]]
        )
        if len(unusable) == len(questions):
            raise ValueError(summary)
        print(summary)
    return questions


def parse_question(row: dict[str, Any], labels: Labels = "support", where: str = "the row") -> Question:
    """Read a question from a row of a data folder. A question's only document is needed, labelled or not.

    Raises ValueError, which names `where`, for a missing key or a wrong type.
    """
    documents = row.get("docs")
    if not isinstance(row.get("question"), str) or "id" not in row:
        raise ValueError(f'{where}: expected "id" and "question": string.')
    if not isinstance(documents, list) or not all(
        isinstance(d, dict) and isinstance(d.get("text"), str) for d in documents
    ):
        raise ValueError(f'{where}: expected "docs": [{{"title": string or null, "text": string}}, ...].')
    answers = tuple(read_answers(row.get("answers"), where))
    only = len(documents) == 1
    parsed = tuple(_parse_document(d, answers, only) for d in documents)
    question = Question(str(row["id"]), row["question"].strip(), answers, parsed)
    if labels == "support" or any(d.support or d.gold for d in parsed):
        return question
    found = tuple(replace(d, support=tuple(find_evidence(d.text, None, answers))) for d in parsed)
    return replace(question, documents=found, matched=True)


def read_answers(value: object, where: str) -> list[str]:
    """Return the answers of a question. Raises ValueError, which names `where`, unless they are a list of
    strings."""
    if not isinstance(value, list) or not all(isinstance(answer, str) for answer in value):
        raise ValueError(f'{where}: expected "answers": [string, ...].')
    return value


def split_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def split_by_article(
    questions: Sequence[Question], count: int, share: float = 0.0
) -> tuple[list[Question], list[Question]]:
    """Split questions by their first article into those to hold out, at most `count` of them first, and the
    others.

    As many articles are held out as `count` questions need, and then a `share` of all articles, drawn by
    name.
    """
    firsts = [question.articles[0] for question in questions]
    sizes = Counter(firsts)
    articles: set[str] = set()
    held = 0
    for name in sorted(sizes, key=_hash):
        if held < count and held + sizes[name] <= count * 1.5 + 5:
            articles.add(name)
            held += sizes[name]
    more = {name for name in sizes if int(_hash(name)[:8], 16) < share * 2**32} - articles
    pairs = list(zip(questions, firsts, strict=True))
    inside = [q for q, first in pairs if first in articles][:count]
    return (
        inside + [q for q, first in pairs if first in more],
        [q for q, first in pairs if first not in articles and first not in more],
    )


def _hash(article: str) -> str:
    return hashlib.sha256(article.encode()).hexdigest()


def _parse_document(document: dict[str, Any], answers: Sequence[str], only: bool) -> LabelledDocument:
    text = document["text"]
    ranges: set[Range] = {(a, b) for a, b in document.get("spans") or ()}
    if document.get("support") and document.get("sentences"):
        located = locate(text, document["sentences"])
        ranges |= {at for i in document["support"] if (at := located[i]) is not None}
    gold = bool(document.get("gold")) or (only and document.get("gold") is not False)
    if not ranges and gold and document.get("support") is None:
        ranges = set(find_evidence(text, document.get("sentences"), answers))
    title = document.get("title")
    title = title.replace("_", " ") if title else None
    return LabelledDocument(title, text, tuple(sorted(ranges)), gold)


def _explain(question: Question, labels: Labels) -> str:
    """Return the reason why a question cannot be used."""
    if not question.text or not question.documents:
        return f'"{"docs" if question.text else "question"}" is empty'
    if labels == "support":
        return (
            'no document has "spans", "support" or "gold": add them, or set labels = "string" in [data],'
            " which needs only answers"
        )
    return (
        "no document holds one of its answers" if question.answers else 'it has neither labels nor "answers"'
    )


def find_evidence(text: str, sentences: Sequence[str] | None, answers: Sequence[str]) -> list[Range]:
    """Return the sentences with an answer in a needed document without labels, or its only sentence."""
    units = [(u.start, u.end) for u in split_units(text)]
    if sentences is not None and len(sentences) == 1:
        return [(0, len(text))]
    return [(a, b) for a, b in units if contains_answer(text[a:b], answers)]
