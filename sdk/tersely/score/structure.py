"""Scores for the parts of structure: by exact words for all of them, by the model for the best.

Prose is left to the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tersely.score.parts import Floats, PartText, choose_to_read, find_failures, match
from tersely.score.protocol import DocumentScores
from tersely.split.sentences import Unit
from tersely.split.splitting import SplitDocuments

_MODEL = 0.5
"""What the model's score of a part counts beside its exact matches. The model was trained on prose."""


class Structure:
    """The parts of structure in all documents of a request, and how well they match the question.

    Attributes:
        scores: by document and position, for parts only.
        unread: (document, position) of the parts that the model need not read.
    """

    def __init__(self, parts: Sequence[PartText], scores: Floats) -> None:
        to_read = choose_to_read(parts, scores)
        self.scores: dict[int, dict[int, float]] = {}
        self.unread: set[tuple[int, int]] = set()
        self._frames: dict[int, list[PartText]] = {}
        for part, value, is_read in zip(parts, scores.tolist(), to_read.tolist(), strict=True):
            self.scores.setdefault(part.doc, {})[part.position] = value
            if not is_read:
                self.unread.add((part.doc, part.position))

    @classmethod
    def match(cls, query: str, split: SplitDocuments) -> Structure:
        """The parts among the units of `split`, matched with the query."""
        parts = list_parts(split)
        return cls(parts, match(query, [document.text for document in split.documents], parts))

    def choose_units(self, doc: int, units: Sequence[Unit]) -> list[int]:
        """Positions of the units that the model should read."""
        return [position for position in range(len(units)) if (doc, position) not in self.unread]

    def merge(self, doc: int, positions: Sequence[int], read: DocumentScores, count: int) -> DocumentScores:
        """The scores of all `count` units of a document, from those that the model read at `positions`."""
        own = self.scores.get(doc)
        if not own:
            return read
        scores, packing = np.zeros(count), np.zeros(count)
        scores[positions] = read.scores
        packing[positions] = read.packing_scores or read.scores
        matched = np.zeros(count)
        matched[list(own)] = list(own.values())
        is_read = np.zeros(count, dtype=np.bool_)
        is_read[positions] = read.read or True
        share = np.ones(count)
        share[list(own)] = _MODEL
        scores = matched + (1.0 - matched) * share * scores
        packing = matched + (1.0 - matched) * share * packing
        relevance = max(read.relevance, float(matched.max()))
        held = np.zeros(count, dtype=np.bool_)
        held[positions] = read.held_back or False
        return DocumentScores(relevance, scores.tolist(), packing.tolist(), is_read.tolist(), held.tolist())


def list_parts(split: SplitDocuments) -> list[PartText]:
    """The parts of structure among all units, by document and place."""
    return [
        PartText(doc, position, unit.start, unit.end, unit.link)
        for doc, own in enumerate(split.units)
        for position, unit in enumerate(own)
        if unit.link is not None
    ]


def rate_failures(split: SplitDocuments) -> dict[tuple[int, int], float]:
    """By document and position, how much a part looks like a rare error or stands beside one, in [0, 1]."""
    parts = list_parts(split)
    severe = find_failures([document.text for document in split.documents], parts)
    return {(part.doc, part.position): value for part, value in zip(parts, severe.tolist(), strict=True)}
