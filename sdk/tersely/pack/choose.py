"""The third step of a compression: choose the units to keep.

With a threshold, keep those that reach it. Under a limit, keep the best that fit. With a level of detail,
keep the best of each document, up to the characters that the level allows. Keep a sentence of running text or
a record of a series only once, unless it is very short.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tersely.options import CompressionOptions
from tersely.pack.fill import Candidate, fill_level, fit, list_positions, sort_by_priority
from tersely.pack.render import Rendered, Renderer, join_documents
from tersely.score.protocol import Scored, Scores
from tersely.split.documents import CHARACTERS_PER_TOKEN, Split, choose_documents
from tersely.units import Unit

_MAX_PRICED_TOKENS = 64
"""A longer unit is ranked as if it had this many tokens, so that a table can compete."""
MARK_TOKENS = 8
"""Approximate number of tokens of a mark."""
_REFERENCE = re.compile(
    r"(?:Its?|This|These|They|Those|Such|The default"
    r"|Otherwise|Instead(?! of)|If (?:so|not)|In (?:this|that|such) case)\b"
)
"""The start of a sentence that says little, or something else, without the one before it."""
_CONTEXT_SHARE = 1 / 4
"""Largest share of the limit for such a sentence and what is added in front of it."""
_HEADS_SHARE = 0.5
"""Share of the cost of a part's heads that counts when the part is ranked. Other parts may need the same
heads."""

_RECORD_KINDS = frozenset({"json", "log", "row", "table", "yaml", "settings", "xml", "stanza"})
"""Kinds of units whose exact repeats are dropped."""

_ARTICLES = frozenset({"a", "an", "the"})
_QUOTES = "\"'“”‘’„«»"
_FOOTNOTE = re.compile(r"(?<=[\d.,;:!?”\"'])\[\d{1,3}\]")
"""The number of a footnote, after a digit or punctuation. After a letter it may be an index, as in `x[0]`."""
_HYPHEN = re.compile(r"(?<=[^\W\d])[‐‑–](?=[^\W\d])")
"""A hyphen between letters, which joins words. Between numbers it may be a minus."""
_DASH = re.compile(r"(?<=[^\W\d])\s*—\s*(?=[^\W\d])|(?<=[^\W\d])\s+–\s+(?=[^\W\d])")
_PERCENT = re.compile(r"(?<=\d)\s+(?=%)")
_TRAILING = ".,;:" + _QUOTES
_MIN_WORDS, _MIN_CHARACTERS = 4, 16
"""A sentence or record with fewer words and fewer characters than these may be kept twice: it costs little,
and may mean something else each time. The number of characters is for scripts without spaces."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The units that a compression keeps, and facts about the others for the receipt."""

    kept: frozenset[int]
    """Positions of the kept units."""
    sequence: tuple[int, ...]
    """The best `max_docs` documents, in the order of the text. Only these may be in the text."""
    candidates: frozenset[int]
    """Positions of the units that competed for the limit."""
    duplicates: frozenset[int]
    """Candidates left out because a kept unit says the same."""
    rendered: Rendered
    tokens: int
    """Number of tokens of the rendered text."""
    has_level: bool = False
    """True if a level of detail limited the size of each document."""
    best_fits: bool | None = None
    """True if the limit has room for the candidate with the highest score; None if there is no candidate."""


