"""Where sentences begin inside a run of prose.

sentencex finds the boundaries; this module feeds it bounded windows (it is quadratic on some long inputs)
and repairs what it gets wrong: abbreviations before numbers ("Eq. 4"), inline enumerators ("1. First"),
a sentence that ends inside brackets, and scripts it does not cover (Khmer, Tibetan, Thai, Lao, Greek).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sentencex import get_sentence_boundaries

_WINDOW = 2000
_PHRASE = 40

_NOISE = re.compile(r"""["'(){}\[\]“”‘’„«»「」『』]""")

_BEFORE_NUMBER = re.compile(
    r"(?<!\w)(?:[Ee]qs?|[Ff]igs?|[Ss]ecs?|Nos?|[Vv]ols?|[Cc]h|pp?|approx|ca|cf|al|[Aa]rts?|[Rr]efs?|[Tt]abs?"
    r"|Thm|Lem|Prop|Defs?|Cor|Ex|Alg|App|ver|v|est|par|§|рис|табл|стр|гл|Abb|Nr|Bd|fig|núm|pág)\.\s*$"
)
_NUMBER = re.compile(r"\s*[(\[]?[\d§#]|\s*[(\[]?[IVXLivxl]+\b|\s*\(")
_LETTER_STOP = re.compile(r"(?<!\w)[^\W\d_]\.\s*$")
_ENUMERATOR = re.compile(r"\s*[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]]{1,2}\s*")
_QUOTED_STOP = re.compile(r"[。！？!?][」』”’）]\s*$")
_QUOTE_PARTICLE = frozenset("とでのがはをにもやなっかよね")

_BRACKETED_STOP = re.compile(r"(?<=[^\W\d_])[.!?…]+[)\]]+[\"'”’»]*(\s+)(?=[\"'“‘«(\[]?[^\W\d_])")
_OPEN_ABBREVIATIONS = frozenset(
    "etc al inc ltd co corp jr sr dr mr mrs ms st vs approx dept est ed eds trans cf ca fig no vol pp eg ie".split()
)
_LAST_WORD = re.compile(r"([^\W\d_]+)[.!?…]+[)\]]+[\"'”’»]*\s+$")

_EXTRA_STOP = re.compile(r"[។៕།༎᙮]+[\"'”’»)\]]*\s*|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e]\s+(?=[\u0370-\u03ff\u1f00-\u1fff])")
_THAI_GAP = re.compile(r"(?<=[\u0e00-\u0eff])\s+(?=[\u0e00-\u0eff])")


def sentence_starts(prose: str) -> list[int]:
    """Ascending offsets into `prose` at which a sentence after the first one starts.

    `prose` holds no line breaks, NULs or surrogates (the caller masks them). Time is linear in its length.
    """
    starts = sorted({*_library_starts(prose), *_bracket_starts(prose), *_script_starts(prose)})
    return _merged(prose, starts)


def _library_starts(prose: str) -> Iterator[int]:
    position, length = 0, len(prose)
    while position < length:
        end = min(position + _WINDOW, length)
        if end < length:
            end = max(prose.rfind(" ", position + _WINDOW // 2, end) + 1, 0) or end
        window = prose[position:end]
        if len(_NOISE.findall(window)) * 4 > len(window) > 200:  # not prose, and slow in sentencex
            position = end
            continue
        found = [int(item["start_index"]) for item in get_sentence_boundaries("en", window)]
        inner = [start for start in found if 0 < start < len(window)]
        for start in inner:
            yield position + start
        # The window's last sentence may go on behind it: read it again from its start.
        position = position + inner[-1] if inner and end < length else end


def _bracket_starts(prose: str) -> Iterator[int]:
    for match in _BRACKETED_STOP.finditer(prose):
        start = match.end()
        opened = max(prose.rfind("(", max(0, start - 400), start), prose.rfind("[", max(0, start - 400), start))
        word = _LAST_WORD.search(prose, max(0, start - 40), start)
        if opened < 0 or word is None or " " not in prose[opened : match.start()]:
            continue
        if prose[start : start + 8].lstrip("\"'“‘«([")[:1].islower():
            continue
        if len(word[1]) > 1 and word[1].lower() not in _OPEN_ABBREVIATIONS:
            yield start


def _script_starts(prose: str) -> Iterator[int]:
    for match in _EXTRA_STOP.finditer(prose):
        if match.end() < len(prose):
            yield match.end()
    previous = 0
    for match in _THAI_GAP.finditer(prose):
        if match.start() - previous >= _PHRASE:
            previous = match.end()
            yield previous


def _merged(prose: str, starts: list[int]) -> list[int]:
    """Drop the starts that cut a sentence, and those that would leave a piece without a word."""
    kept: list[int] = []
    previous = 0
    for index, start in enumerate(starts):
        following = starts[index + 1] if index + 1 < len(starts) else len(prose)
        if _joins(prose, previous, start, following):
            continue
        kept.append(start)
        previous = start
    return kept


def _joins(prose: str, previous: int, start: int, following: int) -> bool:
    tail = prose[max(previous, start - 24) : start]
    head = prose[start : min(following, start + 24)]
    if _BEFORE_NUMBER.search(tail) and _NUMBER.match(head):
        return True
    if _LETTER_STOP.search(tail) and head.lstrip()[:1].islower():
        return True
    if _ENUMERATOR.fullmatch(prose, previous, start) or prose[previous:start].isspace():
        return True
    if _QUOTED_STOP.search(tail) and head[:1] in _QUOTE_PARTICLE:
        return True
    return not any(character.isalnum() for character in prose[start:following])
