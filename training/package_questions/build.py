"""Rows of a data folder: each question with the passages that hold its evidence, and hard negatives."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.shared.tasks.negatives import Neighbours, Passage, PassagePool
from tersely.metrics import Range, contains_answer
from tersely.score.words import FILLER_WORDS, split_terms
from training.package_questions.passages import TextPassage, split_text
from training.package_questions.texts import PackageQuestion, UnusableTextError, read_text

FEW = 0.3
"""Largest share of a paraphrased question's content words that are in the evidence."""

_STEM = 5
"""Number of letters of a word that count, so that "locks" and "locked" are the same."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage that may be a negative."""

    package: str
    title: str
    split: str | None
    """Split of the questions around it; None between two splits."""
    passage: TextPassage


class Corpus:
    """The files of the questions, cut into passages.

    neighbours: ranking of the negatives, by BM25 and MiniLM in turn or by BM25 alone.
    """

    def __init__(
        self, packages: Path, questions: Sequence[PackageQuestion], neighbours: Neighbours = "mixed"
    ) -> None:
        self.problems: list[str] = []
        """Texts that cannot be used, each named once."""
        self.questions: list[PackageQuestion] = []
        """The questions with a usable text."""
        self._texts: dict[str, str] = {}
        self._candidates: list[_Candidate] = []
        self._places: dict[str, range] = {}
        """Numbers of the passages of each file."""
        by_file: defaultdict[str, list[PackageQuestion]] = defaultdict(list)
        for question in questions:
            by_file[question.path].append(question)
        for of_file in by_file.values():
            try:
                self._add_file(packages, of_file)
            except UnusableTextError as error:
                self.problems += [str(error)] if str(error) not in self.problems else []
        self._numbers = {question.id: number for number, question in enumerate(self.questions)}
        passages = [Passage(c.title, c.passage.text) for c in self._candidates]
        self._pool = PassagePool(passages, [q.question for q in self.questions], neighbours)

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
        spans = {
            i: self._candidates[i].passage.find_spans(question.evidence) for i in self._find_gold(question)
        }
        chosen = [*spans, *self._find_negatives(question, negatives)]
        docs = [self._make_doc(place, spans.get(place, [])) for place in chosen]
        return {
            "id": question.id,
            "question": question.question,
            "answers": [question.answer],
            "docs": docs,
            "split": question.split,
            "source": "package_questions",
            "meta": {key: getattr(question, key) for key in ("kind", "package", "version", "origin", "file")},
        }

    def _add_file(self, packages: Path, questions: Sequence[PackageQuestion]) -> None:
        first = questions[0]
        text = self._texts[first.path] = read_text(packages, first)
        passages = split_text(text, marks_headings=not first.file.endswith((".html", ".py")))
        evidence = sorted((a, q.split) for q in questions for a, _ in q.evidence)
        self._places[first.path] = range(self.size, self.size + len(passages))
        # Training takes what comes before " §" for the article, and holds out whole articles.
        file = f"{first.package} {Path(first.file).name.removesuffix('.gz')}"
        for passage in passages:
            title = f"{file} § {passage.heading}" if passage.heading else file
            self._candidates.append(_Candidate(first.package, title, _find_split(passage, evidence), passage))
        self.questions += questions

    def _find_gold(self, question: PackageQuestion) -> list[int]:
        places = self._places[question.path]
        return [i for i in places if self._candidates[i].passage.find_spans(question.evidence)]

    def _find_negatives(self, question: PackageQuestion, count: int) -> list[int]:
        """Return the passages of the question's split that are nearest, those of its package first.

        As in other sets, passages that contain the answer as a string are left out.
        """
        ranked = list(self._pool.rank(self._numbers[question.id]))
        ranked.sort(key=lambda place: self._candidates[place].package != question.package)
        seen = {self._candidates[place].passage.text for place in self._find_gold(question)}
        chosen: list[int] = []
        for place in ranked:
            if len(chosen) == count:
                break
            candidate, text = self._candidates[place], self._candidates[place].passage.text
            if candidate.split != question.split or text in seen or contains_answer(text, [question.answer]):
                continue
            chosen.append(place)
            seen.add(text)
        return chosen

    def _make_doc(self, place: int, spans: Sequence[Range]) -> dict[str, Any]:
        candidate = self._candidates[place]
        text = candidate.passage.text
        return {
            "title": candidate.title,
            "text": text,
            "gold": bool(spans),
            "sentences": [text[start:end] for start, end in spans],
            "support": list(range(len(spans))),
        }


def make_request(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as `tersely calibrate` and `training.adapt` take it."""
    return {
        "query": row["question"],
        "documents": [{"title": doc["title"], "text": doc["text"]} for doc in row["docs"]],
        "answers": row["answers"],
        "evidence": [doc["sentences"][at] for doc in row["docs"] for at in doc["support"]],
    }


def render_table(corpus: Corpus) -> str:
    """Return a table of the questions by package, kind and split, with the share of paraphrased ones."""
    counts: Counter[str] = Counter()
    paraphrased: Counter[str] = Counter()
    for q in corpus.questions:
        keys = (f"package {q.package}", f"kind {q.kind}", f"split {q.split}", "all")
        counts.update(keys)
        paraphrased.update(keys if corpus.share_words(q) <= FEW else ())
    lines = [f"{'':30} {'questions':>9}  share at most {FEW:g} of their words with the evidence"]
    lines += [f"{key:30} {counts[key]:>9}  {paraphrased[key] / counts[key]:.0%}" for key in sorted(counts)]
    return "\n".join(lines)


def _find_split(passage: TextPassage, evidence: Sequence[tuple[int, str]]) -> str | None:
    """Return the split of the evidence around a passage, or None if it differs.

    Chapters of a few long files are in different splits, and negatives must not cross them.
    """
    before = [split for start, split in evidence if start < passage.start][-1:]
    inside = [split for start, split in evidence if passage.start <= start < passage.end]
    after = [split for start, split in evidence if start >= passage.end][:1]
    splits = {*before, *inside, *after}
    return splits.pop() if len(splits) == 1 else None


def _list_content_words(text: str) -> set[str]:
    return {word[:_STEM] for word in split_terms(text) if not FILLER_WORDS.fullmatch(word)}
