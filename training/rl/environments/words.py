"""Words to token ids and back: these tasks use words, and the tiny policy reads ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

STOP = "."
"""The word that ends a reply."""


class Words:
    """A vocabulary. Raises ValueError for a repeated word."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words: Sequence[str] = (STOP, *words)
        self._ids = {word: index for index, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            raise ValueError("A word occurs twice in the vocabulary.")
        self.stop = self._ids[STOP]

    def encode(self, text: str) -> list[int]:
        """Return the ids of words separated by spaces. Raises KeyError for an unknown word."""
        return [self._ids[word] for word in text.split()]

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(self.words[index] for index in ids)
