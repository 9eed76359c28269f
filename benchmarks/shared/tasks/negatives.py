"""Hard negatives for sets that label one passage per question: the question's nearest other passages.

Random negatives make retrieval trivial. The neighbours here are taken in turn from the BM25 ranking and from
the MiniLM ranking of all distinct passages of the split, so that neither control is singled out, and leave
out every passage in which an answer occurs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tersely.metrics import contains_answer
from tersely.text.bm25 import BM25

Neighbours = Literal["mixed", "bm25"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One distinct passage of a split."""

    title: str | None
    text: str

    @property
    def titled(self) -> str:
        return f"{self.title}. {self.text}" if self.title else self.text


class PassagePool:
    """The distinct passages of a split, and the ranking of them for a list of questions.

    `neighbours="bm25"` ranks without MiniLM, for places where its weights are not installed.
    """

    def __init__(self, passages: Sequence[Passage], questions: Sequence[str], neighbours: Neighbours) -> None:
        self.passages = passages
        self._questions = questions
        texts = [passage.titled for passage in passages]
        self._bm25 = BM25(texts)
        self._vectors = None
        if neighbours == "mixed":
            from benchmarks.shared.minilm import cached_embeddings

            self._vectors = (cached_embeddings(questions), cached_embeddings(texts))

    def negatives(self, question: int, answers: Sequence[str], own: set[str], count: int) -> list[int]:
        """Up to `count` passages nearest to question number `question`, nearest first.

        Passages whose text is in `own`, or that hold one of `answers`, are passed over.
        """
        chosen: list[int] = []
        for index in self._ranked(question):
            if len(chosen) == count:
                break
            passage = self.passages[index]
            if passage.text not in own and not contains_answer(passage.titled, answers):
                chosen.append(index)
        return chosen

    def _ranked(self, question: int) -> Iterator[int]:
        rankings = [_descending(self._bm25.scores(self._questions[question]))]
        if self._vectors:
            questions, passages = self._vectors
            rankings.append(_descending(passages @ questions[question]))
        seen: set[int] = set()
        for candidates in zip(*rankings, strict=True):
            for index in map(int, candidates):
                if index not in seen:
                    seen.add(index)
                    yield index


def _descending(scores: np.ndarray) -> np.ndarray:
    return np.argsort(-scores, kind="stable")
