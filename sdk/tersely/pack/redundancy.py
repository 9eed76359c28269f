"""Compare sentences word for word, so that a limit pays once for what several documents repeat.

Overlapping chunks and syndicated pages repeat sentences. Two sentences count as the same if they differ only
in case, white space, quotation marks, the commas and full stops behind words, the kind of dash between words,
footnote numbers, and an article in front. Everything else may carry meaning: numbers and their signs,
symbols, accents, a "not", a question mark.
"""

from __future__ import annotations

import re

Words = tuple[str, ...]

_ARTICLES = frozenset({"a", "an", "the"})
_QUOTES = "\"'“”‘’„«»"
_FOOTNOTE = re.compile(r"\[\d{1,3}\]")
_HYPHEN = re.compile(r"(?<=[^\W\d])[‐‑–](?=[^\W\d])")
"""Between letters, where it joins words. Between numbers it may be a minus."""
_DASH = re.compile(r"(?<=\w)\s*—\s*(?=\w)|(?<=\w)\s+–\s+(?=\w)")
_PERCENT = re.compile(r"(?<=\d)\s+(?=%)")
_TRAILING = ".,;:" + _QUOTES
_FEWEST, _SHORTEST = 4, 16
"""Words, or characters where words are not spaced. A shorter repetition costs little, and may mean something
else each time."""


def comparable_words(text: str) -> Words | None:
    """The words of a sentence without what may differ between two copies of it; None for a short sentence."""
    words = [
        word if word.isalnum() else word.strip(_QUOTES).rstrip(_TRAILING)
        for word in _unify_signs(text.casefold()).split()
    ]
    if words and words[0] in _ARTICLES:
        del words[0]
    kept = tuple(filter(None, words))
    return kept if len(kept) >= _FEWEST or sum(map(len, kept)) >= _SHORTEST else None


def _unify_signs(text: str) -> str:
    """The text without footnote numbers and spaces before percent signs, its dashes and hyphens unified.

    It asks first whether the signs are there, because most sentences of a long document have none.
    """
    if "[" in text:
        text = _FOOTNOTE.sub("", text)
    if "%" in text:
        text = _PERCENT.sub("", text)
    return text if text.isascii() else _HYPHEN.sub("-", _DASH.sub(" ", text))
