"""Score the parts of structure by the words of the question, and choose those that a model should read.

A record says little that a language model could add to: it holds the names and numbers that are asked for, or
it does not. So the share of the question's words that a part holds, the rarest counting most, is most of its
score. What its heads and its name hold counts half. A model reads only the best parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tersely.records.parts import Link

Floats = NDArray[np.float64]

READ = 6_000
"""Code points of structure that a model reads of all documents together: about 2,000 tokens."""

_MOST_TERMS = 48
_CONTEXT = 0.5
"""What a word counts that stands in a head or a name above the part, not in it."""
_MATCH = 0.95
"""Score of a part that holds all words of the question."""

_WORD = re.compile(r"\d[\d.,:/-]*\d|\w+(?:[._/-]\w+)*")
_INNER = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_A-Za-z]+")
_SUFFIX = re.compile(r"(?<=[a-z]{3})(?:ies|es|s|ed|ing|ly)$")
_COMMON = re.compile(
    r"""a|about|all|also|am|an|and|any|are|as|at|be|been|before|by|can|could|did|do|does|each|find|for|from|get
    |give|had|has|have|how|i|if|in|into|is|it|its|many|me|much|my|no|not|of|on|or|our|please|show|so|some|tell
    |than|that|the|their|them|then|there|these|they|this|those|to|under|up|us|was|we|were|what|when|where
    |which|who|whom|whose|why|will|with|would|you|your""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PartText:
    """A part with the document that it stands in."""

    doc: int
    position: int
    start: int
    end: int
    link: Link


def find_terms(query: str) -> list[str]:
    """The words of a question in lower case, without common words and without endings, each once."""
    words: list[str] = []
    for word in _WORD.findall(query):
        words.append(word)
        inner = _INNER.findall(word)
        if len(inner) > 1:
            words += inner
    terms = [_SUFFIX.sub("", word.lower()) for word in words if not _COMMON.fullmatch(word)]
    return [term for term in dict.fromkeys(terms) if term][:_MOST_TERMS]


def match(query: str, texts: Sequence[str], parts: Sequence[PartText]) -> Floats:
    """How well each part matches the question, in [0, 1], shape (parts,).

    `texts` are those of the documents. `parts` are sorted by document and place.
    """
    terms = find_terms(query)
    if not terms or not parts:
        return np.zeros(len(parts))
    held = _find(terms, texts, parts)
    inside = np.array([not part.link.is_frame for part in parts])
    frequency = held[inside].sum(axis=0)
    weights = np.where(frequency > 0, np.log1p(inside.sum() / np.maximum(frequency, 1)), 0.0)
    if not weights.any():
        return np.zeros(len(parts))
    reached = np.maximum(held, _CONTEXT * _find_above(held, parts)) @ weights
    # A question most of whose words occur nowhere is not answered by the few that do.
    known = np.count_nonzero(weights) / len(terms)
    share = reached / weights.sum() * min(1.0, 2.0 * known)
    return np.where(inside, _MATCH * share**2, 0.0)


def choose_to_read(parts: Sequence[PartText], scores: Floats) -> NDArray[np.bool_]:
    """Which parts a model should read: the best, and of equals those that are spread most evenly."""
    lengths = np.array([part.end - part.start for part in parts], dtype=np.int64)
    inside = np.array([not part.link.is_frame for part in parts], dtype=np.bool_)
    if lengths[inside].sum() <= READ:
        return inside
    order = np.lexsort((_spread(len(parts)), -scores))
    order = order[inside[order]]
    chosen = np.zeros(len(parts), dtype=np.bool_)
    chosen[order[np.cumsum(lengths[order]) <= READ]] = True
    return chosen


def _spread(count: int) -> Floats:
    """Ranks of 0..count-1 by which any first few of them are spread evenly (van der Corput's sequence)."""
    golden = (np.arange(count) * 0.6180339887498949) % 1.0
    return np.argsort(np.argsort(golden, kind="stable"), kind="stable").astype(np.float64)


def _find(terms: Sequence[str], texts: Sequence[str], parts: Sequence[PartText]) -> Floats:
    """1.0 where a part holds a term, shape (parts, terms)."""
    held = np.zeros((len(parts), len(terms)))
    docs = np.array([part.doc for part in parts])
    starts = np.array([part.start for part in parts])
    ends = np.array([part.end for part in parts])
    for doc in sorted({part.doc for part in parts}):
        first, stop = np.searchsorted(docs, [doc, doc + 1])
        text = _lower(texts[doc])
        for column, term in enumerate(terms):
            found = np.fromiter(_occurrences(term, text), dtype=np.int64)
            rows = np.searchsorted(starts[first:stop], found, side="right") - 1 + first
            rows = rows[(rows >= first) & (found < ends[np.maximum(rows, 0)])]
            held[rows, column] = 1.0
    return held


def _occurrences(term: str, text: str) -> Iterable[int]:
    """Where words that begin with a term stand in a text; a number counts only as a whole."""
    escaped = re.escape(term)
    pattern = rf"(?<![\d.]){escaped}(?!\d|[.,]\d)" if term[0].isdigit() else rf"(?<![^\W_]){escaped}"
    return (found.start() for found in re.finditer(pattern, text))


def _find_above(held: Floats, parts: Sequence[PartText]) -> Floats:
    """What the parts that each part needs hold, shape (parts, terms)."""
    row = {(part.doc, part.position): number for number, part in enumerate(parts)}
    above = np.zeros_like(held)
    known: dict[tuple[int, tuple[int, ...]], Floats] = {}
    for number, part in enumerate(parts):
        if not part.link.needs:
            continue
        key = part.doc, part.link.needs
        if key not in known:
            known[key] = held[[row[part.doc, need] for need in part.link.needs]].max(axis=0)
        above[number] = known[key]
    return above


def _lower(text: str) -> str:
    """The text in lower case, with the same offsets."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower()[0] for c in text)
