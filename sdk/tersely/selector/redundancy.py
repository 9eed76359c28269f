"""Sentences that say again, word for word, what a better one in another document says.

Overlapping chunks and syndicated pages repeat sentences, and a budget should pay for one of them. Two
sentences count as the same when they differ in case, punctuation, spacing and articles only: a number, a name
or a "not" is never taken for noise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from tersely.selector.packing import Item

_WORDS = re.compile(r"[-+$€£¥]?\d[\d.,:/]*%?|[^\W\d_]+(?:['’][^\W\d_]+)*")
_ARTICLES = frozenset({"a", "an", "the"})
_FEWEST = 4
"""Words below which a repetition costs little and may mean something else each time."""


def without_repetitions(
    ranked: Sequence[Item], text_of: Callable[[Item], str]
) -> tuple[list[Item], set[tuple[int, int]]]:
    """The items whose words no better item of another document has, best first, and the (document, unit) of
    the others.

    Repetitions inside one document stay: there they are the author's.
    """
    owner: dict[tuple[str, ...], int] = {}
    kept: list[Item] = []
    repeated: set[tuple[int, int]] = set()
    for item in ranked:
        words = significant(text_of(item))
        if len(words) >= _FEWEST and owner.setdefault(words, item.doc) != item.doc:
            repeated.add((item.doc, item.unit))
        else:
            kept.append(item)
    return kept, repeated


def significant(text: str) -> tuple[str, ...]:
    """The words and numbers of a sentence, without what may differ between two copies of it."""
    words = _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
    return tuple(word.rstrip(".,:/") for word in words if word not in _ARTICLES)
