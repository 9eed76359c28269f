"""A question with its documents, and a scorer that can promise a recall."""

from __future__ import annotations

from tersely import Document
from tersely.score.calibration import Calibration
from tests.sdk.fakes import FakeScorer

QUERY = "When was the lighthouse at Cape Ferro built?"
DOCS = [
    Document(
        "Cape Ferro lies on the coast. The lighthouse at Cape Ferro was built in 1861.", title="Cape Ferro"
    ),
    Document("Ferries leave at nine. Bread is baked daily. The lighthouse is painted white."),
]


class CalibratedScorer(FakeScorer):
    """Every recall that 30 questions can promise has the threshold 0.2."""

    calibration = Calibration((0.2,) * 30)
