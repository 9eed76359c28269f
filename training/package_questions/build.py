"""Rows of a data folder: each question with the passages that hold its evidence, and hard negatives."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tersely.metrics import contains_answer
from tersely.score.bm25 import BM25
from tersely.score.words import FILLER_WORDS, split_terms
from training.package_questions.passages import TextPassage, split_text
from training.package_questions.texts import PackageQuestion, UnusableTextError, check_evidence, read_text

SOURCE = "package_questions"

FEW_SHARED = 0.3
"""A question with at most this share of its content words in the evidence counts as paraphrased."""

_STEM = 5
"""Letters of a word that count, so that "locks" and "locked" are the same."""

_WITHOUT_HEADINGS = (".html", ".py", ".js", ".ts")
"""Suffixes of files in which a line of marks is not a heading."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage of the corpus that may be a negative."""

    package: str
    path: str
    split: str | None
    """Split of the questions around it; None between two splits."""
    passage: TextPassage

    @property
    def title(self) -> str:
        """The file, which is an article for the training, and the heading."""
        return f"{self.path} § {self.passage.heading}" if self.passage.heading else self.path


class Corpus:
    """The files of the questions, cut into passages."""

    def __init__(self, packages: Path, questions: Sequence[PackageQuestion]) -> None:
        self.problems: list[str] = []
        """Texts that cannot be used, each named once."""
        self.questions: list[PackageQuestion] = []
        """The questions with a usable text, in order."""
        self._texts: dict[str, str] = {}
        self._candidates: list[_Candidate] = []
        self._places: dict[str, list[int]] = {}
        asked: defaultdict[str, list[PackageQuestion]] = defaultdict(list)
        for question in questions:
            try:
                if question.path not in self._texts:
                    self._texts[question.path] = read_text(packages, question)
                check_evidence(self._texts[question.path], question)
            except UnusableTextError as error:
                if str(error) not in self.problems:
                    self.problems.append(str(error))
            else:
                self.questions.append(question)
                asked[question.path].append(question)
        for path, of_file in asked.items():
            self._add_file(path, of_file)
        texts = [f"{c.title}\n{c.passage.text}" for c in self._candidates]
        self._bm25 = BM25(texts, only="\n".join(q.question for q in self.questions))

    @property
    def size(self) -> int:
        """Number of passages."""
        return len(self._candidates)

    def share_words(self, question: PackageQuestion) -> float:
        """Return the share of the question's content words that are in its evidence."""
        text = self._texts[question.path]
        evidence = _list_content_words(" ".join(text[a:b] for a, b in question.evidence))
        asked = _list_content_words(question.question)
        return len(asked & evidence) / max(1, len(asked))

    def make_row(self, question: PackageQuestion, negatives: int) -> dict[str, Any]:
        """Return the question's row: passages with evidence first, then the nearest others."""
        docs: list[dict[str, Any]] = []
        for place in self._places[question.path]:
            spans = self._candidates[place].passage.find_spans(question.evidence)
            if spans:
                docs.append(self._make_doc(place, spans))
        gold = {doc["text"] for doc in docs}
        docs += [self._make_doc(place, []) for place in self._find_negatives(question, gold, negatives)]
        meta = {key: getattr(question, key) for key in ("kind", "package", "version", "origin", "file")}
        return {
            "id": question.id,
            "question": question.question,
            "answers": [question.answer],
            "docs": docs,
            "split": question.split,
            "source": SOURCE,
            "meta": meta,
        }

    def _add_file(self, path: str, questions: Sequence[PackageQuestion]) -> None:
        text = self._texts[path]
        package = questions[0].package
        passages = split_text(text, marks_headings=not path.endswith(_WITHOUT_HEADINGS))
        places = sorted((a, q.split) for q in questions for a, _ in q.evidence)
        self._places[path] = list(range(self.size, self.size + len(passages)))
        for passage in passages:
            split = _find_split(passage, places)
            self._candidates.append(_Candidate(package, path, split, passage))

    def _find_negatives(self, question: PackageQuestion, seen: set[str], count: int) -> list[int]:
        """Return the passages of the question's split that score highest, those of its package first.

        A passage with the answer's words is left out, as in other sets; so is a copy of another passage.
        """
        scores = self._bm25.scores(question.question)
        order: list[int] = np.argsort(-scores, kind="stable").tolist()
        ranked = [place for place in order if scores[place] > 0]
        ranked.sort(key=lambda place: self._candidates[place].package != question.package)
        chosen: list[int] = []
        seen = set(seen)
        for place in ranked:
            if len(chosen) == count:
                break
            candidate = self._candidates[place]
            text = candidate.passage.text
            if (
                candidate.split == question.split
                and text not in seen
                and not contains_answer(text, [question.answer])
            ):
                chosen.append(place)
                seen.add(text)
        return chosen

    def _make_doc(self, place: int, spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
        candidate = self._candidates[place]
        return {
            "title": candidate.title,
            "text": candidate.passage.text,
            "gold": bool(spans),
            "spans": [list(span) for span in spans],
        }


def render_table(corpus: Corpus) -> str:
    """Return a table of the questions by package, kind and split, with the share of paraphrased ones."""
    counts: Counter[tuple[str, str]] = Counter()
    paraphrased: Counter[tuple[str, str]] = Counter()
    for question in corpus.questions:
        few = corpus.share_words(question) <= FEW_SHARED
        for group in ("package", "kind", "split"):
            key = (group, getattr(question, group))
            counts[key] += 1
            paraphrased[key] += few
        counts["all", ""] += 1
        paraphrased["all", ""] += few
    head = f"{'':30} {'questions':>9}  share at most {FEW_SHARED:g} of their words"
    return "\n".join([head, *_list_lines(counts, paraphrased)])


def _list_lines(counts: Counter[tuple[str, str]], paraphrased: Counter[tuple[str, str]]) -> Iterator[str]:
    for group in ("package", "kind", "split", "all"):
        for key in sorted(k for k in counts if k[0] == group):
            yield f"{' '.join(key):30} {counts[key]:>9}  {paraphrased[key] / counts[key]:.0%}"


def _find_split(passage: TextPassage, places: Sequence[tuple[int, str]]) -> str | None:
    """Return the split of the evidence around a passage; None if it differs.

    Chapters of a few long files are in different splits, and negatives must not cross them.
    """
    inside = {split for start, split in places if passage.start <= start < passage.end}
    before = [split for start, split in places if start < passage.start][-1:]
    after = [split for start, split in places if start >= passage.end][:1]
    splits = {*inside, *before, *after}
    return splits.pop() if len(splits) == 1 else None


def _list_content_words(text: str) -> set[str]:
    return {word[:_STEM] for word in split_terms(text) if not FILLER_WORDS.fullmatch(word)}
