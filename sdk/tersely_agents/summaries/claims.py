"""Find where a sentence claims something else than its source in nearly the same words.

Compared are modals, negations, quantifiers, comparatives and other opposites, numbers, and units of
measurement. This compares English words and is no entailment: what is false in other ways passes, and so does
a paraphrase whose words the source does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tersely_agents.quality import STOPWORDS
from tersely_agents.summaries.claim_words import (
    BREAKS,
    COMPARING,
    GRADES,
    JOINTS,
    MAY_ADD,
    MAY_DROP,
    MODALS,
    MONTHS,
    NEGATIONS,
    ONES,
    OPPOSITES,
    ORDINALS,
    PHRASES,
    QUANTIFIERS,
    TENS,
    UNITS,
    WEAK_MODALS,
)

_TOKEN = re.compile(r"\d+(?:[.,:/–-]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?|[%‰$€£¥°/,;:()–—]")
_VOWELS = re.compile("[aeiouy]")
_COMPARED = 3
"""Number of content words after "than" that may be what is compared."""
_SHORT_STOPWORDS = """
    a an and are as at be but by did do for had has he her him his how i if in is it its me my nor of off on
    or our own per she so the to too us via was we who why you
"""
_STOPWORDS = (STOPWORDS | frozenset(_SHORT_STOPWORDS.split())) - OPPOSITES.keys()
_MARKS = frozenset(word for phrase in (*MODALS, *QUANTIFIERS, *NEGATIONS) for word in phrase.split())
Kind = Literal["modal", "negation", "quantifier"]


@dataclass(frozen=True, slots=True)
class _Mark:
    """A modal, a negation or a quantifier."""

    kind: Kind
    values: frozenset[str]
    word: str
    governed: str
    """Content word that follows it in its clause, else the one before it, else ""."""


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as it is used."""

    word: str
    value: str
    units: tuple[str, ...]
    """Units that follow it, such as ("litre", "min"), or the currency before it."""
    governed: str
    """Content word that follows it in its clause, else the one before it, else ""."""
    is_before: bool
    """Whether it precedes what it governs."""
    origin: str
    """"from" or "to" before the number, else ""."""

    @property
    def is_rank(self) -> bool:
        return self.value.endswith(".")


@dataclass(frozen=True, slots=True)
class _Clause:
    terms: tuple[str, ...]
    marks: tuple[_Mark, ...]

    def list_marks(self, kind: Kind) -> list[_Mark]:
        return [mark for mark in self.marks if mark.kind == kind]


