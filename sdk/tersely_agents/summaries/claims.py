"""Read the claims of an English text from its words: its clauses with their modals, negations and
quantifiers, and its numbers with their units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tersely_agents.quality import SHORT_STOPWORDS, STOPWORDS
from tersely_agents.summaries.claim_words import (
    BREAKS,
    JOINTS,
    MODALS,
    NEGATIONS,
    ONES,
    OPPOSITES,
    ORDINALS,
    PHRASES,
    QUANTIFIERS,
    TENS,
    UNITS,
)

_TOKEN = re.compile(r"\d+(?:[.,:/–-]\d+)*|(?<!\d['’])[^\W\d_]+(?:['’][^\W\d_]+)?|[%‰$€£¥°/,;:()–—]")
_VOWELS = re.compile("[aeiouy]")
_COMPARED = 3
"""The compared thing is among this many content words after "than"."""
_SAYS_SOMETHING = frozenset({"can", "may", "no", "not", "out", "two", "up"})
"""Short stopwords that change a claim."""
_STOPWORDS = (STOPWORDS | SHORT_STOPWORDS) - OPPOSITES.keys() - _SAYS_SOMETHING
_MARKS = frozenset(word for phrase in (*MODALS, *QUANTIFIERS, *NEGATIONS) for word in phrase.split())
Kind = Literal["modal", "negation", "quantifier"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A modal, a negation or a quantifier."""

    kind: Kind
    values: frozenset[str]
    word: str
    governed: str
    """Content word that follows it in its clause, else the one before it, else ""."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is used."""

    word: str
    value: str
    units: tuple[str, ...]
    """Units that follow it, such as ("litre", "min"), or the currency before it."""
    governed: str
    """Content word that follows it in its clause, else the one before it, else ""."""
    is_before: bool
    """True if it is before the word that it governs."""
    origin: str
    """"from" or "to" before the number, else ""."""

    @property
    def is_rank(self) -> bool:
        return self.value.endswith(".")


@dataclass(frozen=True, slots=True)
class Clause:
    """The content words of a clause, and its modals, negations and quantifiers."""

    terms: tuple[str, ...]
    marks: tuple[Mark, ...]

    def list_marks(self, kind: Kind) -> list[Mark]:
        return [mark for mark in self.marks if mark.kind == kind]


