"""The five levels of detail of ZipRL: a more relevant text keeps more of its content.

The bounds on characters are those of the paper (appendix J.2). It gives none for words and sentences; here
they follow from the characters: a word takes 5 to 7 with its space, a sentence 60 or more. The lower bound on
words is at least 20, because appendix G.3 halves the score of a text with fewer words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import cast

from tersely.errors import InvalidInputError
from tersely.inputs import show_value
from tersely.options import LEVEL_CHARACTERS as CHARACTERS
from tersely.options import Detail


@dataclass(frozen=True, slots=True)
class Level:
    """The size of a compression. All bounds are inclusive."""

    number: Detail
    name: str
    relevance: float
    """Lowest relevance of a text at this level, in [0, 1]; the highest level begins above it."""
    characters: tuple[int, int]
    words: tuple[int, int]
    sentences: int
    """Largest number of sentences."""
    content: str
    """Content of a text at this level (appendix U)."""


LEVELS = (
    Level(1, "ultra-coarse", 0.0, CHARACTERS[1], (20, 100), 8, "the subject and the outcome"),
    Level(2, "coarse", 0.2, CHARACTERS[2], (71, 200), 16, "the subject, what is asked, and what was found"),
    Level(3, "medium", 0.4, CHARACTERS[3], (142, 400), 33, "the subject, what decides, and what explains it"),
    Level(4, "fine", 0.6, CHARACTERS[4], (285, 600), 50, "every step of the reasoning, with its details"),
    Level(5, "ultra-fine", 0.8, CHARACTERS[5], (428, 1200), 100, "all that matters, in fewer words"),
)


def choose_level(relevance: float) -> Level:
    """Return the level for a text of this relevance in [0, 1] (ZipRL, appendix U).

    A bound between two levels belongs to the higher one, except 0.8: the highest level begins above it.
    Raises InvalidInputError for a relevance outside [0, 1].
    """
    if not isinstance(cast("object", relevance), Real) or not 0 <= relevance <= 1:
        raise InvalidInputError(f"relevance is {show_value(relevance)}. Pass a number from 0 to 1.")
    *others, highest = LEVELS
    if relevance > highest.relevance:
        return highest
    return [level for level in others if level.relevance <= relevance][-1]


def choose_level_for(scores: Iterable[float]) -> Level:
    """Return the level for the best of some scores; the lowest level without scores.

    Scores outside [0, 1] are clipped, since those of other models need not be probabilities.
    """
    return choose_level(min(1.0, max(0.0, max(scores, default=0.0))))