class Claims:
    """What a text claims, as far as words show it."""

    def __init__(self, text: str) -> None:
        self._tokens = _read_tokens(text)
        self._folded = [token.casefold().replace("’", "'") for token in self._tokens]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self._folded)

    @cached_property
    def clauses(self) -> list[_Clause]:
        return [self._read_clause(start, end) for start, end in self._split()]

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Content words and numbers."""
        return tuple(term for clause in self.clauses for term in clause.terms)

    @cached_property
    def numbers(self) -> list[_Number]:
        return [
            self._read_number(i, start, end)
            for start, end in self._split()
            for i in range(start, end)
            if self._value(i)
        ]

    def list_compared(self, word: str) -> list[tuple[str, ...]]:
        """Return the content words that follow each occurrence of a word, at most three in its clause."""
        return [
            tuple(self._list_terms(i + 1, end))[:_COMPARED]
            for start, end in self._split()
            for i in range(start, end)
            if self._folded[i] == word
        ]

    def list_governed(self, word: str) -> list[str]:
        """Return the content word after each occurrence of a word."""
        return [self._govern(i, i + 1, *span) for span in self._split() for i in self._find(word, *span)]

    def _find(self, word: str, start: int, end: int) -> Iterator[int]:
        return (i for i in range(start, end) if self._folded[i] == word)

    def _split(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the clauses."""
        start = 0
        for i, word in enumerate([*self._folded, ","]):
            if word in BREAKS:
                if i > start:
                    yield start, i
                start = i + 1

    def _list_terms(self, start: int, end: int) -> Iterator[str]:
        for i in range(start, end):
            if self._is_term(i):
                yield self._value(i) or self._folded[i]

    def _is_term(self, i: int) -> bool:
        word = self._folded[i]
        return word[0].isalnum() and word not in _MARKS and word not in _STOPWORDS

    def _govern(self, start: int, end: int, first: int, last: int) -> str:
        """Return the content word that the words from `start` to `end` govern in the clause from `first` to
        `last`."""
        after = next(self._list_terms(end, last), "")
        return after or next(iter([*self._list_terms(first, start)][::-1]), "")

    def _read_clause(self, first: int, last: int) -> _Clause:
        marks: list[_Mark] = []
        i = first
        while i < last:
            phrase = next((p for p in PHRASES if tuple(self._folded[i : i + len(p)]) == p), (self._folded[i],))
            end = min(last, i + len(phrase))
            word = "" if self._is_month(i) else " ".join(phrase)
            marks += [
                _Mark(kind, values, word, self._govern(i, end, first, last)) for kind, values in _read_marks(word)
            ]
            i = end
        return _Clause(tuple(self._list_terms(first, last)), tuple(marks))

    def _is_month(self, i: int) -> bool:
        """Tell whether a word is May and no modal: inside a text, capitals tell."""
        return self._tokens[i] == "May" and (i > 0 or (len(self._tokens) > 1 and self._tokens[1][0].isdigit()))

    def _value(self, i: int) -> str:
        """Return the number at a place in digits, or ""."""
        word = self._folded[i]
        if word[0].isdigit():
            return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", word).replace("–", "-")
        if word in ORDINALS and (not i or self._folded[i - 1] not in ("per", "/")):
            return f"{ORDINALS[word]}."
        if word == "one":  # a pronoun more often than a number
            return ""
        return str(ONES[word]) if word in ONES else str(TENS[word]) if word in TENS else ""

    def _read_number(self, i: int, first: int, last: int) -> _Number:
        end, units = i + 1, list[str]()
        while end < last:
            joint = self._folded[end] in JOINTS and end + 1 < last
            unit = self._read_unit(end + joint)
            if unit is None or (joint and not units and self._folded[end] != "°"):
                break
            units.append(unit)
            end += 1 + joint
        if i > first and self._tokens[i - 1] in "$€£¥":
            units.append(UNITS[self._tokens[i - 1]])
        if end + 1 < last and self._folded[end] == "of" and self._value(end + 1):
            end = min(last, end + 3)  # "12 of 80 bids were": the 12 do not count all bids
        before = self._folded[i - 1] if i > first else ""
        return _Number(
            word=self._tokens[i],
            value=self._value(i),
            units=tuple(dict.fromkeys(units)),
            governed=self._govern(i, end, first, last),
            is_before=any(self._list_terms(end, last)),
            origin=before if before in ("from", "to") else "",
        )

    def _read_unit(self, i: int) -> str | None:
        token = self._tokens[i]
        return UNITS.get(token) or (UNITS.get(self._folded[i]) if len(token) > 3 else None)


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
    """Tell whether two words are forms of one: "sign" and "signed", "library" and "libraries", "freeze" and
    "froze"."""
    if one == other:
        return True
    if one[0].isdigit() or other[0].isdigit():
        return False
    shorter, longer = sorted((one, other), key=len)
    least = max(3, len(shorter) - 1)
    if len(longer) - len(shorter) < 5 and shorter[:least] == longer[:least]:
        return True
    return len(shorter) > 3 and len(longer) - len(shorter) < 2 and _VOWELS.sub("", one) == _VOWELS.sub("", other)


