"""Match the parts of structure with the question, and choose those that the model should read.

A part is a unit of structure, such as a row or a log entry, or a head of one. Its match is higher the more
words of the question it contains. Rare words count most, and a word that is only in the part's heads counts
half. Rare errors have higher matches, and so do the events next to them. A match raises the score that the
model gives. The model reads only the parts with the best matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tersely.score.dates import take_dates
from tersely.score.fusion import sigmoid
from tersely.score.matching import Floats
from tersely.score.protocol import Scores
from tersely.score.words import QUESTION_WORDS
from tersely.split.documents import Split
from tersely.units import Unit

MAX_READ = 40_000
"""Largest number of code points of structure that the model reads in all documents together: about 10,000
tokens."""
MAX_READ_IF_CERTAIN = 1_000
"""A smaller limit, for questions that exact matches probably answer: there are parts with a match of at least
_CERTAIN, and they have at most this many code points together."""
_CERTAIN = 0.9
"""Lowest match of a part that, together with its heads, contains all words of the question."""

_MATCH_LOGIT = 2.2
"""Amount by which a match of 1 raises the logit of the model's score. Fitted to the questions of
benchmarks/real_results/training by a softmax over the parts of each result: see "Matches raise the logit" in
training/LOG.md."""

_MAX_TERMS = 48
_HEAD_WEIGHT = 0.5
"""Weight of a word that is in a part's heads, but not in the part itself."""
_FULL_MATCH = 0.95
"""Match of a part that contains all words of the question by itself."""

_WORD = re.compile(r"\d[\d.,:/-]*\d|\w+(?:[._/-]\w+)*")
_INNER = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_A-Za-z]+")
_SUFFIX = re.compile(r"(?<=[a-z]{3})(?:ies|es|s|ed|ing|ly)$")

_SEVERE = re.compile(
    r"(?<![^\W_])(?:(?:errors?|exceptions?|fail(?:ed|ure|ures|s|ing)?|fatal|critical|panic(?:ked)?|traceback"
    r"|refused|denied|abort(?:ed)?|crash(?:ed)?|timed?[ -]?out|unreachable|corrupt(?:ed)?|killed|oom|segfault"
    r"|e\d{4})|(?P<warning>warn(?:ing)?s?|deprecated|retry(?:ing)?))"
    r"(?![a-z])(?![\"']?\s*[:=]\s*[\"']?(?:0|null|none|false|no|ok|\[\]|\{\}|[\"'])(?![\w.]))",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"(?:\bno|\b0|\bwithout|\bzero|\bnever)\s+$", re.IGNORECASE)
_NAMED = re.compile(r"[A-Z]\w*(?:Error|Exception)\b")
_WARNING = 0.4
"""Severity of a warning relative to an error."""
_ASKS_FOR_FAILURES = re.compile(
    r"\b(?:err|fail|wrong|crash|exception|why|problem|issue|broke|break|caus|time[ds]?[ -]?out|warn|refus"
    r"|trace|bug|panic|abort|unreachable|incident|outage|went down|happened)",
    re.IGNORECASE,
)
_FAILURE, _UNASKED_FAILURE = 0.85, 0.3
"""Matches of a rare error: the first if the question asks about failures, else the second."""
_NEAR = (0.5, 0.25)
"""Shares of an event's match that its neighbours get, and the neighbours of these."""

Parts = Mapping[int, Unit]
"""The members of structure and the heads that they need, by their position among all units of the request,
ascending. A head that is not a member itself is scored as prose."""


def find_parts(split: Split) -> Parts:
    """Find the parts of structure among all units."""
    members = {at for at, unit in enumerate(split.units) if unit.is_member}
    heads = {need for at in members for need in split.units[at].link.needs}
    return {at: split.units[at] for at in sorted(members | heads)}


