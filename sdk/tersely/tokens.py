"""Count tokens as the caller's language model does.

`resolve_counter` makes a counter from a tokenizer.json, a tiktoken encoding, or a function. From
None it makes the built-in estimate. Nothing here uses the network. A vocabulary that is not on this machine
is an error.
"""

from __future__ import annotations

import importlib
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Protocol, cast, runtime_checkable

from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.runtime.cancellation import check_cancelled

_TIKTOKEN_PREFIX = "tiktoken:"

# Name and SHA-256 of the file in which tiktoken caches an encoding. The name is the SHA-1 of its address.
_O200K = (
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
_P50K = (
    "ec7223a39ce59f226a68acc30dc1af2788490e15",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
)
_CACHE_FILES = {
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "r50k_base": (
        "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4",
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    ),
}

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

# Cost of a run (characters of one kind), in thousandths of a token: of each of its first characters, and of
# every later one.
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
    """Return the inside of a character class (of a regular expression) that matches these kinds."""
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
    """Return the cost of a run in thousandths of a token."""
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


@runtime_checkable
class TokenCounter(Protocol):
    """A counter of the tokens of a text."""

    def count(self, text: str) -> int:
        """Count the tokens of `text`, without special tokens; 0 for the empty string."""
        ...


def count_tokens(counter: TokenCounter, text: str) -> int:
    """Count the tokens of `text`. Raises InvalidInputError unless the counter gives a number of 0 or more."""
    return count_each(counter, [text])[0]


def count_each(counter: TokenCounter, texts: Sequence[str]) -> list[int]:
    """Count the tokens of each text. Raises like `count_tokens`."""
    counts: list[int] = []
    for text in texts:
        if not isinstance(cast("object", text), str):
            raise InvalidInputError(f"The text is of type {type(text).__name__}. Pass text.")
        check_cancelled()
        counts.append(_check_number(counter.count(replace_surrogates(text))) if text else 0)
    return counts


def _check_number(count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
        raise InvalidInputError(
            f"token_counter returned {count!r}. It must return a whole number of tokens, 0 or more."
        )
    return int(count)


def resolve_counter(spec: TokenCounter | Callable[[str], int] | str | Path | None) -> TokenCounter:
    """Return the counter for `spec`.

    Args:
        spec: None for the built-in estimate; the path of a tokenizer.json or of a folder with one;
            "tiktoken:" and the name of an encoding or an OpenAI model, whose file must already be in
            tiktoken's cache; a function from text to a number of tokens; or a counter.

    Raises:
        InvalidInputError: a file is missing or damaged, a name is unknown, or the object is of another type.
        MissingDependencyError: tiktoken is not installed.
    """
    if spec is None:
        return ApproximateCounter()
    if isinstance(spec, str) and spec.startswith(_TIKTOKEN_PREFIX):
        return _load_tiktoken_counter(spec.removeprefix(_TIKTOKEN_PREFIX))
    if isinstance(spec, (str, Path)):
        return _TokenizerFileCounter(Path(spec))
    if callable(spec):
        return _FunctionCounter(spec)
    if isinstance(cast("object", spec), TokenCounter) and not isinstance(
        spec, Sequence
    ):  # a list has count()
        return spec
    raise InvalidInputError(
        f"token_counter is of type {type(spec).__name__}. Pass the path of a tokenizer.json, "
        "'tiktoken:<encoding>', a function from text to a number of tokens, or an object with count(text)."
    )


class _TokenizerFileCounter:
    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        file = path / "tokenizer.json" if path.is_dir() else path
        if not file.is_file():
            raise InvalidInputError(
                f"token_counter: there is no file {str(file)!r}. Pass the path of a tokenizer.json, "
                f"or '{_TIKTOKEN_PREFIX}<encoding>' for an OpenAI vocabulary."
            )
        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # tokenizers raises bare Exception for every unreadable file
            raise InvalidInputError(
                f"token_counter: {str(file)!r} is not a readable tokenizer.json ({error}). "
                "Download it again or pass another."
            ) from error
        # A file saved with truncation and padding would give every text the same count.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(replace_surrogates(text), add_special_tokens=False).ids)


class _TiktokenCounter:
    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(replace_surrogates(text)))


class _FunctionCounter:
    def __init__(self, function: Callable[[str], object]) -> None:
        self._function = function

    def count(self, text: str) -> int:
        return _check_number(self._function(text))


def _load_tiktoken_counter(name: str) -> TokenCounter:
    try:
        tiktoken: Any = importlib.import_module("tiktoken")
    except ImportError as error:
        raise MissingDependencyError(
            f"token_counter '{_TIKTOKEN_PREFIX}{name}' needs tiktoken: pip install tiktoken"
        ) from error
    encoding = name
    if name not in _CACHE_FILES:
        try:
            encoding = tiktoken.encoding_name_for_model(name)
        except KeyError:
            encoding = ""
    if encoding not in _CACHE_FILES:
        known = ", ".join(sorted(_CACHE_FILES))
        raise InvalidInputError(
            f"token_counter: {name!r} is not a known encoding or model. Use one of {known}, "
            "or the name of an OpenAI model."
        )
    # tiktoken would download a file that is missing or damaged, so it is checked first.
    file = _find_cached_file(encoding)
    import hashlib  # `import tersely` need not wait for it

    if hashlib.sha256(file.read_bytes()).hexdigest() != _CACHE_FILES[encoding][1]:
        raise InvalidInputError(
            f"token_counter: the cached vocabulary {str(file)!r} is damaged. Delete it and fill the cache "
            f"again with tiktoken.get_encoding({encoding!r}) on a machine with a network."
        )
    return _TiktokenCounter(tiktoken.get_encoding(encoding))


def _find_cached_file(encoding: str) -> Path:
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        import tempfile  # `import tersely` need not wait for it

        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    file = Path(folder, _CACHE_FILES[encoding][0])
    if not folder or not file.is_file():
        where = f"in {folder!r}" if folder else "because an empty TIKTOKEN_CACHE_DIR turns the cache off"
        raise InvalidInputError(
            f"token_counter: the vocabulary of {encoding} is not cached {where}, and tersely downloads "
            f"nothing. Run tiktoken.get_encoding({encoding!r}) once on a machine with a network and set "
            "TIKTOKEN_CACHE_DIR to its cache, or pass a tokenizer.json."
        )
    return file


def replace_surrogates(text: str) -> str:
    """Return `text` with a question mark for each lone surrogate, which tokenizers cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class ApproximateCounter:
    """A token estimate that needs no vocabulary. More text almost never lowers the count.

    The text is cut into runs of one kind of character (a word, a number, white space, one script). The cost
    of a run depends on its kind and length. The costs were fitted by non-negative least squares to OpenAI's
    o200k_base encoding, on half of a mixed corpus: licences, papers, package descriptions, Python, C,
    JavaScript, CSS, JSON, HTML, and user-interface texts in 90 languages.

    Error against o200k_base on the other half:
    - whole documents: 2.3 % for English prose, 6 % for code, 8 % for JSON and HTML;
    - single chunks of 600 characters: median 4 % for prose and 5 % for code, 90th percentile 12 % and 14 %;
    - languages, in total: at most 7 % for German, Spanish, Portuguese, Swedish, Turkish, Ukrainian, Arabic,
      Persian, Hindi, Bengali, Japanese, Korean, Thai, Vietnamese and simplified Chinese; 8 to 17 % for
      French, Italian, Dutch, Polish, Hungarian, Indonesian, Russian, Greek, Hebrew and traditional Chinese.
    For the older cl100k_base the error is similar in English and code (3 % and 6 %), but that encoding needs
    up to three times as many tokens for scripts other than Latin. If that matters, count with its vocabulary.
    """

    def count(self, text: str) -> int:
        """Estimate the tokens that current OpenAI models see in `text`; 0 for the empty text only."""
        if not text:
            return 0
        return max(1, -(-sum(map(_compute_cost, _RUN.findall(text))) // 1000))
