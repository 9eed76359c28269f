"""ROUGE-L: the longest common subsequence of words (Lin, 2004)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def rouge_l(text: str, references: Sequence[str]) -> float:
    """Return the best F1 against a reference, in [0, 1]. Words in lower case, without stemming."""
    words = _WORD.findall(text.lower())
    return max((_compare(words, _WORD.findall(reference.lower())) for reference in references), default=0.0)


def _compare(words: Sequence[str], reference: Sequence[str]) -> float:
    if not words or not reference:
        return 0.0
    common = _count_common(words, reference)
    return 2 * common / (len(words) + len(reference))


def _count_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for word in a:
        diagonal = 0
        for place, other in enumerate(b, 1):
            diagonal, row[place] = (
                row[place],
                diagonal + 1 if word == other else max(row[place], row[place - 1]),
            )
    return row[-1]