class Structure:
    """The members of structure of a request, and how well they match the question.

    Attributes:
        positions: (members,) position of each member among all units.
        matches: (members,) how well each member matches, in [0, 1].
        is_read: (units,) true for each unit that the model should read.
    """

    def __init__(self, query: str, split: Split) -> None:
        parts = find_parts(split)
        units = [*parts.values()]
        is_member = np.array([unit.is_member for unit in units], dtype=np.bool_)
        matches = match_parts(query, [document.text for document in split.documents], parts)
        self.matches = matches[is_member]
        self.positions = np.array([*parts], dtype=np.int64)[is_member]
        self._documents = np.array([unit.doc for unit in units], dtype=np.int64)[is_member]
        self.is_read = np.ones(len(split.units), dtype=np.bool_)
        if len(self.positions):
            self.is_read[self.positions] = choose_to_read(units, matches)[is_member]

    def merge(self, scores: Scores, documents: Sequence[int]) -> Scores:
        """Raise the model's scores of the parts: sigmoid(logit(score) + _MATCH_LOGIT * match).

        A part scores at least its match if the match is _CERTAIN or more, or if the model has not read the
        part. `documents` are those that the model was given. The scores of parts of other documents do not
        change.
        """
        was_given = np.isin(self._documents, documents)
        positions, matches = self.positions[was_given], self.matches[was_given]
        keeps_match = ~scores.read[positions] | (matches >= _CERTAIN)
        lowest = np.where(keeps_match, matches, 0.0)

        def raise_scores(by_model: Floats) -> Floats:
            raised = by_model.copy()
            merged = sigmoid(_logit(by_model[positions]) + _MATCH_LOGIT * matches)
            raised[positions] = np.maximum(merged, lowest)
            return raised

        raised = raise_scores(scores.scores)
        relevance = scores.relevance.copy()
        np.maximum.at(relevance, self._documents[was_given], raised[positions])
        return replace(scores, scores=raised, packing=raise_scores(scores.packing), relevance=relevance)


def rate_errors(split: Split) -> Floats:
    """Return how much each unit looks like a rare error or is next to one, in [0, 1], shape (units,)."""
    parts = find_parts(split)
    out = np.zeros(len(split.units))
    if parts:
        units = [*parts.values()]
        severity = rate_severity([document.text for document in split.documents], units)
        out[[*parts]] = _follow_time(severity, units)
    return out


def find_terms(query: str) -> list[str]:
    """Return the terms of a question: its words without endings, in lower case, each once.

    Common words are left out. A compound such as "userName" also gives its inner words. A word and the number
    after it are also one term, such as "room 12", because another record may contain the two apart.
    """
    words: list[str] = []
    for word in _WORD.findall(query):
        words.append(word)
        inner = _INNER.findall(word)
        if len(inner) > 1:
            words += inner
    terms = [_stem(word) for word in words if not QUESTION_WORDS.fullmatch(word)]
    terms += [
        f"{_stem(word)} {number.lower()}"
        for word, number in pairwise(_WORD.findall(query))
        if number[0].isdigit() and word[0].isalpha() and not QUESTION_WORDS.fullmatch(word)
    ]
    return [term for term in dict.fromkeys(terms) if term][:_MAX_TERMS]


def contains_term(term: str, text: str) -> bool:
    """Return whether a text in lower case contains a term: a number as a whole, a word by its beginning."""
    return _compile(term).search(text) is not None


def match_parts(query: str, texts: Sequence[str], parts: Parts) -> Floats:
    """Return how well each part matches the question, in [0, 1], shape (parts,).

    `texts` are the texts of all documents.
    """
    if not parts:
        return np.zeros(0)
    words = _match_words(query, texts, parts)
    units = [*parts.values()]
    severity = rate_severity(texts, units)
    weight = _FAILURE if _ASKS_FOR_FAILURES.search(query) else _UNASKED_FAILURE
    matches = 1.0 - (1.0 - words) * (1.0 - weight * severity)
    matches[[unit.link.role == "markup" or not unit.is_member for unit in units]] = 0.0
    return _follow_time(matches, units)


