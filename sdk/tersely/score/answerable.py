"""Judge whether the documents answer the question: a calibrated probability, and a threshold for `abstain`.

A linear layer weighs features of the whole request. It was fitted to held-out questions. Each question was
used twice: with its evidence, which makes it answerable, and with other documents, which do not answer it.
The file keeps two lists of probabilities, of the answerable and of the unanswerable requests. Each was
computed by a layer that was fitted without that question. Conformal risk control turns the first list into a
threshold that lets the promised share of answerable questions through. The second list shows how many
unanswerable questions this threshold refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tersely.runtime.artifacts import Artifact
from tersely.score.calibration import Calibration, make_interval, read_part
from tersely.score.features import (
    EXACT_FEATURES,
    QUERY_FEATURES,
    Logits,
    Matches,
    Nearness,
    max_per_document,
    query_features,
)
from tersely.score.fusion import LinearLayer, sigmoid
from tersely.score.matching import Floats, phrase_share, weighted_share
from tersely.score.protocol import HARD_DOCUMENTS, NOT_CALIBRATED, Judgement
from tersely.score.shift import SHIFT_FEATURES, Reference, shift_features
from tersely.score.words import find_names, find_numbers

FILE = "answerable.json"

HARD_DATA_SETS = frozenset({"package_questions"})
"""Data sets of the calibration. For questions like theirs, the share of `abstain` does not hold: of held-out
questions about other software packages, 81 % got through instead of 90 % (training/LOG.md)."""

ANSWER_FEATURES = (
    *QUERY_FEATURES,
    "keep",
    "keep_of_best",
    "relevance",
    "second_relevance",
    "second",
    "spread",
    "lead_over_mean",
    "covered_by_all",
    "covered_by_a_document",
    "covered_by_a_sentence",
    "numbers",
    "names",
    "documents",
    "sentences",
    "near",
    "near_of_best",
    "near_passage",
)


def answer_features(m: Matches, logits: Logits, near: Nearness, first_logits: Floats) -> Floats:
    """Return a request's features, shape (len(ANSWER_FEATURES),).

    `first_logits` are the logits of fusion's first stage.
    """
    best = int(first_logits.argmax())
    text = " ".join(
        text for text, document in zip(m.texts, m.document, strict=True) if document == m.document[best]
    )
    found = [
        float(phrase_share(phrases, [text.lower()])[0]) if phrases else 1.0
        for phrases in (find_numbers(m.query), find_names(m.query))
    ]
    exact = dict(zip(EXACT_FEATURES, m.exact.max(axis=0), strict=True))
    return np.array(
        [
            *query_features(m, logits, first_logits),
            logits.keep.max(),
            logits.keep[best],
            logits.relevance.max(),
            _second_highest(logits.relevance),
            _second_highest(max_per_document(first_logits, m.document, m.documents)),
            np.log(np.exp(first_logits - first_logits[best]).sum()),
            (first_logits[best] - first_logits.mean()) / (first_logits.std() + 1e-3),
            weighted_share(m.presence.any_of(np.ones(len(first_logits), dtype=np.bool_)), m.weights),
            exact["coverage_document"],
            exact["coverage"],
            *found,
            np.log(m.documents),
            np.log(len(first_logits)),
            near.sentence.max(),
            near.sentence[best],
            near.passage.max(),
        ]
    )


@dataclass(frozen=True, slots=True)
class Abstention:
    """A threshold that lets a share of answerable questions through."""

    threshold: float
    """The lowest probability, at which a request still gets through."""
    refused: float
    """The share of questions without an answer that are refused."""

    def refuse(self, judgement: Judgement) -> str | None:
        """Return the reason why a request is refused; None if it gets through."""
        probability = judgement.answerable
        if probability is None or probability >= self.threshold:
            return None
        reason = (
            f"the documents answer with a probability of {probability:.3f}, less than {self.threshold:.3f}"
        )
        if judgement.can_abstain:
            return reason
        return f"{reason}; {HARD_DOCUMENTS if judgement.is_calibrated else NOT_CALIBRATED}"


@dataclass(frozen=True, slots=True)
class Answerability:
    """The layer, and its probabilities for calibration questions."""

    layer: LinearLayer
    answered: Calibration
    """Probabilities of questions with an answer."""
    unanswered: Calibration
    """Probabilities of questions without an answer."""
    reference: Reference

    def judge(self, m: Matches, logits: Logits, near: Nearness, first_logits: Floats) -> Judgement:
        """Judge a request by the first pass and the logits of fusion's first stage."""
        features = answer_features(m, logits, near, first_logits)
        probability = float(sigmoid(self.layer(features[None, :]))[0])
        nearest, distance = self.reference.find_nearest(shift_features(m, logits, first_logits))
        return Judgement(probability, distance, self._name_set(nearest) in HARD_DATA_SETS)

    def _name_set(self, centre: int) -> str | None:
        """Return the name of the data set that a centre belongs to; None after `calibrate`, because the new
        questions have no centres."""
        names = sorted(self.answered.questions)
        return names[centre] if len(names) == len(self.reference.centres) else None

    def make_abstention(self, share: float) -> Abstention:
        """Return the highest threshold that lets this share of questions with an answer through.

        Raises ValueError for a share that is too high for this number of questions.
        """
        threshold = self.answered.threshold(share)
        return Abstention(threshold, self._count_refused(threshold) / (len(self.unanswered.scores) + 1))

    def refused_interval(self, share: float) -> tuple[float, float]:
        """Return the 95 % interval of the share that is refused among new questions without an answer.

        Raises ValueError as `make_abstention` does.
        """
        refused = self._count_refused(self.answered.threshold(share))
        return make_interval(refused, len(self.unanswered.scores) + 1 - refused)

    def _count_refused(self, threshold: float) -> int:
        return sum(score < threshold for score in self.unanswered.scores)

    def calibrate(
        self, answered: Sequence[Judgement], unanswered: Sequence[Judgement], questions: Mapping[str, int]
    ) -> Answerability:
        """Return the same layer, calibrated on other questions.

        `answered` and `unanswered` are judgements of these questions, with and without their evidence. The
        bound of the reference grows until nearly all these requests are inside it.
        """
        known = [[j.answerable for j in js if j.answerable is not None] for js in (answered, unanswered)]
        # A calibration cannot be empty, so replace an empty list by one question that always passes.
        with_answer, without = (Calibration(tuple(scores or (1.0,)), questions) for scores in known)
        distances = [j.distance for j in (*answered, *unanswered) if j.distance is not None]
        return Answerability(self.layer, with_answer, without, self.reference.widen(distances))

    def to_dict(self) -> dict[str, Any]:
        return {
            "features": _FEATURES,
            "layer": self.layer.to_dict(),
            "answered": self.answered.to_dict(),
            "unanswered": self.unanswered.to_dict(),
            "reference": self.reference.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Answerability:
        """Read an object from the values of `to_dict`. Raises KeyError, TypeError or ValueError for anything
        else."""
        if {name: tuple(features) for name, features in values["features"].items()} != _FEATURES:
            raise ValueError(f"{FILE} was fitted to other features; fit it again")
        layer = LinearLayer.from_dict(values["layer"])
        layer.check(len(ANSWER_FEATURES), FILE)
        answered, unanswered = (Calibration.from_dict(values[name]) for name in ("answered", "unanswered"))
        return cls(layer, answered, unanswered, Reference.from_dict(values["reference"]))


_FEATURES = {"answer": ANSWER_FEATURES, "shift": SHIFT_FEATURES}


def read_answerability(artifact: Artifact) -> Answerability | None:
    """Read a model's answerability; see `read_part`."""
    return read_part(artifact, FILE, Answerability.from_dict)


def write_answerability(artifact: Path, answerability: Answerability) -> None:
    """Write the file into a model folder. Call `write_manifest` afterwards: the manifest has its checksum."""
    (artifact / FILE).write_text(json.dumps(answerability.to_dict()) + "\n", encoding="utf-8")


def _second_highest(values: Floats) -> float:
    """Return the second highest value, or the only one."""
    return float(np.partition(values, -2)[-2]) if len(values) > 1 else float(values[0])
