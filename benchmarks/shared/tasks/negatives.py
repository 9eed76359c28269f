"""Hard negatives for sets that label one passage per question: the question's nearest other passages.

Random negatives make retrieval trivial. Neighbours are taken in turn from the BM25 ranking and the MiniLM
ranking of all distinct passages of the split, so that they favour neither control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.minilm import embed_cached
from benchmarks.shared.passages import join_title
from tersely.metrics import contains_answer
from tersely.score.bm25 import BM25

Neighbours = Literal["mixed", "bm25"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One distinct passage of a split."""

    title: str | None
    text: str

    @property
    def full_text(self) -> str:
        """Title and text."""
        return join_title(self.title, self.text)


class PassagePool:
    """The distinct passages of a split, and the ranking of them for a list of questions.

    `neighbours="bm25"` ranks without MiniLM, in case its weights are not installed. `advance` gets the
    number of texts of each batch that MiniLM embeds.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        questions: Sequence[str],
        neighbours: Neighbours,
        advance: Callable[[int], object] | None = None,
    ) -> None:
        self.passages = passages
        self._questions = questions
        texts = [passage.full_text for passage in passages]
        self._bm25 = BM25(texts, only="\n".join(questions))
        self._vectors = None
        if neighbours == "mixed":
            self._vectors = (embed_cached(questions, advance), embed_cached(texts, advance))

    def negatives(self, question: int, answers: Sequence[str], left_out: set[str], count: int) -> list[int]:
        """Return up to `count` passages nearest to question number `question`, nearest first.

        Passages with a text in `left_out`, or that hold one of `answers`, are left out.
        """
        chosen: list[int] = []
        for index in self.rank(question):
            if len(chosen) == count:
                break
            passage = self.passages[index]
            if passage.text not in left_out and not contains_answer(passage.full_text, answers):
                chosen.append(index)
        return chosen

    def rank(self, question: int) -> Iterator[int]:
        """Yield all passages, the nearest to question number `question` first."""
        rankings = [_sort_descending(self._bm25.scores(self._questions[question]))]
        if self._vectors:
            questions, passages = self._vectors
            rankings.append(_sort_descending(passages @ questions[question]))
        seen: set[int] = set()
        for candidates in zip(*rankings, strict=True):
            for index in map(int, candidates):
                if index not in seen:
                    seen.add(index)
                    yield index


def _sort_descending(scores: NDArray[Any]) -> NDArray[np.int64]:
    return np.argsort(-scores, kind="stable")
