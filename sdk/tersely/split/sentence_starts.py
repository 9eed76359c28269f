"""Find where sentences begin in running text.

sentencex finds the boundaries of sentences. This module gives it a bounded number of code points at a time,
because it is quadratic on some long inputs, and corrects its mistakes: abbreviations before numbers
("Eq. 4"), inline enumerators ("1. First"), sentences that end inside brackets, and scripts that it does not
cover (Khmer, Tibetan, Thai, Lao, Greek).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import sentencex  # pyright: ignore[reportMissingTypeStubs]

from tersely.runtime.cancellation import check_cancelled

_sentencex: Any = sentencex  # a compiled module without types

_CHUNK = 2000
"""Number of code points to give to sentencex at a time."""
PHRASE = 40
"""Code points after which a space ends a unit in Thai and Lao, which mark neither words nor sentences."""

_NOISE = re.compile(r"""["'(){}\[\]“”‘’„«»「」『』]""")

_BEFORE_NUMBER = frozenset(
    """
    Eq. Eqs. eq. eqs. Fig. Figs. fig. figs. Sec. Secs. sec. secs. No. Nos. nos. Vol. Vols. vol. vols. Ch. ch.
    p. pp. approx. ca. cf. al. Art. Arts. art. arts. Ref. Refs. ref. refs. Tab. Tabs. tab. Thm. Lem. Prop.
    Def. Defs. Cor. Ex. Alg. App. § §§ ver. v. est. par. n. рис. табл. стр. гл. Abb. Nr. Bd. Abs. núm.
    pág. págs. Tel. tel. Fax. fax. Mob. mob. Ext. ext. Rm. rm. Apt. apt.
    """.split()  # noqa: SIM905
)
"""Abbreviations that do not end a sentence when a number or a bracket follows."""
_NUMBER = re.compile(r"\s*(?:[(\[]?[+\d§#]|[(\[]?[IVXLivxl]+\b|\()")
_TITLES = frozenset("Ms. Mses. Mx. Ft. incl. excl. Incl. Excl. inkl. exkl. zzgl.".split())  # noqa: SIM905
"""Abbreviations before a name or another noun. sentencex does not know these abbreviations."""
_BEFORE_REST = frozenset("e.g. i.e. viz. cf. z.B. d.h. E.g. I.e. Cf.".split())  # noqa: SIM905
"""Abbreviations that never end a sentence."""
COUNTED = (
    "art(?:icle|ikel)|section|abschnitt|chapter|kapitel|part|teil|clause|appendix|annex|step|question"
    "|(?:agenda )?item|topic|exhibit|schedule|rule|lesson|unit|phase|stage|task|session"
)
"""Words before the number of a section or an item, as a pattern."""
LABELLED = (
    r"[*_]*(?i:definition|theorem|lemma|proposition|corollary|axiom|claim|remark|example|exercise|problem)"
    r"\s\d{1,3}(?:\.\d{1,3})*"
)
"""The number of a definition, a theorem or an example, as a pattern."""
PROOF = r"[*_]*(?i:proof|solution|answer|beweis|lösung)"
"""The word before a proof or a solution, as a pattern."""
_ENUMERATOR = re.compile(
    r"\s*[(\[]?(?:(?:§+\s?)?\d{1,3}(?:\.\d{1,3})*[a-z]?|[A-Za-z]{1,2} ?\d{1,3}|[A-Za-z]|[ivxIVX]{1,5}"
    rf"|(?i:{COUNTED}|table|figure|fig\.) (?:\d{{1,3}}(?:[-–.]\d{{1,3}})*[a-z]?|[A-Z]))[.)\]]{{1,2}}\s*"
    rf"|\s*(?:{LABELLED}|{PROOF})[*_]*\.[*_]*\s*"
)
"""A number or a letter before a text, such as `2.1.`, `(b)`, `Q1.` or `Table 2.`"""
_LONGEST_ENUMERATOR = 32
_QUOTED_STOP = re.compile(r"[。！？!?][」』”’）]$")
_QUOTE_PARTICLES = frozenset("とでのがはをにもやなっかよね")
"""Hiragana that continue a Japanese sentence after a quotation."""

_BRACKETED_STOP = re.compile(r"(?<![.!?…])[.!?…]++[)\]]++[\"'”’»]*+(\s++)(?=[\"'“‘«(\[]?[^\W\d_])")
CLOSING = "\"'”’»)]*_`"
_ENDS = tuple(".!?:;…")
_OPENS_SENTENCE = re.compile(r"[\"'“‘«(]*[^\W\d_a-z]")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_LONGEST_BRACKET = 400
_ABBREVIATIONS = frozenset(
    """
    etc al inc ltd co corp jr sr dr mr mrs ms st vs approx dept est ed eds trans cf ca fig no vol pp eg ie
    """.split()  # noqa: SIM905
)
"""Abbreviations that may end with a full stop before a closing bracket without ending a sentence."""

_LONG = 300
"""Longer sentences, in code points, are cut even inside quotes and brackets, which sentencex keeps whole."""
_PLAIN_STOP = re.compile(r"(?<!\w)(\w++)[\])]*[.!?]+[\"'”’»)\]]*\s+(?=[\"'“‘«(\[]*+[^\W\d_a-z])")

