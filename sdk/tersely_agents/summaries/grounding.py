"""Find the spans that support a sentence, and its facts that no document contains.

A sentence is compared with the units of the documents by its words, weighted by their rarity. Up to three
units together may support it, because a summary joins statements from several places. If the words alone do
not decide, the selector scores how well the best units answer the sentence. A sentence that alters what its
units say, in nearly the same words (`alterations`), has no support. This does not prove that a sentence
follows from the documents: one that is false in another way counts as supported.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tersely.split.sentences import split_units
from tersely.types import Document
from tersely_agents.quality import SHORT_STOPWORDS, STOPWORDS
from tersely_agents.summaries.alterations import find_altered
from tersely_agents.summaries.claim_words import ONES, TENS
from tersely_agents.summaries.types import Support

MIN_COVER = 0.6
"""Share of the sentence's weight that its units must cover to support it."""
MIN_COVER_IF_ANSWERED = 0.35
"""The same if the selector finds that they answer the sentence."""
MIN_ANSWER_SCORE = 0.5
"""Lowest score of a unit that answers the sentence."""
MAX_UNITS = 3
"""Largest number of units that may support a sentence together."""
_MIN_GAIN = 0.12
"""Share of the sentence's weight that each of these units must add."""

_WORD = re.compile(r"\w+")
_CODE = re.compile(
    r"(?<![\w.-])\d{5,32}(?![\w-])"
    r"|(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-])"  # network addresses
    r"|(?<![\w.-])\d{1,16}(?:[-./:]\d{1,16}){2,4}(?![\w-])"  # order numbers, telephone numbers, dates
    r"|(?<![\w.-])\d{4}(?: \d{4}){2,3}(?![\w-])"  # card numbers
)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_IDENTIFIER = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}"  # mail addresses
    r"|https?://[^\s)>\]]+"
    r"|(?<![\w.~-])[A-Za-z]:\\[^\s\"'<>|]{1,255}"  # paths
    r"|(?<![\w.~/-])[\w.~-]{0,128}(?:/[\w.-]{1,128}){2,}"
    r"|(?<![\w.~/-])[\w.~-]{1,128}/[\w-]{1,128}\.\w{1,8}(?!\w)"
    # digits and letters; the length is bounded, because a long run would take quadratic time
    r"|(?<![\w-])(?!\d+(?:[a-z]{1,3}|(?:-[a-z]+)+)\b)(?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Za-z])"
    r"[\w-]{0,63}\w(?![\w-])"
    r"|(?<!\w)\w{1,64}_\w{1,64}(?!\w)|(?<!\w)[a-z]{1,64}[A-Z]\w{0,64}(?!\w)"
)
_SPELLED = re.compile(  # "one" alone is a pronoun more often than a number
    rf"\b(?:(?P<tens>{'|'.join(TENS)})(?:[- ](?P<ones>{'|'.join([*ONES][1:10])}))?"
    rf"|(?P<small>{'|'.join(word for word in ONES if word != 'one')}))\b",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"\b[^\W\d_a-z][\w'’]*(?:-\w+)*")