def find_altered(sentence: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the words by which a sentence claims something else than the texts that it was made from: words
    of its own, or words of the source that it leaves out. Each stands once.

    A modal, a negation or a quantifier is compared between clauses, each with those of the sources that share
    most content words with it. One that is added or left out counts only if what it governs stands on both
    sides: "did not approve" may become "rejected", but not "approved".
    """
    own, others = Claims(sentence), [Claims(text) for text in sources]
    found = [word for clause in own.clauses for word in _compare_clause(clause, others)]
    found += _compare_opposites(own, others)
    found += _compare_numbers(own, others)
    return tuple(dict.fromkeys(found))


def _has(terms: Iterable[str], term: str) -> bool:
    return bool(term) and any(own and is_same(term, own) for own in terms)


def _compare_clause(clause: _Clause, others: Sequence[Claims]) -> list[str]:
    """Return the altered marks of a clause: those against the most similar clause that it alters least."""
    shared = [
        (sum(_has(source.terms, term) for term in clause.terms), source)
        for other in others
        for source in other.clauses
    ]
    most = max((count for count, _ in shared), default=0)
    if not most:
        return []
    compare: Sequence[Callable[[_Clause, _Clause], Iterable[str]]] = (
        _compare_modals,
        _compare_negations,
        _compare_quantifiers,
    )
    results = [
        [word for function in compare for word in function(clause, source)]
        for count, source in shared
        if count == most
    ]
    return min(results, key=len)


def _leaves_out(clause: _Clause, source: _Clause, mark: _Mark) -> bool:
    """Tell whether a clause repeats most of a source's clause with what a mark governs, which it lacks."""
    repeated = sum(_has(clause.terms, term) for term in source.terms)
    return 2 * repeated > len(source.terms) and _has(clause.terms, mark.governed)


def _compare_modals(clause: _Clause, source: _Clause) -> Iterator[str]:
    own, others = clause.list_marks("modal"), source.list_marks("modal")
    for mark in own:
        if any(mark.values & other.values for other in others):
            continue
        if _has(source.terms, mark.governed) and (others or mark.word not in WEAK_MODALS):
            yield mark.word
    for other in others:
        if not own and "will" not in other.values and _leaves_out(clause, source, other):
            yield other.word


def _compare_negations(clause: _Clause, source: _Clause) -> Iterator[str]:
    own, others = clause.list_marks("negation"), source.list_marks("negation")
    if not others:
        yield from (mark.word for mark in own if _has(source.terms, mark.governed))
    if not own:
        yield from (mark.word for mark in others if _leaves_out(clause, source, mark))


def _compare_quantifiers(clause: _Clause, source: _Clause) -> Iterator[str]:
    own, others = clause.list_marks("quantifier"), source.list_marks("quantifier")
    for mark in own:
        if any(mark.values & other.values for other in others):
            continue
        is_replaced = any(_governs_same(mark, other) for other in others)
        if _has(source.terms, mark.governed) and (is_replaced or not mark.values & MAY_ADD):
            yield mark.word
    for other in others:
        is_kept = other.values & MAY_DROP or any(mark.values & other.values for mark in own)
        if not is_kept and _leaves_out(clause, source, other):
            yield other.word


def _governs_same(one: _Mark | _Number, other: _Mark | _Number) -> bool:
    return bool(one.governed) and bool(other.governed) and is_same(one.governed, other.governed)


def _compare_opposites(own: Claims, others: Sequence[Claims]) -> Iterator[str]:
    """Yield words whose opposite, or whose other degree, stands in the sources instead, or for the same thing;
    and comparing words that are followed by the other of the compared."""
    words = frozenset(word for other in others for word in other.words)
    for word in dict.fromkeys(own._folded):
        opposites = OPPOSITES.get(word, frozenset()) | _list_degrees(word)
        if word not in words:
            if opposites & words:
                yield word
            continue
        governed = own.list_governed(word)
        same = [term for other in others for term in other.list_governed(word)]
        wrong = [term for other in others for name in opposites for term in other.list_governed(name)]
        if any(_has(wrong, term) and not _has(same, term) for term in governed):
            yield word
        if word in COMPARING and _swaps(own, word, others):
            yield word


def _list_degrees(word: str) -> frozenset[str]:
    """Return the comparative of a superlative, and the reverse."""
    regular = {word[:-2] + "est"} if word.endswith("er") else {word[:-3] + "er"} if word.endswith("est") else set()
    return GRADES.get(word, frozenset()) | frozenset(regular if len(word) > 4 else ())


def _swaps(own: Claims, word: str, others: Sequence[Claims]) -> bool:
    """Tell whether a sentence compares with what the sources do not, and with those the other way round."""
    compared = own.list_compared(word)
    theirs = [term for other in others for terms in other.list_compared(word) for term in terms]
    everything = [term for other in others for term in other.terms]
    mine = [term for terms in compared for term in terms]
    is_turned = any(_has(own.terms, term) and not _has(mine, term) for term in theirs)
    return is_turned and any(
        _has(everything, terms[0]) and not _has(theirs, terms[0]) for terms in compared if terms
    )


def _compare_numbers(own: Claims, others: Sequence[Claims]) -> Iterator[str]:
    """Yield numbers that the sources have with another unit, or where they have another number."""
    theirs = [number for other in others for number in other.numbers]
    for number in own.numbers:
        same = [other for other in theirs if other.value == number.value]
        if same and not any(other.units[: len(number.units)] == number.units for other in same):
            yield " ".join((number.word, *number.units))
        elif not any(_counts_same(number, other) for other in same) and (
            any(_counts_instead(number, other) for other in theirs)
        ):
            yield number.word


def _counts_same(number: _Number, other: _Number) -> bool:
    """Tell whether two equal numbers count the same."""
    if number.origin and other.origin and number.origin != other.origin:
        return False
    return bool(number.units) or number.governed in MONTHS or _governs_same(number, other)


def _counts_instead(number: _Number, other: _Number) -> bool:
    """Tell whether two numbers stand in the same place."""
    if number.units and number.units == other.units and not number.origin:
        return True
    alike = number.is_before == other.is_before and number.is_rank == other.is_rank
    return alike and _governs_same(number, other)
