"""Which spans of the documents a sentence rests on, and which of its facts stand in none of them.

A sentence is matched against the documents' units by its words, weighted by how rare they are there. Up to
three units may share it, because a summary joins what its sources say apart. Where the words alone leave it
open, the selector is asked how well the best units answer the sentence. Agreement is not entailment: a
sentence that says the opposite in the same words passes here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tersely.quality import STOPWORDS
from tersely.summarize.types import Support
from tersely.text.sentences import split_units
from tersely.types import Document

ENOUGH = 0.6
"""Share of the sentence's weight that its units must hold when nothing else speaks for them."""
SOME = 0.35
"""The same where the selector agrees."""
AGREES = 0.5
"""Probability from which on the selector agrees."""
UNITS = 3
"""Most units that may share a sentence."""
_WORTH = 0.12
"""Share of the weight that a further unit must add."""

_WORD = re.compile(r"\w+")
_SHORT_STOPWORDS = """
    a an and are as at be but by can did do for had has he her him his how i if in is it its may me my
    no nor not of off on or our out own per she so the to too two up us via was we who why you
"""
_SHORT = frozenset(_SHORT_STOPWORDS.split())
_CODE = re.compile(
    r"(?<![\w.-])\d{5,32}(?![\w-])"
    r"|(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-])"  # network addresses
    r"|(?<![\w.-])\d{1,16}(?:[-./:]\d{1,16}){2,4}(?![\w-])"  # orders, telephones, dates
    r"|(?<![\w.-])\d{4}(?: \d{4}){2,3}(?![\w-])"  # cards
)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_IDENTIFIER = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}"  # addresses
    r"|https?://[^\s)>\]]+"
    r"|(?<![\w.~-])[A-Za-z]:\\[^\s\"'<>|]{1,255}"  # paths
    r"|(?<![\w.~/-])[\w.~-]{0,128}(?:/[\w.-]{1,128}){2,}"
    r"|(?<![\w.~/-])[\w.~-]{1,128}/[\w-]{1,128}\.\w{1,8}(?!\w)"
    # digits and letters; the length is bounded, because a long run would be looked through again and again
    r"|(?<![\w-])(?!\d+(?:[a-z]{1,3}|(?:-[a-z]+)+)\b)(?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Za-z])"
    r"[\w-]{0,63}\w(?![\w-])"
    r"|(?<!\w)\w{1,64}_\w{1,64}(?!\w)|(?<!\w)[a-z]{1,64}[A-Z]\w{0,64}(?!\w)"
)
_SPELT_NUMBERS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
"""
_ONES: Sequence[str] = _SPELT_NUMBERS.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SPELT = re.compile(  # "one" alone is a pronoun more often than a number
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<ones>{'|'.join(_ONES[1:10])}))?"
    rf"|(?P<small>{'|'.join([_ONES[0], *_ONES[2:]])}))\b",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"\b[^\W\d_a-z][\w'’]*(?:-\w+)*")

Agreement = Callable[[str, Sequence[str]], Sequence[float]]
"""How well each of some texts answers a sentence, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class _Unit:
    doc: int
    start: int
    end: int
    terms: frozenset[str]