class Claims:
    """The claims of a text, as far as its words show them."""

    def __init__(self, text: str) -> None:
        self._tokens = _read_tokens(text)
        self.folded: list[str] = [token.casefold().replace("’", "'") for token in self._tokens]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.folded)

    @cached_property
    def clauses(self) -> list[Clause]:
        return [self._read_clause(start, end) for start, end in self._split_clauses()]

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Content words and numbers."""
        return tuple(term for clause in self.clauses for term in clause.terms)

    @cached_property
    def numbers(self) -> list[Number]:
        return [
            self._read_number(i, start, end)
            for start, end in self._split_clauses()
            for i in range(start, end)
            if self._read_value(i)
        ]

    def list_compared(self, word: str) -> list[tuple[str, ...]]:
        """Return the content words that follow each occurrence of a word, at most three in its clause."""
        return [
            tuple(self._list_terms(i + 1, end))[:_COMPARED]
            for start, end in self._split_clauses()
            for i in self._find_places(word, start, end)
        ]

    def list_governed(self, word: str) -> list[str]:
        """Return the content word that each occurrence of a word governs."""
        return [
            self._find_governed(i, i + 1, *span)
            for span in self._split_clauses()
            for i in self._find_places(word, *span)
        ]

    def _find_places(self, word: str, start: int, end: int) -> Iterator[int]:
        return (i for i in range(start, end) if self.folded[i] == word)

    def _split_clauses(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the clauses."""
        start = 0
        for i, word in enumerate([*self.folded, ","]):
            if word in BREAKS:
                if i > start:
                    yield start, i
                start = i + 1

    def _list_terms(self, start: int, end: int) -> Iterator[str]:
        for i in range(start, end):
            if self._is_term(i):
                yield self._read_value(i) or self.folded[i]

    def _is_term(self, i: int) -> bool:
        word = self.folded[i]
        return word[0].isalnum() and word not in _MARKS and word not in _STOPWORDS

    def _find_governed(self, start: int, end: int, first: int, last: int) -> str:
        """Return the content word that the words from `start` to `end` govern in the clause from `first` to
        `last`."""
        following = next(self._list_terms(end, last), "")
        return following or next(reversed(list(self._list_terms(first, start))), "")

    def _read_clause(self, first: int, last: int) -> Clause:
        marks: list[Mark] = []
        i = first
        while i < last:
            phrase = next((p for p in PHRASES if tuple(self.folded[i : i + len(p)]) == p), None)
            end = min(last, i + len(phrase or (i,)))
            word = "" if self._is_month(i) else " ".join(phrase or (self.folded[i],))
            governed = self._find_governed(i, end, first, last)
            marks += [Mark(kind, values, word, governed) for kind, values in _read_marks(word)]
            i = end
        return Clause(tuple(self._list_terms(first, last)), tuple(marks))

    def _is_month(self, i: int) -> bool:
        """Return whether a word is the month May, not the verb. Inside a sentence, its capital shows this."""
        is_inside = i > 0 or (len(self._tokens) > 1 and self._tokens[1][0].isdigit())
        return self._tokens[i] == "May" and is_inside

    def _read_value(self, i: int) -> str:
        """Return the number at a place in digits, or ""."""
        word = self.folded[i]
        if word[0].isdigit():
            return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", word).replace("–", "-")
        if word in ORDINALS and (not i or self.folded[i - 1] not in ("per", "/")):
            return f"{ORDINALS[word]}."
        if word == "one":  # a pronoun more often than a number
            return ""
        return str(ONES[word]) if word in ONES else str(TENS[word]) if word in TENS else ""

    def _read_number(self, i: int, first: int, last: int) -> Number:
        end, units = i + 1, list[str]()
        while end < last:
            joint = self.folded[end] in JOINTS and end + 1 < last
            unit = self._read_unit(end + joint)
            if unit is None or (joint and not units and self.folded[end] != "°"):
                break
            units.append(unit)
            end += 1 + joint
        if i > first and self._tokens[i - 1] in "$€£¥":
            units.append(UNITS[self._tokens[i - 1]])
        if end + 1 < last and self.folded[end] == "of" and self._read_value(end + 1):
            end = min(last, end + 3)  # "12 of 80 bids were": the 12 do not count all bids
        before = self.folded[i - 1] if i > first else ""
        return Number(
            word=self._tokens[i],
            value=self._read_value(i),
            units=tuple(dict.fromkeys(units)),
            governed=self._find_governed(i, end, first, last),
            is_before=any(self._list_terms(end, last)),
            origin=before if before in ("from", "to") else "",
        )

    def _read_unit(self, i: int) -> str | None:
        token = self._tokens[i]
        return UNITS.get(token) or (UNITS.get(self.folded[i]) if len(token) > 3 else None)


def _read_tokens(text: str) -> list[str]:
    """Split a text into words, numbers and signs. "Twenty-two" becomes 22."""
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        value = ONES.get(token.casefold(), 0)
        if 0 < value < 10 and tokens and tokens[-1].casefold() in TENS and text[match.start() - 1] in "- ":
            tokens[-1] = str(TENS[tokens[-1].casefold()] + value)
        else:
            tokens.append(token)
    return tokens


def _read_marks(word: str) -> Iterator[tuple[Kind, frozenset[str]]]:
    if word in MODALS:
        yield "modal", MODALS[word]
    if word in NEGATIONS or word.endswith("n't"):
        yield "negation", frozenset({"not"})
    if word in QUANTIFIERS:
        yield "quantifier", QUANTIFIERS[word]


def is_same(one: str, other: str) -> bool:
    """Return whether two words are forms of one: "sign" and "signed", "library" and "libraries", "freeze" and
    "froze"."""
    if one == other:
        return True
    if one[0].isdigit() or other[0].isdigit():
        return False
    shorter, longer = sorted((one, other), key=len)
    least = max(3, len(shorter) - 1)
    if len(longer) - len(shorter) < 5 and shorter[:least] == longer[:least]:
        return True
    is_close = len(shorter) > 3 and len(longer) - len(shorter) < 2
    return is_close and _VOWELS.sub("", one) == _VOWELS.sub("", other)


def has_term(terms: Iterable[str], term: str) -> bool:
    """Return whether a form of a word is among others; the empty word is not."""
    return bool(term) and any(other and is_same(term, other) for other in terms)
