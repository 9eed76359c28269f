"""Why a unit was kept or dropped, as its span in the receipt says."""

from __future__ import annotations

from collections.abc import Set

from tersely.pack.choose import Choice
from tersely.score.protocol import DocumentScores
from tersely.split.units import CostedUnit

Parent = tuple[int, int]
"""(document, parent) of a unit that was cut."""


def reason_kept(doc: int, unit: CostedUnit, cut_and_kept: Set[Parent], kept_by: str) -> str:
    """The reason of a kept unit: `kept_by`, unless its parent, which was cut, is in `cut_and_kept`."""
    return "truncated" if (doc, unit.parent) in cut_and_kept else kept_by


def reason_dropped(
    doc: int,
    position: int,
    unit: CostedUnit,
    scores: DocumentScores,
    choice: Choice,
    cut_and_kept: Set[Parent],
) -> str:
    """The reason of a dropped unit: the first that applies, from its document to the unit itself."""
    truncated = (doc, unit.parent) in cut_and_kept
    if doc not in choice.sequence:
        return "max_docs"
    if unit.is_markup:
        return "markup"
    if is_unread(scores, position):
        return "unread"
    if is_held_back(scores, position):
        return "echo"
    if is_below_threshold(scores, position, choice):
        return "threshold"
    if (doc, position) not in choice.candidates:
        return "truncated" if truncated else "level"
    if (doc, position) in choice.duplicates:
        return "duplicate"
    return "truncated" if truncated else "budget"


def is_unread(scores: DocumentScores, position: int) -> bool:
    """Whether the model has not read the unit: of a very long input, or of a document ruled out before."""
    return scores.read is not None and not scores.read[position]


def is_held_back(scores: DocumentScores, position: int) -> bool:
    """Whether the unit's score was lowered because its document echoes the question."""
    return scores.held_back is not None and scores.held_back[position]


def is_below_threshold(scores: DocumentScores, position: int, choice: Choice) -> bool:
    return choice.threshold is not None and scores.scores[position] < choice.threshold


def breaks_promise(
    position: int, unit: CostedUnit, scores: DocumentScores, choice: Choice, reason: str
) -> bool:
    """Whether dropping the unit may break a promised recall.

    The calibration knows whole units that were read. A threshold on their scores holds for them alone.
    """
    has_own_score = not (is_unread(scores, position) or is_held_back(scores, position))
    was_calibrated = has_own_score and not unit.is_piece
    says_something = reason not in ("duplicate", "markup")
    return says_something and not (was_calibrated and is_below_threshold(scores, position, choice))
