"""The types that scorers take and return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tersely.prepared import Preparation
from tersely.types import Document
from tersely.units import Unit

NOT_CALIBRATED = "the request is unlike those of the calibration, so nothing is promised"
HARD_DOCUMENTS = (
    "the documents are like documentation of software packages, where no promise of abstain holds"
)
"""Reasons why promises need not hold: those of `recall` and `abstain`, and only the one of `abstain`."""

if TYPE_CHECKING:  # `import tersely` does without numpy
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A model's judgement of a whole request."""

    answerable: float | None
    """Probability that the documents answer the query; None if the model cannot say."""
    distance: float | None
    """Distance of the request from the calibration's requests; 1.0 is the bound. None if it is unknown."""
    is_hard: bool = False
    """True if the request is of a kind for which the share of `abstain` does not hold."""

    @property
    def is_calibrated(self) -> bool:
        """True if the request resembles the calibration's requests."""
        return self.distance is not None and self.distance <= 1.0

    @property
    def can_abstain(self) -> bool:
        """True if the share of `abstain` holds for the request."""
        return self.is_calibrated and not self.is_hard


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of all units and documents of a request."""

    scores: Floats
    """(units,) probability that each unit is needed."""
    packing: Floats
    """(units,) scores that rank the units under a limit."""
    relevance: Floats
    """(documents,) probability that each document holds something worth keeping."""
    read: Bools
    """(units,) true for each unit that the model has read."""
    held_back: Bools
    """(units,) true for each unit with a lowered score, because its document echoes the question."""
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a request, and the facts about them that later steps need."""

    scores: Scores
    kept_by: str = "score"
    """Reason that the receipt gives for kept units."""
    threshold: float | None = None
    """Lowest score of a unit that may be kept; None for any score."""
    length_price: float = 0.0
    """The scorer's `length_price`; see `Scorer`."""
    failure: str | None = None
    """The reason why the model did not score everything; None if it did."""
    warnings: tuple[str, ...] = ()
    refusal: str | None = None
    """The reason why nothing is kept, because the documents seem not to answer the query; None if the request
    is not refused."""


@dataclass(frozen=True, slots=True)
class ScoredInput:
    """One document to score."""

    title: str | None
    text: str
    units: Sequence[Unit]
    """Ranges of `text`, in order."""
    preparation: Preparation | None = None
    """Preparation of the document by the same scorer, if any."""


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """A model's scores of one document."""

    relevance: float
    """Probability in [0, 1] that the document holds something worth keeping."""
    scores: Sequence[float] | Floats
    """Probability in [0, 1] that each unit is needed, shape (units,)."""
    packing_scores: Sequence[float] | Floats | None = None
    """Scores that rank the units under a limit, in [0, 1], shape (units,); None for `scores`."""
    read: Sequence[bool] | Bools | None = None
    """True for each unit that the model has read, shape (units,); None if it has read all."""
    held_back: Sequence[bool] | Bools | None = None
    """True for each unit with a lowered score, because its document echoes the question, shape (units,); None
    if no score was lowered."""


class Scorer(Protocol):
    """A model that a compressor can use. `tersely.score.selector.Selector` is the one that ships.

    With an attribute `calibration` (`tersely.score.calibration.Calibration`), it also supports the option
    `recall`. If it is also a `Preparer`, it can prepare documents.
    """

    threshold: float
    """Units that score at least this much are kept when the caller gives no limit."""
    length_price: float
    """Weight of the length under a limit: units are taken in the order of score / tokens ** length_price. Use
    0 for scores that only rank. With 1 and scores that are probabilities, the limit holds as many needed
    units as can be expected."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> Sequence[DocumentScores]:
        """Return scores for each document, in order. Several threads may call it at once."""
        ...


@runtime_checkable
class Preparer(Protocol):
    """A scorer that can do a part of its work on documents before there is a question."""

    preparation_name: str
    """Name of the model, with a checksum of all that preparations depend on."""

    def prepare(self, documents: Sequence[ScoredInput]) -> Sequence[Preparation]:
        """Return a preparation of each document, in order. Several threads may call it at once."""
        ...


@runtime_checkable
class Judge(Protocol):
    """A scorer that also says whether the documents answer the query, and whether it knows such requests.

    With an attribute `answerability` (`tersely.score.answerable.Answerability`), it also supports the option
    `abstain`.
    """

    def judge(
        self, query: str, documents: Sequence[ScoredInput]
    ) -> tuple[Sequence[DocumentScores], Judgement | None]:
        """Return the scores, as `score` does, and the judgement. Several threads may call it at once."""
        ...


class Reranker(Protocol):
    """A scorer of documents for a query. Several threads may call it at once."""

    def rank(self, query: str, documents: Sequence[Document]) -> Sequence[float]:
        """Return one finite score per document, in order. A higher score means more relevant."""
        ...
