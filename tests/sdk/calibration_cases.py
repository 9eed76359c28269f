"""A question with its documents, and a scorer that can promise a recall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tersely import Document
from tersely.score.answerable import ANSWER_FEATURES, Answerability
from tersely.score.calibration import Calibration
from tersely.score.fusion import LinearLayer
from tersely.score.shift import SHIFT_FEATURES, Reference
from tests.sdk.fakes import FakeScorer

QUERY = "When was the lighthouse at Cape Ferro built?"
DOCS = [
    Document(
        "Cape Ferro lies on the coast. The lighthouse at Cape Ferro was built in 1861.", title="Cape Ferro"
    ),
    Document("Ferries leave at nine. Bread is baked daily. The lighthouse is painted white."),
]


class CalibratedScorer(FakeScorer):
    """A calibration with the threshold 0.2 for every recall that 30 questions can promise."""

    calibration = Calibration((0.2,) * 30)


SIZE = len(ANSWER_FEATURES)
LAYER = LinearLayer(np.zeros(SIZE), np.ones(SIZE), np.zeros(SIZE), 0.0)
REFERENCE = Reference(np.zeros((1, len(SHIFT_FEATURES))), np.eye(len(SHIFT_FEATURES)), 2.0)


def make_answerability(answered: Sequence[float], unanswered: Sequence[float]) -> Answerability:
    return Answerability(LAYER, Calibration(tuple(answered)), Calibration(tuple(unanswered)), REFERENCE)
