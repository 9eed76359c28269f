"""What a compressor asks of a model, and what the model answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tersely.prepared import Preparation
from tersely.split.sentences import Unit


@dataclass(frozen=True, slots=True)
class ScoredInput:
    """One document to score."""

    title: str | None
    text: str
    units: Sequence[Unit]
    """Ranges of `text`, in order."""
    preparation: Preparation | None = None
    """What the same scorer has prepared of the document, if anything."""


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """What a model says about one document."""

    relevance: float
    """Probability in [0, 1] that the document holds something worth keeping."""
    scores: Sequence[float]
    """Probability in [0, 1] that each unit is needed, shape (units,)."""
    packing_scores: Sequence[float] | None = None
    """What the units are ranked by under a limit, in [0, 1], shape (units,); None for their scores."""
    read: Sequence[bool] | None = None
    """Whether the model has read each unit, shape (units,); None where it has read all."""
    held_back: Sequence[bool] | None = None
    """Whether the score of each unit was lowered because its document echoes the question, shape (units,);
    None where none was."""

    @classmethod
    def unscored(cls, count: int) -> DocumentScores:
        """Those of a document of which the model has read none of `count` units."""
        return cls(0.0, [0.0] * count, [0.0] * count, [False] * count)


class Scorer(Protocol):
    """A model that a compressor can use. `tersely.score.selector.Selector` is the one that ships.

    A scorer that also has an attribute `calibration` (`tersely.score.calibration.Calibration`) can be
    asked for a `recall`. One that is also a `Preparer` can prepare documents.
    """

    threshold: float
    """Units that score at least this much are kept when the caller gives no limit."""
    length_price: float
    """Under a limit, units are taken in the order of score / tokens ** length_price: 0 for scores that only
    rank, up to 1 for probabilities, where it packs the most expected hits into the limit."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> Sequence[DocumentScores]:
        """Scores for each document, in order. Called from several threads at once."""
        ...


@runtime_checkable
class Preparer(Protocol):
    """A scorer that can prepare documents: that knows of them before any question what it needs later."""

    preparation_name: str
    """Name of what makes preparations, with a checksum of all that they depend on."""

    def prepare(self, documents: Sequence[ScoredInput]) -> Sequence[Preparation]:
        """What can be known of each document, in order. Called from several threads at once."""
        ...