def choose(
    split: Split,
    scored: Scored,
    options: CompressionOptions,
    count: Callable[[str], int],
) -> Selection:
    """Choose the units to keep, and render them. Nothing is kept if the request is refused.

    Args:
        split: the documents as units.
        scored: scores of all units. Units below the threshold may still be kept to fill a level.
        options: only `level`, `max_docs`, `order` and `marks` are used here.
        count: returns the tokens of a text.
    """
    if scored.refusal is not None:
        nothing = frozenset[int]()
        return Selection(
            kept=nothing,
            sequence=(),
            candidates=nothing,
            duplicates=nothing,
            rendered=join_documents(()),
            tokens=0,
        )
    scores, threshold = scored.scores, scored.threshold
    sequence = _find_sequence(split, scores, options)
    renderer = Renderer(split, count, sequence, marks_everywhere=options.marks == "all")
    unit_scores: list[float] = scores.scores.tolist()
    candidates = _find_candidates(split, scores.packing.tolist(), sequence, scored.length_price)
    if options.bounds is not None:
        candidates = [
            candidate
            for _, group in groupby(candidates, key=lambda c: c.doc)
            for candidate in _fill_level(split, renderer, list(group), options.bounds, unit_scores, threshold)
        ]
    elif threshold is not None:
        candidates = _select_by_threshold(candidates, unit_scores, threshold)
    ranked = sort_by_priority(candidates)
    total_cost = sum(unit.cost for unit in split.units) + sum(split.title_costs)
    cost_per_token = total_cost / max(1, split.tokens_before)

    def measure(positions: frozenset[int]) -> int:
        return renderer.measure(renderer.complete(positions))

    def fill(ranked: Sequence[Candidate]) -> frozenset[int]:
        return renderer.complete(fit(ranked, split.title_costs, split.limit, measure, scale=cost_per_token))

    kept = fill(ranked)
    best = _find_best(candidates, unit_scores, kept)
    best_fits = None if best is None else best.positions <= kept
    if best is not None and not best_fits and measure(frozenset(best.positions)) <= split.limit:
        best_fits = True
        # Shorter units came first and left no room for the best one. It is what the question most likely asks
        # for, so it is kept, with others if they fit too.
        kept = fill([best, *ranked])
        if not best.positions <= kept:
            kept = renderer.complete(frozenset(best.positions))
    kept_keys = {c.key for c in candidates if c.key and c.position in kept}
    rendered = renderer.render(kept)
    return Selection(
        kept=kept,
        sequence=sequence,
        candidates=list_positions(candidates),
        duplicates=frozenset(c.position for c in candidates if c.key in kept_keys and c.position not in kept),
        rendered=rendered,
        tokens=renderer.count(rendered.text),
        has_level=options.bounds is not None,
        best_fits=best_fits,
    )


def _find_sequence(split: Split, scores: Scores, options: CompressionOptions) -> tuple[int, ...]:
    """Return the best `max_docs` documents with text, in the order of the result."""
    ranked = choose_documents(scores.relevance.tolist(), split.documents_with_units(), options.max_docs)
    return tuple(ranked if options.order == "rerank" else sorted(ranked))


def _find_candidates(
    split: Split, packing_scores: Sequence[float], sequence: Sequence[int], length_price: float
) -> list[Candidate]:
    """Return the units that may be kept for their own words, in the documents of `sequence`."""
    cost_of_a_token = 1 if split.costs_in_tokens else CHARACTERS_PER_TOKEN
    room = int(_CONTEXT_SHARE * split.limit * cost_of_a_token)
    candidates: list[Candidate] = []
    for doc in sequence:
        text = split.documents[doc].text
        for position in split.positions(doc):
            unit = split.units[position]
            if unit.link.role != "content":
                continue
            heads, in_series = unit.link.needs, unit.link.series is not None
            needs = set(heads)
            for at in (position, *heads):
                needs |= _find_context(split, at, room)
            cost, cost_with_heads = unit.cost, unit.cost
            if in_series:
                # The heads may cost more than the part itself, so some of their cost counts in the ranking.
                cost_with_heads += _HEADS_SHARE * sum(split.units[need].cost for need in heads)
                cost += MARK_TOKENS * cost_of_a_token  # a mark is likely next to it
            candidates.append(
                Candidate(
                    position,
                    doc,
                    compute_priority(
                        packing_scores[position], cost_with_heads / cost_of_a_token, length_price
                    ),
                    cost,
                    _make_key(unit, text[unit.start : unit.end]),
                    tuple((need, split.units[need].cost) for need in sorted(needs - {position})),
                )
            )
    return candidates


def compute_priority(score: float, tokens: float, length_price: float) -> float:
    """Return score / tokens ** length_price. Units of more than 64 tokens count as 64."""
    return score / min(max(tokens, 1), _MAX_PRICED_TOKENS) ** length_price


def _make_key(unit: Unit, text: str) -> tuple[str, ...] | None:
    """Return a key that is the same for units that repeat each other; None if the unit may be repeated.

    A record repeats another one of its series if it has the same text and the same heads. Statements of code,
    lines of a diff and sentences of a web page that was opened may be repeated.
    """
    if not unit.divisible:
        return comparable_words(text)
    if unit.link.series is None or unit.kind not in _RECORD_KINDS:
        return None
    if len(text.split()) < _MIN_WORDS and len(text) < _MIN_CHARACTERS:
        return None
    return (f"{id(unit.link.series)} {unit.link.needs}", text.rstrip(","))


def _find_context(split: Split, position: int, room: int) -> set[int]:
    """Return the units that a sentence needs because it begins with a reference such as "It".

    Go back from the sentence. As long as a sentence begins with a reference, add the one before it, with its
    heads. Stop at the beginning of the paragraph, or if all of these sentences would cost more than `room`.
    """
    context: set[int] = set()
    at: int | None = position
    cost = split.units[position].cost
    while (at := _find_sentence_before(split, at)) is not None:
        added = {at, *split.units[at].link.needs}
        cost += sum(split.units[need].cost for need in added - context)
        if cost > room:
            break
        context |= added
    return context