def _match_words(query: str, texts: Sequence[str], parts: Parts) -> Floats:
    """Return the match of each part by words alone: from the share of the question's words in it."""
    rest, dates = take_dates(query)
    patterns = [*map(_compile, find_terms(rest)), *dates]
    if not patterns:
        return np.zeros(len(parts))
    units = [*parts.values()]
    in_part = _find(patterns, texts, units)
    in_heads = _find_in_heads(in_part, parts)
    in_either = np.maximum(in_part, in_heads)
    is_content = _is_content(units)
    frequency = in_either[is_content].sum(axis=0)
    weights = np.where(frequency > 0, np.log1p(is_content.sum() / np.maximum(frequency, 1)), 0.0)
    if not weights.any():
        return np.zeros(len(parts))
    reached = np.maximum(in_part, _HEAD_WEIGHT * in_heads) @ weights
    # If most words of a question occur in no part, the other words count less.
    known = np.count_nonzero(weights) / len(patterns)
    share = reached / weights.sum() * min(1.0, 2.0 * known)
    matches = np.where(is_content, _FULL_MATCH * share**2, 0.0)
    if known == 1.0:
        is_complete = np.isclose(in_either @ weights, weights.sum()) & in_part.any(axis=1) & is_content
        matches[is_complete] = np.maximum(matches[is_complete], _CERTAIN)
    return matches


def _is_content(units: Sequence[Unit]) -> NDArray[np.bool_]:
    """Return which units are members with content, not frames or markup, shape (units,)."""
    return np.array([unit.is_member and unit.link.role == "content" for unit in units], dtype=np.bool_)


def rate_severity(texts: Sequence[str], units: Sequence[Unit]) -> Floats:
    """Return how much each unit looks like a rare error, in [0, 1], shape (units,).

    The more units are errors, the less each error counts.
    """
    severity = np.zeros(len(units))
    for rows, text in _by_document(texts, units):
        document_units = units[rows]
        starts = np.array([unit.start for unit in document_units])
        for found in (*_SEVERE.finditer(text), *_NAMED.finditer(text)):
            at = int(np.searchsorted(starts, found.start(), side="right")) - 1
            if at < 0 or found.start() >= document_units[at].end:
                continue
            if _NEGATED.search(text, max(0, found.start() - 12), found.start()):
                continue
            is_warning = found.re is _SEVERE and found["warning"]
            row = rows.start + at
            severity[row] = max(severity[row], _WARNING if is_warning else 1.0)
    is_error = severity >= 1.0
    # If every unit is an error, being one says nothing.
    severity[is_error] *= 1.0 - is_error.mean()
    return severity


def _follow_time(scores: Floats, units: Sequence[Unit]) -> Floats:
    """Lower the scores of events that repeat others, and raise those near an event with a high score."""
    is_event = [unit.link.series is not None and unit.link.series.flows for unit in units]
    if not any(is_event):
        return scores
    out = scores.copy()
    alike: dict[tuple[object, str | None, float], list[int]] = {}
    for row in np.flatnonzero(is_event).tolist():
        link = units[row].link
        alike.setdefault((link.series, link.shape, round(float(scores[row]), 2)), []).append(row)
    for rows in alike.values():
        # The first and the last of equal events show how long they went on, so both keep their scores.
        for rank, row in enumerate([rows[0], *rows[:0:-1]]):
            out[row] /= 1.0 + 0.5 * max(0, rank - 1)
    near = np.zeros(len(units))
    for distance, share in enumerate(_NEAR, 1):
        for row in np.flatnonzero(out > 0.3).tolist():
            for other in (row - distance, row + distance):
                if 0 <= other < len(units) and units[other].link.series is units[row].link.series:
                    near[other] = max(near[other], share * out[row])
    return np.where(is_event, np.maximum(out, near), out)


