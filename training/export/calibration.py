"""The calibration set of an artifact: cross-fitted scores of held-out questions. None of them was seen by the
fusion layer that scored it, though the one that ships has seen them all: the guarantee is approximate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tersely.metrics import contains_answer
from tersely.selector.calibration import Calibration
from tersely.selector.fusion import sigmoid
from training.selector.validate import GroupScores


def calibration(scored: Sequence[GroupScores]) -> Calibration:
    """From logits of held-out questions; those without a sentence that holds an answer do not count."""
    scores: list[float] = []
    questions: Counter[str] = Counter()
    for item in scored:
        held = [
            logit
            for document, row in zip(item.group.documents, item.scores, strict=True)
            for (start, end), logit in zip(document.units, row, strict=True)
            if contains_answer(document.text[start:end], item.group.answers)
        ]
        if held:
            scores.append(float(sigmoid(np.array(max(held)))))
            questions[item.group.source] += 1
    return Calibration(tuple(scores), questions)
