"""Score units without a question, by how much of the documents' topics each adds to the others.

A word is worth more if more units contain it; names and numbers are worth double. A unit adds the worth of
its words. Once a unit covers a word, the word is worth less for other units. The unit that adds most for its
length comes first, then the unit that adds most to the first one, and so on: the greedy algorithm of Lin and
Bilmes (2010). Units near the beginning of a document count more, and so do errors.

The settings were chosen on training sets: reference summaries of QMSum's meetings, and answers to questions
on stories (FairytaleQA) and articles (SQuAD). Of these settings, only the bonus for the beginning matters
much; nearby values of the others do as well.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tersely.score.matching import Floats, Integers
from tersely.score.words import FILLER_WORDS, WORD, split_terms

_BASE_WORTH = 0.3
"""Worth of any word, added to the logarithm of the number of units that contain it."""
_NAME_FACTOR = 2.0
"""Worth of a name or a number, relative to another word."""
_REPEAT_SHARE = 0.3
"""Share of a word's worth that remains when one more unit covers it."""
_START_BONUS, _START_HALF_LIFE = 2.0, 4
"""Bonus of the first unit of a document, and the number of units after which half of the bonus is left."""
_LENGTH_EXPONENT = 0.75
"""Exponent of a unit's length, the r of Lin and Bilmes: at 0 length is free, at 1 it counts in full."""
_ERROR_BONUS = 8.0
"""Bonus of a rare error, relative to another unit."""

_FILLER = -1
"""Number of every filler word."""


@dataclass(frozen=True, slots=True)
class UnitText:
    """A unit of a document."""

    text: str
    position: int
    """Its position among the units of its document."""
    cost: float
    """Its approximate number of tokens."""
    error: float = 0.0
    """Likeness to a rare error, or nearness to one, in [0, 1]."""
    is_event: bool = False
    """True if it is an entry of a log, in which nearly every number is a time, an address or an id."""
    is_content: bool = True
    """True if it may be kept for its own words. A frame is kept only for the units inside it."""


@dataclass(slots=True)
class _Words:
    """The words of all units, as numbers."""

    ids: dict[str, int] = field(default_factory=dict[str, int])
    count: int = 0
    """Number of words so far, and the number of the next one."""
    units: Counter[int] = field(default_factory=Counter[int])
    """Number of units that contain each word."""
    inside: Counter[int] = field(default_factory=Counter[int])
    """Number of times that each word follows another word of its unit."""
    capital: Counter[int] = field(default_factory=Counter[int])
    """Number of times that each word does so with a capital letter."""

    def add(self, unit: UnitText) -> Integers:
        """Return the words of a unit, each once, ascending."""
        numbers: set[int] = set()
        for found in WORD.finditer(unit.text):
            for word in [found[0].lower()] if found[0].isascii() else split_terms(found[0]):
                if unit.is_event and any(map(str.isdigit, word)):
                    continue
                number = self._number(word)
                if number == _FILLER:
                    continue
                numbers.add(number)
                if found.start():
                    self.inside[number] += 1
                    self.capital[number] += found[0][0].isupper()
        self.units.update(numbers)
        return np.array(sorted(numbers), dtype=np.int64)

    def _number(self, word: str) -> int:
        number = self.ids.get(word)
        if number is None:
            number = _FILLER if FILLER_WORDS.fullmatch(word) else self.count
            self.count += number != _FILLER
            self.ids[word] = number
        return number

    def worth(self) -> Floats:
        """Return the worth of each word before any unit covers it, shape (words,)."""
        worth = np.log1p([self.units[number] for number in range(self.count)]) + _BASE_WORTH
        for word, number in self.ids.items():
            if number == _FILLER:
                continue
            if word[0].isdigit() or self.capital[number] * 2 > self.inside[number]:
                worth[number] *= _NAME_FACTOR
        return worth


def score_units(units: Sequence[UnitText], enough: float) -> list[float]:
    """Return how much worth each unit adds, for its length, to the units with higher scores.

    The best unit has 1.0. Units taken in the order of their scores cover about the most in any length.

    Args:
        units: the units of all documents.
        enough: number of tokens after which the order no longer matters. Scores of later units may be too
            high, because they are not computed again.
    """
    words = _Words()
    rows = [words.add(unit) for unit in units]
    worth = words.worth()
    weights = [_weigh(unit) for unit in units]
    # Gains only fall. So the unit at the top is the best if it stays there after its gain is computed again.
    heap = [
        (-weights[at] * float(worth[row].sum()), at) for at, row in enumerate(rows) if units[at].is_content
    ]
    heapq.heapify(heap)
    scores = np.zeros(len(units))
    ranked = 0.0
    while heap and ranked < enough:
        _, at = heap[0]
        now = -weights[at] * float(worth[rows[at]].sum())
        if len(heap) > 1 and (now, at) > min(heap[1:3]):
            heapq.heapreplace(heap, (now, at))
            continue
        heapq.heappop(heap)
        scores[at] = -now
        ranked += units[at].cost
        worth[rows[at]] *= _REPEAT_SHARE
    for gain, at in heap:
        scores[at] = -gain
    best = float(scores.max(initial=0.0))
    return (scores / best if best else scores).tolist()


def _weigh(unit: UnitText) -> float:
    """Return the weight of a unit by its position, its length, and how much it looks like an error."""
    start = 1.0 + _START_BONUS / (1.0 + unit.position / _START_HALF_LIFE)
    return start * (1.0 + _ERROR_BONUS * unit.error) / max(unit.cost, 1.0) ** _LENGTH_EXPONENT