_EXTRA_STOP = re.compile(r"[។៕།༎᙮]+[\"'”’»)\]]*\s*")
_GREEK_QUESTION = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff][;\u037e]\s+(?=[\u0370-\u03ff\u1f00-\u1fff])")
_THAI_GAP = re.compile(r"[\u0e00-\u0eff](\s++)(?=[\u0e00-\u0eff])")

_WORD_CHARACTER = re.compile(r"[^\W_]")


def find_sentence_starts(prose: str) -> list[int]:
    """Return ascending offsets in `prose` at which the second and later sentences start.

    `prose` contains no line breaks, NULs or surrogates (`lines.mask` removes them). Takes time linear in its
    length.
    """
    starts = {*_find_library_starts(prose), *_find_starts_after_brackets(prose)}
    if not prose.isascii():
        starts.update(_find_script_starts(prose))
    for left, right in pairwise([0, *sorted(starts), len(prose)]):
        if right - left > _LONG:
            starts.update(_find_plain_starts(prose, left, right))
    return _remove_false_starts(prose, sorted(starts))


def _find_library_starts(prose: str) -> Iterator[int]:
    position, length = 0, len(prose)
    while position < length:
        check_cancelled()
        end = min(position + _CHUNK, length)
        if end < length:  # end between two words if there is a space
            end = prose.rfind(" ", position + _CHUNK // 2, end) + 1 or end
        chunk = prose[position:end]
        if len(chunk) > 200 and len(_NOISE.findall(chunk)) * 4 > len(chunk):
            position = end  # this is not prose, and sentencex would be slow on it
            continue
        sentences: list[dict[str, Any]] = _sentencex.get_sentence_boundaries("en", chunk)
        starts = [position + s["start_index"] for s in sentences if 0 < s["start_index"] < len(chunk)]
        yield from starts
        # The last sentence may continue after the chunk, so it is read again from its start.
        position = starts[-1] if starts and end < length else end


def _find_starts_after_brackets(prose: str) -> Iterator[int]:
    """Yield starts after a sentence that ends inside brackets: "He left (it was late.) She stayed." """
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


def _find_plain_starts(prose: str, start: int, end: int) -> Iterator[int]:
    """Yield starts after a word that cannot be an abbreviation: three or more lower-case letters."""
    for match in _PLAIN_STOP.finditer(prose, start, end):
        word = match[1]
        if match.end() < end and len(word) > 2 and not word[0].isupper() and word not in _ABBREVIATIONS:
            yield match.end()


def _find_script_starts(prose: str) -> Iterator[int]:
    """Yield starts in scripts that sentencex does not cover."""
    for pattern in (_EXTRA_STOP, _GREEK_QUESTION):
        for match in pattern.finditer(prose):
            if match.end() < len(prose):
                yield match.end()
    previous = 0
    for match in _THAI_GAP.finditer(prose):
        if match.start(1) - previous >= PHRASE:
            previous = match.end()
            yield previous


def _remove_false_starts(prose: str, starts: list[int]) -> list[int]:
    kept: list[int] = []
    previous = 0
    for start, following in pairwise([*starts, len(prose)]):
        if not _is_false(prose, previous, start, following):
            kept.append(start)
            previous = start
    return kept


def _is_false(prose: str, previous: int, start: int, following: int) -> bool:
    """Return whether previous..start and start..following belong to one sentence."""
    left = prose[max(previous, start - 24) : start].rstrip()
    if not left or not _WORD_CHARACTER.search(prose, start, following):
        return True
    if not prose[start - 1].isspace() and left[-1].isascii():  # inside `queue.Queue` or `ASP.NET`
        return True
    ending = left.rstrip(CLOSING)
    opens = _OPENS_SENTENCE.match(prose, start) is not None
    ends = ending.endswith(_ENDS) and (opens or not ending[-2:-1].isspace())
    if left[-1].isascii() and not ends:  # before `(c)`, after the `.` of `. and ..`
        return True
    if left.endswith(("]...", "]…")) or (left.endswith(("...", "…")) and not opens):  # `[OPTION]... FILE`
        return True
    if left[-1] == "." and is_abbreviation(left[left.rfind(" ") + 1 :], prose[start:following]):
        return True
    if prose[start] in _QUOTE_PARTICLES and _QUOTED_STOP.search(left):
        return True
    is_image = prose[start - 1 : start + 1] == "!["  # of Markdown
    is_short = start - previous <= _LONGEST_ENUMERATOR
    return is_image or (is_short and _ENUMERATOR.fullmatch(prose, previous, start) is not None)


def is_abbreviation(word: str, following: str) -> bool:
    """Return whether the text after a word shows that its full stop does not end a sentence."""
    word = word.lstrip("([\"'“")
    if word in _TITLES or word in _BEFORE_REST or (word in _BEFORE_NUMBER and _NUMBER.match(following)):
        return True
    return len(word) == 2 and word[0].isalpha() and following.lstrip()[:1].islower()