class Sources:
    """Documents, ready to be asked what supports a sentence."""

    def __init__(self, documents: Sequence[Document], agreement: Agreement | None = None) -> None:
        self._documents = documents
        self._agreement = agreement
        self._units = [
            _Unit(
                doc,
                unit.start,
                unit.end,
                frozenset(_terms(f"{document.title or ''} {document.text[unit.start : unit.end]}")),
            )
            for doc, document in enumerate(documents)
            for unit in split_units(document.text)
        ]
        self._spread = Counter(term for unit in self._units for term in unit.terms)
        everything = "\n".join(f"{d.title or ''}\n{d.text}" for d in documents)
        self._folded = everything.casefold()
        self._numbers = {_plain(n) for n in _NUMBER.findall(everything)}
        self._numbers |= {value for _, value, _ in _spelt(everything)}
        words = _WORD.findall(everything)
        self._words = {*words, *(w.casefold() for w in words if not _common(w))}

    def support(self, sentence: str) -> tuple[Support, ...]:
        """The units that the sentence rests on, best first; none where they do not hold enough of it."""
        wanted = set(_terms(sentence))
        weight = {term: self._weight(term) for term in wanted}
        total = sum(weight.values())
        if not total:
            return ()
        chosen: list[tuple[_Unit, float]] = []
        missing = wanted
        while len(chosen) < UNITS and missing:
            gains = [sum(weight[t] for t in unit.terms & missing) / total for unit in self._units]
            best = max(range(len(gains)), key=gains.__getitem__, default=None)
            if best is None or gains[best] < _WORTH:
                break
            chosen.append((self._units[best], gains[best]))
            missing = missing - self._units[best].terms
        held = sum(gain for _, gain in chosen)
        if held < SOME or (held < ENOUGH and not self._agrees(sentence, [unit for unit, _ in chosen])):
            return ()
        return tuple(Support(u.doc, u.start, u.end, round(gain, 4)) for u, gain in chosen)

    def unknown(self, sentence: str) -> tuple[str, ...]:
        """Numbers, dates, identifiers and names of the sentence that occur in no document, in its order.

        Names are told by their capitals: one that begins the sentence counts only where another follows.
        Numbers below a hundred may be written as English words, "one" excepted.
        """
        found: dict[str, int] = {}
        for text, at in _identifiers(sentence):
            if not self._holds(text):
                found.setdefault(text, at)
        for match in _NUMBER.finditer(sentence):
            inside = any(at <= match.start() < at + len(text) for text, at in found.items())
            if not inside and _plain(match[0]) not in self._numbers:
                found.setdefault(match[0], match.start())
        for text, value, at in _spelt(sentence):
            if value not in self._numbers:
                found.setdefault(text, at)
        for name, at in _names(sentence):
            inside = any(start <= at < start + len(text) for text, start in found.items())
            parts = _WORD.findall(name)
            if not inside and any(w not in self._words and w.casefold() not in self._words for w in parts):
                found.setdefault(name, at)
        return tuple(sorted(found, key=found.__getitem__))

    def _holds(self, identifier: str) -> bool:
        """Whether a document has exactly that, and not only a longer one that begins or ends like it."""
        whole = rf"(?<!\w)(?<!\w[-@]){re.escape(identifier.casefold())}(?!\w)(?!-\w)"
        return re.search(whole, self._folded) is not None

    def _weight(self, term: str) -> float:
        return math.log(1 + (len(self._units) + 1) / (self._spread[term] + 0.5))

    def _agrees(self, sentence: str, units: Sequence[_Unit]) -> bool:
        if self._agreement is None:
            return False
        texts = [self._documents[u.doc].text[u.start : u.end] for u in units]
        return max(self._agreement(sentence, texts)) >= AGREES


def identifiers(text: str) -> list[str]:
    """Addresses, paths, names with digits or underscores, and what else is useless unless copied exactly,
    each once, in order."""
    numbers = [(match[0], match.start()) for match in _CODE.finditer(text)]
    found = sorted([*_identifiers(text), *numbers], key=lambda f: f[1])
    return list(dict.fromkeys(name for name, _ in found))


def _identifiers(text: str) -> Iterable[tuple[str, int]]:
    for match in _IDENTIFIER.finditer(text):
        yield match[0].rstrip(".,;:"), match.start()


def _terms(text: str) -> Iterable[str]:
    """Content words in lower case, without the endings that inflection changes."""
    for word in _WORD.findall(text.casefold()):
        if not _common(word):
            yield word if len(word) < 6 or word.isdigit() else word[: max(5, len(word) - 3)]


def _common(word: str) -> bool:
    return word.casefold() in STOPWORDS or word.casefold() in _SHORT


def _plain(number: str) -> str:
    """A number without thousands separators and trailing marks: 1,000 is 1000."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", number)


def _spelt(text: str) -> Iterable[tuple[str, str, int]]:
    """English numbers below a hundred that are written as words, in digits, and where they stand."""
    for match in _SPELT.finditer(text):
        value = _ONES.index((match["small"] or match["ones"] or "zero").lower())
        if match["tens"]:
            value += 20 + 10 * _TENS.index(match["tens"].lower())
        yield match[0], str(value), match.start()


def _names(sentence: str) -> Iterable[tuple[str, int]]:
    """Capitalised words and where they stand. The first word of the sentence is one only where the next is
    too, because any word may stand there; single letters and stopwords are none."""
    found = [match for match in _CAPITALISED.finditer(sentence) if match[0][0].isupper()]
    for number, match in enumerate(found):
        word = match[0]
        if len(word) < 2 or (_common(word) and word != "May"):
            continue
        follows = number + 1 < len(found) and not sentence[match.end() : found[number + 1].start()].strip()
        if sentence[: match.start()].strip(" \"'“‘(") or follows:
            yield word, match.start()
