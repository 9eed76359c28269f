"""A rule for sentences that contradict their source, because no entailment model is available offline.

A sentence is compared with a unit that covers most of its words. It contradicts the unit in three cases. Only
one of the two is a denial. Each has a number that the other lacks. The sentence has a name that no document
contains. The rule misses other false sentences, and it rejects some true sentences that combine two sources.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tersely.types import Document
from tersely_agents.summaries.grounding import Sources

COVERED = 0.6
"""Share of the sentence's content, weighted by rarity, that one unit must hold."""
_DENIAL = re.compile(r"\b(?:not|never|no|neither|nor|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


def contradicts(sentence: str, documents: Sequence[Document], sources: Sources) -> bool:
    """Return whether a sentence contradicts the unit that covers most of it. `sources` has the documents."""
    support = sources.find_units(sentence)
    if not support or support[0].score < COVERED:
        return False
    best, document = support[0], documents[support[0].doc]
    unit = document.text[best.start : best.end]
    if bool(_DENIAL.search(sentence)) != bool(_DENIAL.search(unit)):
        return True
    numbers, theirs = set(_NUMBER.findall(sentence)), set(_NUMBER.findall(f"{document.title or ''} {unit}"))
    if numbers - theirs and theirs - numbers:
        return True
    alone = Sources([Document(unit, document.title)])
    return bool(alone.find_unknown(sentence)) and bool(sources.find_unknown(sentence))