ScoreTexts = Callable[[str, Sequence[str]], Sequence[float]]
"""Scores how well each text answers a sentence, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class _Unit:
    doc: int
    start: int
    end: int
    terms: frozenset[str]


class Checked(NamedTuple):
    """A checked sentence. At least one of the two fields is empty."""

    support: tuple[Support, ...]
    """The units that support the sentence, best first; none if they do not cover enough of it, or if the
    sentence alters what they say."""
    altered: tuple[str, ...]
    """Words that the sentence adds to what the documents say, or leaves out (`alterations.find_altered`)."""


class Sources:
    """Documents that may support the sentences of a summary.

    Args:
        documents: the documents.
        score_texts: decides about sentences that words alone cannot decide; None if only words count.
    """

    def __init__(self, documents: Sequence[Document], score_texts: ScoreTexts | None = None) -> None:
        self._documents = documents
        self._score_texts = score_texts
        self._units: list[_Unit] = []
        for doc, document in enumerate(documents):
            for unit in split_units(document.text):
                terms = _find_terms(f"{document.title or ''} {document.text[unit.start : unit.end]}")
                self._units.append(_Unit(doc, unit.start, unit.end, frozenset(terms)))
        self._frequencies = Counter(term for unit in self._units for term in unit.terms)
        full_text = "\n".join(f"{d.title or ''}\n{d.text}" for d in documents)
        self._folded = full_text.casefold()
        self._numbers = {_normalize_number(n) for n in _NUMBER.findall(full_text)}
        self._numbers |= {value for _, value, _ in _find_spelled_numbers(full_text)}
        words = _WORD.findall(full_text)
        self._words = {*words, *(w.casefold() for w in words if not _is_common(w))}

    def check(self, sentence: str) -> Checked:
        """Return the units that support the sentence, and the words by which it alters what they say."""
        units = self.find_units(sentence)
        altered = self._find_altered(sentence, units)
        return Checked(() if altered else units, altered)

    def find_units(self, sentence: str) -> tuple[Support, ...]:
        """Return the units with the sentence's words, best first, even if they say something else; none if
        they do not cover enough of it."""
        missing = set(_find_terms(sentence))
        weight = {term: self._weigh(term) for term in missing}
        total = sum(weight.values())
        if not total:
            return ()
        chosen: list[tuple[_Unit, float]] = []
        while len(chosen) < MAX_UNITS and missing:
            gains = [sum(weight[t] for t in unit.terms & missing) / total for unit in self._units]
            best = max(range(len(gains)), key=gains.__getitem__, default=None)
            if best is None or gains[best] < _MIN_GAIN:
                break
            chosen.append((self._units[best], gains[best]))
            missing = missing - self._units[best].terms
        covered = sum(gain for _, gain in chosen)
        if covered < MIN_COVER_IF_ANSWERED:
            return ()
        if covered < MIN_COVER and not self._is_answered(sentence, [unit for unit, _ in chosen]):
            return ()
        return tuple(Support(u.doc, u.start, u.end, round(gain, 4)) for u, gain in chosen)

    def _find_altered(self, sentence: str, units: Sequence[Support]) -> tuple[str, ...]:
        """Return the altered words. The sentence is compared with these units, and with all units that share
        as many words with it as the best of these."""
        if not units:
            return ()
        terms = set(_find_terms(sentence))
        places = {(unit.doc, unit.start) for unit in units}
        most = max(len(terms & unit.terms) for unit in self._units)
        compared = [u for u in self._units if (u.doc, u.start) in places or len(terms & u.terms) == most]
        titles = [self._documents[unit.doc].title or "" for unit in compared]
        texts = [self._documents[unit.doc].text[unit.start : unit.end] for unit in compared]
        return find_altered(sentence, [f"{title}: {text}" for title, text in zip(titles, texts, strict=True)])

    def find_unknown(self, sentence: str) -> tuple[str, ...]:
        """Return numbers, dates, identifiers and names of the sentence that no document contains, in order.

        Names are recognised by their capitals. A name at the start of the sentence counts only if another
        follows. Numbers below a hundred may be written as English words, except "one".
        """
        unknown: dict[str, int] = {}

        def is_inside(position: int) -> bool:
            return any(start <= position < start + len(text) for text, start in unknown.items())

        for text, start in _find_identifiers(sentence):
            if not self._contains(text):
                unknown.setdefault(text, start)
        for match in _NUMBER.finditer(sentence):
            if not is_inside(match.start()) and _normalize_number(match[0]) not in self._numbers:
                unknown.setdefault(match[0], match.start())
        for text, value, start in _find_spelled_numbers(sentence):
            if value not in self._numbers:
                unknown.setdefault(text, start)
        for name, start in _find_names(sentence):
            parts = _WORD.findall(name)
            is_known = all(w in self._words or w.casefold() in self._words for w in parts)
            if not is_known and not is_inside(start):
                unknown.setdefault(name, start)
        return tuple(sorted(unknown, key=unknown.__getitem__))

    def _contains(self, identifier: str) -> bool:
        """Return whether a document contains the identifier, not only as a part of a longer one."""
        whole = rf"(?<!\w)(?<!\w[-@]){re.escape(identifier.casefold())}(?!\w)(?!-\w)"
        return re.search(whole, self._folded) is not None

    def _weigh(self, term: str) -> float:
        """Return the inverse document frequency of a term, over units."""
        return math.log(1 + (len(self._units) + 1) / (self._frequencies[term] + 0.5))

    def _is_answered(self, sentence: str, units: Sequence[_Unit]) -> bool:
        if self._score_texts is None:
            return False
        texts = [self._documents[u.doc].text[u.start : u.end] for u in units]
        return max(self._score_texts(sentence, texts)) >= MIN_ANSWER_SCORE


def find_identifiers(text: str) -> list[str]:
    """Find addresses, paths, codes, names with digits or underscores, and everything else that must be copied
    exactly. Return each once, in the order of the text."""
    codes = [(match[0], match.start()) for match in _CODE.finditer(text)]
    matches = sorted([*_find_identifiers(text), *codes], key=lambda match: match[1])
    return list(dict.fromkeys(name for name, _ in matches))


def _find_identifiers(text: str) -> Iterable[tuple[str, int]]:
    """Find identifiers that are not only digits, and their positions."""
    for match in _IDENTIFIER.finditer(text):
        yield match[0].rstrip(".,;:"), match.start()


def _find_terms(text: str) -> Iterable[str]:
    """Find content words in lower case, without endings that inflection may change."""
    for word in _WORD.findall(text.casefold()):
        if not _is_common(word):
            yield word if len(word) < 6 or word.isdigit() else word[: max(5, len(word) - 3)]


def _is_common(word: str) -> bool:
    return word.casefold() in STOPWORDS or word.casefold() in SHORT_STOPWORDS


def _normalize_number(number: str) -> str:
    """Remove thousands separators: 1,000 becomes 1000."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", number)


def _find_spelled_numbers(text: str) -> Iterable[tuple[str, str, int]]:
    """Find English number words below a hundred: the words, the number in digits, and the position."""
    for match in _SPELLED.finditer(text):
        value = ONES[(match["small"] or match["ones"] or "zero").lower()]
        if match["tens"]:
            value += TENS[match["tens"].lower()]
        yield match[0], str(value), match.start()


def _find_names(sentence: str) -> Iterable[tuple[str, int]]:
    """Find capitalised words and their positions, without single letters and stopwords.

    The first word of the sentence is a name only if the next word is capitalised too.
    """
    matches = [match for match in _CAPITALISED.finditer(sentence) if match[0][0].isupper()]
    for number, match in enumerate(matches):
        word = match[0]
        if len(word) < 2 or (_is_common(word) and word != "May"):
            continue
        is_followed = (
            number + 1 < len(matches) and not sentence[match.end() : matches[number + 1].start()].strip()
        )
        if sentence[: match.start()].strip(" \"'“‘(") or is_followed:
            yield word, match.start()
