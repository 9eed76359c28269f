"""Hold back documents that echo the question: tricks to be ranked first, and lists of questions.

An echo is a sentence that contains nearly every word of the question. Honest texts rarely have one: for 984
held-out training questions, no document had two. If at least half of a document's sentences are echoes, only
the best one competes with other documents, and the others are held back: their scores are lowered
(training/LOG.md).

In a log or a table, every row may contain the words of the question, while the rest of the row is the answer.
So rows are held back only if they say the same apart from the words of the question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tersely.score.features import EXACT_FEATURES, Matches
from tersely.score.matching import Floats
from tersely.score.protocol import ScoredInput
from tersely.score.structure import contains_term, find_terms
from tersely.score.words import FILLER_WORDS, split_terms
from tersely.split.documents import Split
from tersely.units import Unit

ECHO_SHARE = 0.9
"""Share of the weight of the question's terms that an echo contains."""

MIN_ECHOES = 3
MIN_TERMS = 5
"""Smallest number of terms of a question that a document can echo. All terms of a shorter question may well
be in every sentence."""

MIN_WORDS = 3
"""Smallest number of words of a question, not counting "who", "the" and the like, for which parts of
structure are held back."""

HELD_BACK_SHARE = 0.01
"""Share of a score that remains when its unit is held back."""

_COVERAGE = EXACT_FEATURES.index("coverage")

_ASCENDING_SHARE = 0.9
"""Smallest share of ascending steps in a column of numbers that only counts rows or tells the time."""
_NUMBER = re.compile(r"\d+(?:[.,:/t-]\d+)*")
_DIGITS = re.compile(r"\d+")


def find_held_back(m: Matches, logits: Floats, documents: Sequence[ScoredInput]) -> NDArray[np.bool_]:
    """Return which sentences are held back: in documents that echo the question, all but the best one.

    A document echoes the question if at least three of its sentences are echoes, and these are at least half
    of its units. A part of structure is never an echo, because every line of a log may contain the words of
    the question.
    """
    if len(m.terms) < MIN_TERMS:
        return np.zeros(len(logits), dtype=np.bool_)
    return _hold_back(m.exact[:, _COVERAGE] >= ECHO_SHARE, logits, documents)


def find_held_back_by_words(
    query: str, texts: Sequence[str], logits: Floats, documents: Sequence[ScoredInput]
) -> NDArray[np.bool_]:
    """Return the same as `find_held_back`, for a question in a script that the vocabulary does not know.

    All words of the question weigh the same. `texts` are the sentences of all documents.
    """
    terms = set(split_terms(query))
    if len(terms) < MIN_TERMS:
        return np.zeros(len(logits), dtype=np.bool_)
    counts = np.array([len(terms.intersection(split_terms(text))) for text in texts])
    return _hold_back(counts >= ECHO_SHARE * len(terms), logits, documents)


def _hold_back(
    is_echo: NDArray[np.bool_], logits: Floats, documents: Sequence[ScoredInput]
) -> NDArray[np.bool_]:
    held_back = np.zeros(len(logits), dtype=np.bool_)
    document_numbers = np.repeat(np.arange(len(documents)), [len(d.units) for d in documents])
    is_prose = np.array([not unit.divisible for document in documents for unit in document.units])
    echo_counts = np.bincount(document_numbers[is_prose & is_echo], minlength=len(documents))
    for number in np.flatnonzero(echo_counts >= MIN_ECHOES):
        sentences = np.flatnonzero(document_numbers == number)
        if 2 * echo_counts[number] >= len(sentences):
            held_back[sentences] = True
            held_back[sentences[np.argmax(logits[sentences])]] = False
    return held_back


def lower_parts(query: str, split: Split, scores: Floats) -> Floats:
    """Return the share of its score that each unit keeps, less than 1 for parts that echo the question.

    A block echoes the question if at least three of its parts contain nearly all words of the question, and
    these parts are at least half of the block's text. These parts are grouped by what else they say. Only the
    best of each group keeps its score; the others are held back. If there are at most half as many groups as
    echoes, the best ones are lowered too: the second best keeps a half, the third best a third, and so on.
    Events are ignored here: they are expected to repeat, and `structure` lowers those that do.
    """
    shares = np.ones(len(split.units))
    terms = [term for term in find_terms(query) if " " not in term]
    if len(set(split_terms(query))) < MIN_TERMS or len(terms) < MIN_WORDS:
        return shares
    for positions in _list_blocks(split.units):
        units = [split.units[position] for position in positions]
        echoes = _find_echoes(terms, units, split)
        if len(echoes) < MIN_ECHOES:
            continue
        alike: dict[frozenset[str], list[int]] = {}
        records = _find_records(echoes, units, split)
        for at, rest in zip(echoes, _list_rests(query, records), strict=True):
            alike.setdefault(rest, []).append(positions[at])
        best = sorted(
            (max(repeats, key=lambda position: scores[position]) for repeats in alike.values()),
            key=lambda position: -scores[position],
        )
        shares[[positions[at] for at in echoes]] = HELD_BACK_SHARE
        shares[best] = 1.0 / np.arange(1, len(best) + 1) if 2 * len(best) <= len(echoes) else 1.0
    return shares


