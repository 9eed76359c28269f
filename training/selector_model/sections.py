"""Sections of long documents: a group has a few of them instead of the whole document."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from training.selector_model.questions import LabelledDocument, Question

LONG_DOCUMENT = 20_000
"""A document of at least this many characters is read in sections."""

SECTION = 1200
"""Number of characters of a section, cut at a line break."""

GOLD_SECTIONS, OTHER_SECTIONS = 4, 5
"""Maximum numbers of needed and of other sections of a long document in a group."""


def is_long(questions: Sequence[Question]) -> bool:
    """Return whether one of the first questions has a long document."""
    return any(len(d.text) > LONG_DOCUMENT for q in questions[:5] for d in q.documents)


def sample_sections(document: LabelledDocument, rng: random.Random) -> list[LabelledDocument]:
    """Return some of the sections that are needed, and some others."""
    sections = list(_split_sections(document))
    gold = [s for s in sections if s.support]
    others = [s for s in sections if not s.support]
    return rng.sample(gold, min(GOLD_SECTIONS, len(gold))) + rng.sample(
        others, min(OTHER_SECTIONS, len(others))
    )


def _split_sections(document: LabelledDocument) -> Iterator[LabelledDocument]:
    text, start = document.text, 0
    while start < len(text):
        end = text.rfind("\n", start + 1, start + SECTION) + 1 or min(start + SECTION, len(text))
        inside = [(max(a, start) - start, min(b, end) - start) for a, b in document.support]
        yield LabelledDocument(None, text[start:end], tuple((a, b) for a, b in inside if a < b))
        start = end
