"""Where sentences begin inside a run of prose.

sentencex finds the boundaries; this module feeds it bounded windows (it is quadratic on some long inputs)
and repairs what it gets wrong: abbreviations before numbers ("Eq. 4"), inline enumerators ("1. First"),
a sentence that ends inside brackets, and scripts it does not cover (Khmer, Tibetan, Thai, Lao, Greek).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import sentencex  # pyright: ignore[reportMissingTypeStubs]

_sentencex: Any = sentencex  # compiled, without types

_WINDOW = 2000
"""Code points given to sentencex at a time."""
_PHRASE = 40
"""Thai and Lao mark neither words nor sentences: from this many code points on, a space ends a unit."""

_NOISE = re.compile(r"""["'(){}\[\]“”‘’„«»「」『』]""")

_BEFORE_NUMBER = frozenset(
    """
    Eq. Eqs. eq. eqs. Fig. Figs. fig. figs. Sec. Secs. sec. secs. No. Nos. nos. Vol. Vols. vol. vols. Ch. ch.
    p. pp. approx. ca. cf. al. Art. Arts. art. arts. Ref. Refs. ref. refs. Tab. Tabs. tab. Thm. Lem. Prop.
    Def. Defs. Cor. Ex. Alg. App. ver. v. est. par. n. рис. табл. стр. гл. Abb. Nr. Bd. Abs. núm. pág. págs.
    """.split()  # noqa: SIM905
)
"""Abbreviations that do not end a sentence when a number or a bracket follows."""
_NUMBER = re.compile(r"\s*(?:[(\[]?[\d§#]|[(\[]?[IVXLivxl]+\b|\()")
_TITLES = frozenset({"Ms.", "Mses.", "Mx.", "Ft."})
"""Abbreviations in front of a name that sentencex does not know."""
_ENUMERATOR = re.compile(r"\s*[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]]{1,2}\s*")
_LONGEST_ENUMERATOR = 16
_QUOTED_STOP = re.compile(r"[。！？!?][」』”’）]$")
_QUOTE_PARTICLES = frozenset("とでのがはをにもやなっかよね")
"""Hiragana that continue a Japanese sentence behind a quotation."""

_BRACKETED_STOP = re.compile(r"(?<![.!?…])[.!?…]++[)\]]++[\"'”’»]*+(\s++)(?=[\"'“‘«(\[]?[^\W\d_])")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_LONGEST_BRACKET = 400
_ABBREVIATIONS = frozenset(
    """
    etc al inc ltd co corp jr sr dr mr mrs ms st vs approx dept est ed eds trans cf ca fig no vol pp eg ie
    """.split()  # noqa: SIM905
)
"""Words whose full stop inside a closing bracket may be the abbreviation's own."""

_LONG = 300
"""Code points above which a piece is cut inside quotes and brackets too, which sentencex keeps whole."""
_PLAIN_STOP = re.compile(r"(?<!\w)(\w++)[\])]*[.!?]+[\"'”’»)\]]*\s+(?=[\"'“‘«(\[]*+[^\W\d_a-z])")

_EXTRA_STOP = re.compile(r"[។៕།༎᙮]+[\"'”’»)\]]*\s*")
_GREEK_QUESTION = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff][;\u037e]\s+(?=[\u0370-\u03ff\u1f00-\u1fff])")
_THAI_GAP = re.compile(r"[\u0e00-\u0eff](\s++)(?=[\u0e00-\u0eff])")

_WORD_CHARACTER = re.compile(r"[^\W_]")


def sentence_starts(prose: str) -> list[int]:
    """Ascending offsets into `prose` at which a sentence after the first one starts.

    `prose` holds no line breaks, NULs or surrogates (the caller masks them). Time is linear in its length.
    """
    starts = {*_library_starts(prose), *_bracket_starts(prose)}
    if not prose.isascii():
        starts.update(_script_starts(prose))
    for left, right in pairwise([0, *sorted(starts), len(prose)]):
        if right - left > _LONG:
            starts.update(_plain_starts(prose, left, right))
    return _without_false_starts(prose, sorted(starts))


def _library_starts(prose: str) -> Iterator[int]:
    position, length = 0, len(prose)
    while position < length:
        end = min(position + _WINDOW, length)
        if end < length:  # between words where there are any
            end = prose.rfind(" ", position + _WINDOW // 2, end) + 1 or end
        window = prose[position:end]
        if len(window) > 200 and len(_NOISE.findall(window)) * 4 > len(
            window
        ):  # no prose, and slow in sentencex
            position = end
            continue
        found: list[int] = [item["start_index"] for item in _sentencex.get_sentence_boundaries("en", window)]
        starts = [position + start for start in found if 0 < start < len(window)]
        yield from starts
        # The window's last sentence may go on behind it: read it again from its start.
        position = starts[-1] if starts and end < length else end


def _bracket_starts(prose: str) -> Iterator[int]:
    """Starts behind a sentence that ends inside brackets: "He left (it was late.) She stayed." """
    for match in _BRACKETED_STOP.finditer(prose):
        start, stop = match.end(), match.start()
        opened = max(prose.rfind(bracket, max(0, stop - _LONGEST_BRACKET), stop) for bracket in "([")
        word = _LAST_WORD.search(prose[max(0, stop - 40) : stop])
        if opened < 0 or word is None or " " not in prose[opened:stop]:
            continue
        following = prose[start : start + 2].lstrip("\"'“‘«([")
        if following[:1].islower() or len(word[0]) == 1 or word[0].lower() in _ABBREVIATIONS:
            continue
        yield start


def _plain_starts(prose: str, start: int, end: int) -> Iterator[int]:
    """Starts behind a word that no abbreviation would be: of three letters or more, in small letters."""
    for match in _PLAIN_STOP.finditer(prose, start, end):
        word = match[1]
        if match.end() < end and len(word) > 2 and not word[0].isupper() and word not in _ABBREVIATIONS:
            yield match.end()


def _script_starts(prose: str) -> Iterator[int]:
    for pattern in (_EXTRA_STOP, _GREEK_QUESTION):
        for match in pattern.finditer(prose):
            if match.end() < len(prose):
                yield match.end()
    previous = 0
    for match in _THAI_GAP.finditer(prose):
        if match.start(1) - previous >= _PHRASE:
            previous = match.end()
            yield previous


def _without_false_starts(prose: str, starts: list[int]) -> list[int]:
    kept: list[int] = []
    previous = 0
    for start, following in pairwise([*starts, len(prose)]):
        if not _is_false(prose, previous, start, following):
            kept.append(start)
            previous = start
    return kept


def _is_false(prose: str, previous: int, start: int, following: int) -> bool:
    """Whether the pieces previous..start and start..following belong to one sentence."""
    left = prose[max(previous, start - 24) : start].rstrip()
    if not left or not _WORD_CHARACTER.search(prose, start, following):
        return True
    if left[-1] == "." and _is_abbreviation(left[left.rfind(" ") + 1 :], prose[start:following]):
        return True
    if prose[start] in _QUOTE_PARTICLES and _QUOTED_STOP.search(left):
        return True
    if prose[start - 1 : start + 1] == "![":  # a Markdown image
        return True
    if start - previous > _LONGEST_ENUMERATOR:
        return False
    return _ENUMERATOR.fullmatch(prose, previous, start) is not None


def _is_abbreviation(word: str, following: str) -> bool:
    word = word.lstrip("([\"'“")
    if word in _TITLES or (word in _BEFORE_NUMBER and _NUMBER.match(following)):
        return True
    return len(word) == 2 and word[0].isalpha() and following.lstrip()[:1].islower()
