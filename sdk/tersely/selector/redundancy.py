"""What a sentence says, so that a budget pays once for what several documents say word for word.

Overlapping chunks and syndicated pages repeat sentences. Two of them count as the same when they differ in
case, white space, quotation marks, the commas and full stops behind their words, and an article in front. All
else may carry meaning: numbers and their signs, symbols, accents, a "not", a question mark.
"""

from __future__ import annotations

Words = tuple[str, ...]

_ARTICLES = frozenset({"a", "an", "the"})
_QUOTES = "\"'“”‘’„«»"
_FEWEST, _SHORTEST = 4, 16
"""Words, or characters where words are not spaced, below which a repetition costs little and may mean
something else each time."""


def significant(text: str) -> Words | None:
    """The words of a sentence without what may differ between two copies of it; None for a short one."""
    words = [word.strip(_QUOTES).rstrip(".,;:" + _QUOTES) for word in text.casefold().split()]
    if words and words[0] in _ARTICLES:
        del words[0]
    found = tuple(filter(None, words))
    return found if len(found) >= _FEWEST or sum(map(len, found)) >= _SHORTEST else None