def _list_blocks(units: Sequence[Unit]) -> Iterator[list[int]]:
    """Yield the positions of the parts of each block: an opened block, a series, or a list."""
    positions: list[int] = []
    last: Unit | None = None
    for at, unit in enumerate(units):
        if not (unit.divisible and unit.link.role == "content") or (
            unit.link.series is not None and unit.link.series.flows
        ):
            continue
        if last is not None and not _are_in_one_block(last, unit):
            yield positions
            positions = []
        positions.append(at)
        last = unit
    if positions:
        yield positions


def _are_in_one_block(part: Unit, following: Unit) -> bool:
    """Return whether a part and the one after it are in the same block."""
    if part.doc != following.doc:
        return False
    return part.parent == following.parent or part.link.series is following.link.series


def _find_echoes(terms: Sequence[str], parts: Sequence[Unit], split: Split) -> dict[int, str]:
    """Return the texts of the parts of a block that contain the terms, by their index in `parts`.

    The result is empty if these texts are less than half of the block.
    """
    echoes: dict[int, str] = {}
    room = sum(part.end - part.start for part in parts) / 2  # for parts that are not echoes
    for at, unit in enumerate(parts):
        text = split.text(unit).lower()
        if _covers(terms, text):
            echoes[at] = text
            continue
        room -= unit.end - unit.start
        if room < 0:
            return {}
    return echoes


def _find_records(echoes: Mapping[int, str], parts: Sequence[Unit], split: Split) -> list[str]:
    """Return the text of each echo.

    If it is the only echo in its series, the series is a record that was divided, and the text of its other
    parts is added.
    """
    counts = Counter(id(parts[at].link.series) for at in echoes)
    others: dict[int, list[str]] = {}
    for at, unit in enumerate(parts):
        if at not in echoes and counts[id(unit.link.series)] == 1:
            others.setdefault(id(unit.link.series), []).append(split.text(unit).lower())
    return ["\n".join([text, *others.get(id(parts[at].link.series), ())]) for at, text in echoes.items()]


def _covers(terms: Sequence[str], text: str) -> bool:
    """Return whether a text in lower case contains nearly all terms."""
    max_missing = (1.0 - ECHO_SHARE) * len(terms) + 1e-9
    missing = 0
    for term in terms:
        # Most parts lack the first terms, and looking for a substring is fast.
        if term not in text or not contains_term(term, text):
            missing += 1
            if missing > max_missing:
                return False
    return True


def _list_rests(query: str, texts: Sequence[str]) -> list[frozenset[str]]:
    """Return the words and numbers of each text that tell it apart from the others.

    Left out are words of the question, words in at least half of the texts, words that say nothing, and
    numbers that only count the texts or tell the time.
    """
    query_terms = tuple(find_terms(query))
    word_sets = [
        {
            word
            for word in split_terms(_NUMBER.sub(" ", text))
            if not word.startswith(query_terms) and not FILLER_WORDS.fullmatch(word)
        }
        for text in texts
    ]
    counts = Counter(word for words in word_sets for word in words)
    common = {word for word, count in counts.items() if 2 * count >= len(texts)}
    rows = [_NUMBER.findall(text) for text in texts]
    for column in range(min(map(len, rows))):
        values = [[_sort_key(digits) for digits in _DIGITS.findall(row[column])] for row in rows]
        ascending = sum(a < b for a, b in pairwise(values))
        if ascending >= _ASCENDING_SHARE * (len(values) - 1):
            for row in rows:
                row[column] = ""
    return [
        frozenset((words - common).union(filter(None, row)))
        for words, row in zip(word_sets, rows, strict=True)
    ]


def _sort_key(digits: str) -> tuple[int, str]:
    """Return a key that sorts like the number, however long it is."""
    significant = digits.lstrip("0")
    return len(significant), significant
