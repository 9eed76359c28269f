"""Questions with exact answers over results of tools, checked against the results as they are today.

A set holds the evidence of each question as places in its result, (start, end, CRC-32 of the text there), and
no text of a package.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.real_results.workbench import open_workbench

_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
FOLDER = Path(__file__).parent
SETS = ("evaluation", "development", "training")
"""Splitting was designed with the set "development". The set "training" is for training, and measures
nothing. No set has a result of another."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a result, and the text that shows that its answer is kept."""

    id: str
    kind: str
    source: str
    question: str
    answers: tuple[str, ...]
    """Texts that each answer the question."""
    evidence: tuple[str, ...]
    """Lines of the result, or parts of them. A reader needs all."""
    text: str
    """The whole result."""

    def is_answered(self, text: str) -> bool:
        """Return whether a shortened result has an answer and all of the evidence.

        Tags of web pages and white space do not count.
        """
        kept = self._read(text)
        return any(self._read(answer) in kept for answer in self.answers) and all(
            self._read(line) in kept for line in self.evidence
        )

    def _read(self, text: str) -> str:
        """Return the visible part of a text, as a reader sees it."""
        return " ".join((_TAG.sub(" ", text) if self.kind == "markup" else text).split())


@dataclass(frozen=True, slots=True)
class Loaded:
    """The questions that can be asked, and the ids of those that cannot because their answer is gone."""

    questions: tuple[Question, ...]
    dropped: tuple[str, ...] = ()


def load(set_name: str, python: Path, limit: int | None = None, seed: int = 0) -> Loaded:
    """Make the results of a set with a Python's packages, and return its questions in order.

    Args:
        limit: number of questions drawn with `seed`; None takes all. Only their results are made.
    """
    folder = FOLDER / set_name
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    if limit is not None and limit < len(lines):
        lines = [lines[at] for at in sorted(Random(seed).sample(range(len(lines)), limit))]
    rows = [json.loads(line) for line in lines]
    bench = open_workbench(python)
    texts = {name: bench.make_result(folder, name) for name in dict.fromkeys(row["source"] for row in rows)}
    questions: list[Question] = []
    dropped: list[str] = []
    for row in rows:
        text = texts[row["source"]]
        question = Question(
            id=row["id"],
            kind=row["kind"],
            source=row["source"],
            question=row["question"],
            answers=tuple(row["answers"]),
            evidence=tuple(text[start:end] for start, end, _ in row["evidence"]),
            text=text,
        )
        checksums = [zlib.crc32(line.encode()) for line in question.evidence]
        is_known = checksums == [checksum for _, _, checksum in row["evidence"]]
        if is_known and question.is_answered(text):
            questions.append(question)
        else:
            dropped.append(question.id)
    return Loaded(tuple(questions), tuple(dropped))