def _by_document(texts: Sequence[str], units: Sequence[Unit]) -> Iterator[tuple[slice, str]]:
    """Yield the slice of the units of each document that has any, and the text of the document."""
    start = 0
    for stop in range(1, len(units) + 1):
        if stop == len(units) or units[stop].doc != units[start].doc:
            yield slice(start, stop), texts[units[start].doc]
            start = stop


def choose_to_read(units: Sequence[Unit], matches: Floats) -> NDArray[np.bool_]:
    """Return which units the model should read: the best within the limit, spread evenly among equals."""
    lengths = np.array([unit.end - unit.start for unit in units], dtype=np.int64)
    is_content = _is_content(units)
    certain = int(lengths[matches >= _CERTAIN].sum())
    limit = MAX_READ_IF_CERTAIN if 0 < certain <= MAX_READ_IF_CERTAIN else MAX_READ
    if lengths[is_content].sum() <= limit:
        return is_content
    order = np.lexsort((_spread(len(units)), -matches))
    order = order[is_content[order] & (lengths[order] <= limit)]
    chosen = np.zeros(len(units), dtype=np.bool_)
    chosen[order[np.cumsum(lengths[order]) <= limit]] = True
    return chosen


def _spread(count: int) -> Floats:
    """Return a rank for each row (golden ratio). For any n, the n rows of lowest rank are spread evenly."""
    golden = (np.arange(count) * 0.6180339887498949) % 1.0
    return np.argsort(np.argsort(golden, kind="stable"), kind="stable").astype(np.float64)


def _find(patterns: Sequence[re.Pattern[str]], texts: Sequence[str], units: Sequence[Unit]) -> Floats:
    """Return 1.0 if a match of a pattern begins in a unit, else 0.0, shape (units, patterns)."""
    is_found = np.zeros((len(units), len(patterns)))
    starts = np.array([unit.start for unit in units])
    ends = np.array([unit.end for unit in units])
    for rows, text in _by_document(texts, units):
        lower = _lower(text)
        for column, pattern in enumerate(patterns):
            found = np.fromiter((match.start() for match in pattern.finditer(lower)), dtype=np.int64)
            at = np.searchsorted(starts[rows], found, side="right") - 1
            is_inside = (at >= 0) & (found < ends[rows][np.maximum(at, 0)])
            is_found[rows.start + at[is_inside], column] = 1.0
    return is_found


def _stem(word: str) -> str:
    return _SUFFIX.sub("", word.lower())


def _compile(term: str) -> re.Pattern[str]:
    """Return a pattern that matches words that begin with a term, and numbers that equal it."""
    word, _, number = term.partition(" ")
    if number:
        return re.compile(
            rf"(?<![^\W_]){re.escape(word)}[a-z]{{0,3}}[^\w\n]{{1,3}}{re.escape(number)}(?!\d|\.\d)"
        )
    escaped = re.escape(term)
    whole = rf"(?<![\d.]){escaped}(?!\d|\.\d)"
    return re.compile(whole if term[0].isdigit() else rf"(?<![^\W_]){escaped}")


def _find_in_heads(in_part: Floats, parts: Parts) -> Floats:
    """Return 1.0 for each term in the heads that a part needs, else 0.0, shape (parts, terms)."""
    rows = {position: row for row, position in enumerate(parts)}
    in_heads = np.zeros_like(in_part)
    known: dict[tuple[int, ...], Floats] = {}
    for row, unit in enumerate(parts.values()):
        if not (unit.is_member and unit.link.needs):
            continue
        needs = unit.link.needs
        if needs not in known:
            known[needs] = in_part[[rows[need] for need in needs]].max(axis=0)
        in_heads[row] = known[needs]
    return in_heads


def _lower(text: str) -> str:
    """Return the text in lower case, with the same offsets."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower()[0] for c in text)


def _logit(probabilities: Floats) -> Floats:
    """Return the logits of probabilities. Those of 0 and 1 are finite."""
    inside = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return np.log(inside / (1.0 - inside))
