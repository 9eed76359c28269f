"""The decision that the model has learned, without a fusion or a fitted threshold, on held-out questions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from tersely.score.selector import Selector
from training.export.fit_fusion import make_inputs
from training.run import show_progress
from training.selector_model.groups import Group
from training.selector_model.scores import GroupScores


def score_by_keep_logit(selector: Selector, groups: Sequence[Group]) -> list[GroupScores]:
    """Return the keep logits of every group, as the runtime computes them."""
    scored: list[GroupScores] = []
    for group in show_progress("first pass", groups):
        done = selector.first_pass(group.question, make_inputs(group))
        logits = iter(done.logits.keep.tolist())
        scored.append(GroupScores(group, [[next(logits) for _ in d.units] for d in group.documents]))
    return scored


def measure_decision(scored: Sequence[GroupScores], threshold: float) -> dict[str, dict[str, float]]:
    """Return for each set, in percent, the labelled sentences kept at the threshold (a probability) and the
    share of the characters kept."""
    least = math.log(threshold / (1 - threshold))
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for item in scored:
        row = counts[item.group.source]
        for document, logits in zip(item.group.documents, item.scores, strict=True):
            for (start, end), label, logit in zip(document.units, document.labels, logits, strict=True):
                kept, labelled = int(logit >= least), int(label > 0)
                amounts = (labelled * kept, labelled, kept * (end - start), end - start)
                for place, amount in enumerate(amounts):
                    row[place] += amount
    return {
        name: {"support": round(100 * a / max(1, b), 1), "rate": round(100 * c / max(1, d), 1)}
        for name, (a, b, c, d) in sorted(counts.items())
    }
