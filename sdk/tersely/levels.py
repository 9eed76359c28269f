"""The five levels of detail of ZipRL: the more a text has to do with the question, the more of it is kept.

Characters are the paper's (appendix J.2). It leaves the bounds on words and sentences open. Here they follow
from the characters, so that no text of ordinary prose that keeps to the one is punished by the other: words
of 5 to 7 characters with their space, at least the 20 below which appendix G.3 sees a fragment, and sentences
of 60 characters or more. The longest level thus ends at 1,200 words, where appendix G.3 sees rambling.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """What a compression of this level looks like. All bounds are inclusive."""

    number: int
    name: str
    relevance: float
    """Lowest relevance of a text that deserves the level, in [0, 1]."""
    characters: tuple[int, int]
    words: tuple[int, int]
    sentences: int
    """Most sentences."""


LEVELS = (
    Level(1, "ultra-coarse", 0.0, (100, 500), (20, 100), 8),
    Level(2, "coarse", 0.2, (500, 1000), (71, 200), 16),
    Level(3, "medium", 0.4, (1000, 2000), (142, 400), 33),
    Level(4, "fine", 0.6, (2000, 3000), (285, 600), 50),
    Level(5, "ultra-fine", 0.8, (3000, 6000), (428, 1200), 100),
)


def choose_level(relevance: float) -> Level:
    """The level for a text of this relevance to the question, in [0, 1] (ZipRL, appendix U).

    A bound belongs to the level above it. Raises ValueError for anything else.
    """
    if not 0 <= relevance <= 1:
        raise ValueError(f"relevance is {relevance}; pass a share in [0, 1]")
    return max((level for level in LEVELS if level.relevance <= relevance), key=lambda level: level.number)


def level_of(scores: Iterable[float]) -> Level:
    """The level that the best of some scores deserves; the lowest without any. Other models' scores need not
    be probabilities."""
    return choose_level(min(1.0, max(0.0, max(scores, default=0.0))))
