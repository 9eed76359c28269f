"""A token estimate that needs no vocabulary and no network.

The text is cut into runs of one kind of character (a word, a number, whitespace, one script). Each run costs
a number of thousandths of a token that depends on its kind and length. The costs were fitted by non-negative
least squares to OpenAI's o200k_base encoding, on half of a mixed corpus: licences, papers, package
descriptions, Python, C, JavaScript, CSS, JSON, HTML, and user-interface texts in 90 languages.

Error against o200k_base on the other half:
- whole documents: 2.3 % for English prose, 6 % for code, 8 % for JSON and HTML;
- single chunks of 600 characters: median 4 % for prose and 5 % for code, 90th percentile 12 % and 14 %;
- languages, in total: at most 7 % for German, Spanish, Portuguese, Swedish, Turkish, Ukrainian, Arabic,
  Persian, Hindi, Bengali, Japanese, Korean, Thai, Vietnamese and simplified Chinese; 8 to 17 % for French,
  Italian, Dutch, Polish, Hungarian, Indonesian, Russian, Greek, Hebrew and traditional Chinese.
For the older cl100k_base the error is similar in English and code (3 % and 6 %), but that encoding needs up
to three times as many tokens for scripts other than Latin. If that matters, count with its own vocabulary.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Final

_SPACE, _BREAK, _WORD, _NUMBER, _MARK, _SYMBOL = range(6)
_GREEK, _SEMITIC, _INDIC, _ASIAN, _HAN, _HANGUL, _OTHER = range(6, 13)

# First code point and kind of each range of characters; a range ends where the next one starts.
_RANGES: Final = (
    (0x0000, _BREAK), (0x0020, _SPACE), (0x0021, _MARK), (0x0030, _NUMBER), (0x003A, _MARK), (0x0041, _WORD),
    (0x005B, _MARK), (0x0061, _WORD), (0x007B, _MARK), (0x007F, _BREAK), (0x00A0, _SYMBOL), (0x00C0, _WORD),
    (0x0250, _SYMBOL), (0x0300, _WORD), (0x0370, _GREEK), (0x0530, _SEMITIC), (0x0900, _INDIC),
    (0x0E00, _ASIAN), (0x1100, _HANGUL), (0x1200, _ASIAN), (0x1E00, _WORD), (0x1F00, _GREEK),
    (0x2000, _SYMBOL), (0x2E80, _HAN), (0x3000, _SYMBOL), (0x3040, _HAN), (0x3130, _HANGUL), (0x3190, _HAN),
    (0x3200, _SYMBOL), (0x3400, _HAN), (0xA000, _ASIAN), (0xAC00, _HANGUL), (0xD800, _OTHER), (0xF900, _HAN),
    (0xFB00, _SEMITIC), (0xFE00, _SYMBOL), (0xFF66, _HAN), (0xFFA0, _SYMBOL), (0x10000, _OTHER),
    (0x20000, _HAN), (0x40000, _OTHER),
)  # fmt: skip
_FIRSTS: Final = [first for first, _ in _RANGES]

# Cost of a run in thousandths of a token: of each of its first characters, and of every later one.
_RUN_COSTS: Final[dict[int, tuple[tuple[int, ...], int]]] = {
    _SPACE: ((290, 820), 0),  # a single space is part of the word after it
    _BREAK: ((304,), 104),  # line ends, tabs, control characters
    _WORD: ((643, 0, 0, 66, 170, 0, 101, 258, 0, 0, 0, 277), 640),  # Latin letters
    _NUMBER: ((1557, 0, 0, 2567), 161),
    _MARK: ((697, 254, 658), 108),  # ASCII punctuation
    _SYMBOL: ((861,), 226),
    _GREEK: ((493,), 244),  # and Cyrillic
    _SEMITIC: ((44,), 367),  # Hebrew and Arabic, and Armenian
    _INDIC: ((0,), 436),
    _ASIAN: ((285,), 392),  # Thai, Khmer, Burmese, Georgian, Ethiopic and others
    _HAN: ((1464,), 556),  # Chinese and Japanese
    _HANGUL: ((0,), 921),
    _OTHER: ((2396,), 1813),  # emoji, rare scripts
}
_SPACED_NUMBER_COST: Final = 291
_ACCENT_COST: Final = 1162
_CHEAP_ACCENTS: Final = re.compile("[\u1ea0-\u1eff\u0102\u0103\u0110\u0111\u01a0\u01a1\u01af\u01b0]")
"""Vietnamese letters; the vocabulary has whole Vietnamese words."""


def _build_class(*kinds: int) -> str:
    """The inside of a regular expression's character class that matches these kinds."""
    ends = [*_FIRSTS[1:], 0x110000]
    ranges = [(first, end - 1) for (first, kind), end in zip(_RANGES, ends, strict=True) if kind in kinds]
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)


def _compile_run_pattern() -> re.Pattern[str]:
    accented = "\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff"
    word = f"[A-Z{accented}]{{0,32}}[a-z{accented}]{{1,32}}|[A-Z{accented}]{{1,32}}"  # camelCase is two runs
    others = "|".join(f"[{_build_class(kind)}]{{1,64}}" for kind in _RUN_COSTS if kind > _WORD)
    return re.compile(f" ?(?:{word}|{others})|  +| |[{_build_class(_BREAK)}]{{1,64}}")


_RUN: Final = _compile_run_pattern()


@lru_cache(maxsize=1 << 16)
def _compute_cost(run: str) -> int:
    """Cost of a run in thousandths of a token."""
    cost = 0
    if run[0] == " " and len(run) > 1 and run[1] != " ":
        run = run[1:]
        cost = _RUN_COSTS[_SPACE][0][0] + (_SPACED_NUMBER_COST if run[0] in "0123456789" else 0)
    kind = _RANGES[bisect_right(_FIRSTS, ord(run[0])) - 1][1]
    first, further = _RUN_COSTS[kind]
    cost += sum(first[: len(run)]) + further * max(0, len(run) - len(first))
    if kind == _WORD and not run.isascii():
        accented = sum(not letter.isascii() for letter in run) - len(_CHEAP_ACCENTS.findall(run))
        cost += _ACCENT_COST * accented
    return cost


class ApproximateCounter:
    """The built-in estimate. More text almost never lowers the count. Only the empty text has 0 tokens."""

    approximate = True

    def count(self, text: str) -> int:
        """Roughly the number of tokens that current OpenAI models see in `text`."""
        if not text:
            return 0
        return max(1, -(-sum(map(_compute_cost, _RUN.findall(text))) // 1000))
