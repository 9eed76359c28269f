"""Words, names and numbers of texts, and the words that say nothing by themselves."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+")
"""A run of letters and digits."""
LETTERS = re.compile(r"[^\W\d_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME = re.compile(
    r"(?<!^)(?<![.!?]\s)\b[A-Z][\w'’.-]+(?:\s+(?:(?:of|the|and|de|von|van)\s+)?[A-Z][\w'’.-]+)*"
)
_POSSESSIVE = re.compile(r"['’]s\b")
_LAST_PERIOD = re.compile(r"(?<=[^\W\d_]{2})\.$")
"""A full stop that ends a sentence, as in "Paris.", and is not part of the name, as in "the U.S."."""

QUESTION_WORDS = re.compile(
    r"""a|about|all|also|am|an|and|any|are|as|at|be|been|before|by|can|could|did|do|does|each|find|for|from|get
    |give|had|has|have|how|i|if|in|into|is|it|its|many|me|much|my|no|not|of|on|or|our|please|show|so|some|tell
    |than|that|the|their|them|then|there|these|they|this|those|to|under|up|us|was|we|were|what|when|where
    |which|who|whom|whose|why|will|with|would|you|your""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words of a question that a record need not contain."""

FILLER_WORDS = re.compile(
    r"""a|about|after|again|all|also|am|an|and|any|are|as|at|be|because|been|before|being|both|but|by|can|could
    |did|do|does|doing|done|down|during|each|even|few|for|from|further|get|gets|got|had|has|have|having|he|her
    |here|hers|him|his|how|i|if|in|into|is|it|its|itself|just|like|made|make|many|may|me|might|more|most|much
    |must|my|no|nor|not|now|of|off|on|once|one|only|or|other|our|out|over|own|said|same|say|says|she|should|so
    |some|such|than|that|the|their|them|then|there|these|they|this|those|though|through|to|too|under|until|up
    |upon|us|very|was|we|well|were|what|when|where|which|while|who|whom|whose|why|will|with|would|yes|yet|you
    |your|yeah|okay|um|uh|don|doesn|didn|isn|wasn|ll|ve|re|[a-z]""",
    re.VERBOSE,
)
"""Words of a text that say nothing about its topic."""


def split_terms(text: str) -> list[str]:
    """Return the words of `text` in lower case; Chinese and Japanese as overlapping pairs of characters."""
    if text.isascii():
        return WORD.findall(text.lower())
    terms: list[str] = []
    for word in WORD.findall(text.lower()):
        position = 0
        for run in _CJK.finditer(word):
            if run.start() > position:
                terms.append(word[position : run.start()])
            terms.extend(run[0][i : i + 2] for i in range(max(1, len(run[0]) - 1)))
            position = run.end()
        if position < len(word):
            terms.append(word[position:])
    return terms


def find_numbers(text: str) -> list[str]:
    """Return the numbers in a text as they are written, such as "1,861" and "3.14", each once, sorted."""
    return sorted(set(_NUMBER.findall(text)))


def find_names(text: str) -> list[str]:
    """Return the capitalised phrases that do not begin a sentence, in lower case, each once, sorted.

    A possessive ends a name: "Ada Moor's Atlas" has two.
    """
    phrases = [phrase for match in _NAME.findall(text) for phrase in _POSSESSIVE.split(match)]
    names = [_LAST_PERIOD.sub("", phrase.strip(" '’-")) for phrase in phrases]
    return sorted({name.lower() for name in names if len(name) > 1})
