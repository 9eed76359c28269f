"""The calibration set of an artifact: cross-fitted scores of held-out questions.

Each question is scored by a fusion layer that was fitted without it. The shipped layer was fitted on all of
them, so `recall` is approximate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tersely.metrics import contains_answer
from tersely.score.calibration import Calibration
from tersely.score.fusion import sigmoid
from training.selector_model.scores import GroupScores


def build_calibration(scored: Sequence[GroupScores]) -> Calibration:
    """Build the calibration from the logits of held-out questions.

    The best sentence that holds an answer counts, or, if the question has no answer texts, the best needed
    sentence. Questions without such a sentence are skipped.
    """
    scores: list[float] = []
    questions: Counter[str] = Counter()
    for item in scored:
        logits = [
            logit
            for document, row in zip(item.group.documents, item.scores, strict=True)
            for (start, end), label, logit in zip(document.units, document.labels, row, strict=True)
            if (
                contains_answer(document.text[start:end], item.group.answers)
                if item.group.answers
                else label == 1
            )
        ]
        if logits:
            scores.append(float(sigmoid(np.array(max(logits)))))
            questions[item.group.source] += 1
    return Calibration(tuple(scores), questions)
