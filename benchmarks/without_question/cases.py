"""Documents that nobody has asked about, with summaries of them or later questions.

A case has reference summaries, or questions that are asked after the compression. The sets are evaluation
sets: the settings of tersely were chosen on others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.shared.tasks.rows import Row, read_rows
from tersely import Document
from tersely.metrics import contains_answer

PARAGRAPHS = 20
"""Number of paragraphs of a SQuAD article that are compressed together."""

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w’'-]+")
_SUFFIX = re.compile(r"(?<=[a-z]{3})(?:ies|es|s|ed|ing|ly)$")
_LITTLE = re.compile(
    r"""a|about|after|all|also|an|and|any|are|as|at|be|been|but|by|can|could|did|do|for|from|had|has|have|he|her
    |him|his|how|i|if|in|into|is|it|its|more|no|not|of|on|or|our|she|so|some|such|than|that|the|their|them|then
    |there|they|this|to|up|was|we|were|what|when|which|while|who|will|with|would|you""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a text, as far as strings can tell."""

    words: frozenset[str]
    """Stems of its words, without function words."""
    pairs: frozenset[tuple[str, str]]
    """Pairs of neighbouring stems."""
    named: frozenset[str]
    """Names that do not open a sentence, and numbers."""


@dataclass(frozen=True, slots=True)
class OpenCase:
    """Documents, and the summaries or questions that are checked after their compression."""

    id: str
    documents: tuple[Document, ...]
    references: tuple[str, ...] = ()
    questions: tuple[tuple[str, ...], ...] = ()
    """The answers to each later question."""

    def measure(self, text: str) -> dict[str, float]:
        """Return the shares of the summaries or answers that a text holds, by measure."""
        if self.questions:
            return {"answers": _mean([float(contains_answer(text, answers)) for answers in self.questions])}
        held, lower = find_content(text), set(_WORD.findall(text.lower())) | set(_NUMBER.findall(text))
        wanted = [find_content(reference) for reference in self.references]
        named = [len(w.named & lower) / len(w.named) for w in wanted if w.named]
        return {
            "words": _mean([len(w.words & held.words) / len(w.words) for w in wanted]),
            "pairs": _mean([len(w.pairs & held.pairs) / max(1, len(w.pairs)) for w in wanted]),
            **({"named": _mean(named)} if named else {}),
        }


def find_content(text: str) -> Content:
    """Return the content of a text."""
    words = [word for word in _WORD.findall(text.lower()) if not _LITTLE.fullmatch(word)]
    stems = [_SUFFIX.sub("", word) for word in words]
    named = {name.lower() for name in _NAME.findall(text)} | set(_NUMBER.findall(text))
    return Content(frozenset(stems), frozenset(pairwise(stems)), frozenset(named))


def load_cases(name: str, folder: Path, limit: int) -> list[OpenCase]:
    """Return the first `limit` cases of a set, in the file's order."""
    return LOADERS[name](folder)[:limit]


def _load_news(folder: Path) -> list[OpenCase]:
    return [_summarized(row) for row in read_rows(folder, "eval", "longbench_multinews")]


def _load_meetings(folder: Path) -> list[OpenCase]:
    rows = read_rows(folder, "eval", "qmsum")
    return [_summarized(row) for row in rows if row["meta"]["kind"] == "general"]


def _load_stories(folder: Path) -> list[OpenCase]:
    rows = read_rows(folder, "eval", "squality")
    return [_summarized(row) for row in rows if "plot" in row["question"].lower()]


def _load_articles(folder: Path) -> list[OpenCase]:
    articles: defaultdict[str, defaultdict[str, list[tuple[str, ...]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in read_rows(folder, "eval", "squad_dev"):
        (paragraph,) = row["docs"]
        articles[paragraph["title"]][paragraph["text"]].append(tuple(row["answers"]))
    cases: list[OpenCase] = []
    for title, paragraphs in articles.items():
        texts = list(paragraphs)[:PARAGRAPHS]
        questions = tuple(answers for text in texts for answers in paragraphs[text])
        cases.append(OpenCase(title, tuple(map(Document, texts)), questions=questions))
    return cases


LOADERS = {
    "news": _load_news,
    "meetings": _load_meetings,
    "stories": _load_stories,
    "articles": _load_articles,
}
TITLES = {
    "news": "Multi-News, reference summaries",
    "meetings": "QMSum, summaries of whole meetings",
    "stories": "SQuALITY, four summaries of each plot",
    "articles": f"SQuAD, {PARAGRAPHS} paragraphs of an article, questions asked afterwards",
}
SIZES = {"news": 100, "meetings": 20, "stories": 25, "articles": 48}
"""Cases of a run."""


def _summarized(row: Row) -> OpenCase:
    # The set marks line breaks by a word.
    texts = [doc["text"].replace(" NEWLINE_CHAR ", "\n").replace("NEWLINE_CHAR", "\n") for doc in row["docs"]]
    return OpenCase(row["id"], tuple(Document(text) for text in texts if text.strip()), tuple(row["answers"]))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
