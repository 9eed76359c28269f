"""Shorter texts, chosen by words: the model would take longer than a tool call may wait."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tersely import Compressor
from tersely.score.bm25 import BM25
from tersely.score.protocol import DocumentScores, ScoredInput
from tersely.tokens import ApproximateCounter
from tersely_agents.memory.shortening import Shortener
from tersely_hook.store import Originals, shell_command

OVER = 3_000
"""Number of tokens above which a text is shortened."""
KEEP = 2_000
"""Largest number of tokens of a shortened text."""


class WordScorer:
    """A scorer of prose by BM25. The compressor itself scores records, code and logs by words and errors."""

    threshold = 0.5
    length_price = 0.0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        return [self._score(query, document) for document in documents]

    def _score(self, query: str, document: ScoredInput) -> DocumentScores:
        texts = [document.text[unit.start : unit.end] for unit in document.units]
        matches = BM25(texts, only=query).scores(query)
        scores = matches / (1.0 + matches)
        return DocumentScores(float(scores.max(initial=0.0)), scores)


class _RecentCounter(ApproximateCounter):
    """A counter that remembers its counts, because the hook, its shortener and the compressor count the same
    text."""

    def __init__(self) -> None:
        self._count = lru_cache(maxsize=4)(super().count)

    def count(self, text: str) -> int:
        return self._count(text)


class ShorterText(NamedTuple):
    """A text after shortening."""

    text: str
    tokens_before: int
    tokens_after: int
    best_fits: bool
    """True if the part with the highest score fits into `KEEP` tokens."""


class TextShortener:
    """A shortener of long texts that keeps their originals. Threads may share it."""

    def __init__(self, originals: Originals) -> None:
        self._originals = originals
        self._compressor = Compressor(WordScorer(), token_counter=_RecentCounter())
        self.count = self._compressor.count_tokens

    def shorten(self, text: str, query: str | None, note: str = "") -> ShorterText | None:
        """Return the parts that the query needs of a text of more than `OVER` tokens; None for others.

        The first line names the id of the original, and the last one the command that prints it, after the
        `note`. Raises OSError if the original cannot be kept.
        """
        # No counter gives a text more tokens than bytes, so short texts need not be counted.
        if len(text) * 4 <= OVER or (before := self.count(text)) <= OVER:
            return None
        shortener = Shortener(self._compressor, self.count)
        (short,), originals, result = shortener.shorten_texts([text], KEEP, query)
        if not originals:
            return None
        ((key, original),) = originals
        self._originals.keep(key, original)
        best_fits = result is None or result.best_fits is not False
        if not best_fits:
            note += "The part with the highest score is too large and is not here; "
        short += f"\n[{note}{shell_command(key)} prints the whole text]"
        return ShorterText(short, before, self.count(short), best_fits)