def _find_sentence_before(split: Split, position: int) -> int | None:
    """Return the sentence before the one at `position` if the latter begins with a reference such as "It".

    Return None for a sentence without a reference, and for the first one of a paragraph.
    """
    unit = split.units[position]
    text = split.documents[unit.doc].text
    if unit.kind not in ("sentence", "html") or not _REFERENCE.match(text, unit.start):
        return None
    for at in range(position - 1, split.offsets[unit.doc] - 1, -1):
        above = split.units[at]
        if above.link.breaks:
            return None
        if above.link.role != "markup":
            is_near = above.kind == unit.kind and text.count("\n", above.end, unit.start) < 2
            return at if is_near and above.link.role == "content" else None
    return None


def _select_by_threshold(
    candidates: Sequence[Candidate], scores: Sequence[float], threshold: float
) -> list[Candidate]:
    """Return the candidates that reach the threshold.

    If a head reaches it, but none of the candidates under the head does, the best of these is added.
    """
    above = [c for c in candidates if scores[c.position] >= threshold]
    heads = {need for c in candidates for need, _ in c.needs if scores[need] >= threshold}
    heads -= {at for c in above for at in c.positions}
    if heads:
        for candidate in sorted(candidates, key=lambda c: -scores[c.position]):
            if heads & candidate.positions:
                above.append(candidate)
                heads -= candidate.positions
    return above


def _find_best(
    candidates: Sequence[Candidate], scores: Sequence[float], kept: frozenset[int]
) -> Candidate | None:
    """Return the candidate with the highest score. Among equals, prefer a kept one, then the cheapest."""

    def rank(c: Candidate) -> tuple[float, bool, int, int]:
        return scores[c.position], c.position in kept, -c.cost, -c.position

    return max(candidates, key=rank, default=None)


def _fill_level(
    split: Split,
    renderer: Renderer,
    candidates: Sequence[Candidate],
    bounds: tuple[int, int],
    scores: Sequence[float],
    threshold: float | None,
) -> list[Candidate]:
    """Return the candidates of one document that its level keeps.

    First take those that reach the threshold, up to the upper bound. If the text is still shorter than the
    lower bound, add the best of the others.
    """
    doc = candidates[0].doc

    def measure(positions: frozenset[int]) -> int:
        return len(renderer.document(doc, sorted(renderer.complete(positions))).text)

    def length(position: int) -> int:
        return split.units[position].end - split.units[position].start

    def measure_in_code_points(c: Candidate) -> Candidate:
        needs = tuple((position, length(position)) for position, _ in c.needs)
        return replace(c, cost=length(c.position), needs=needs)

    ranked = sort_by_priority(list(map(measure_in_code_points, candidates)))
    above = [c for c in ranked if threshold is None or scores[c.position] >= threshold]
    below = [c for c in ranked if threshold is not None and scores[c.position] < threshold]
    kept = fill_level(above, below, bounds, {doc: 0}, measure)
    return [candidate for candidate in candidates if candidate.position in kept]


def comparable_words(text: str) -> tuple[str, ...] | None:
    """Return the words of a sentence, to compare it with others; None for a short sentence.

    Overlapping chunks and syndicated pages repeat sentences. Two sentences count as the same if they differ
    only in case, white space, quotation marks, punctuation after words, long dashes between words, the kind
    of hyphen inside a word, footnote numbers, and an article at the start. Any other difference may change
    the meaning: another number, sign, symbol or accent, an added "not", a question mark.
    """
    words = [word if word.isalnum() else _strip_signs(word) for word in _unify_signs(text.lower()).split()]
    if words and words[0] in _ARTICLES:
        del words[0]
    kept = tuple(filter(None, words))
    return kept if len(kept) >= _MIN_WORDS or sum(map(len, kept)) >= _MIN_CHARACTERS else None


def _strip_signs(word: str) -> str:
    """Drop quotation marks around a word, and punctuation after it. Keep a quotation mark after a digit: it
    may mean feet or inches."""
    word = word.lstrip(_QUOTES)
    bare = word.rstrip(_TRAILING)
    return word[: len(bare) + 1] if bare[-1:].isdigit() and word[len(bare) :][:1] in _QUOTES else bare


def _unify_signs(text: str) -> str:
    """Drop footnote numbers, and the space before a percent sign. Replace long dashes by spaces, and all
    hyphens inside words by "-"."""
    # Look for the signs first, which is fast: most sentences of a long document have no sign.
    if "[" in text:
        text = _FOOTNOTE.sub("", text)
    if "%" in text:
        text = _PERCENT.sub("", text)
    return text if text.isascii() else _HYPHEN.sub("-", _DASH.sub(" ", text))
