"""Words to token ids and back: the tasks here are written in words, the tiny policy reads ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

STOP = "."
"""The word that ends a reply."""


class Words:
    """A vocabulary. Raises ValueError for a word that stands in it twice."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words: Sequence[str] = (STOP, *words)
        self._ids = {word: index for index, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            raise ValueError("A word stands twice in the vocabulary.")
        self.stop = self._ids[STOP]

    def encode(self, text: str) -> list[int]:
        """The ids of words with spaces between them. Raises KeyError for an unknown word."""
        return [self._ids[word] for word in text.split()]

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(self.words[index] for index in ids)
