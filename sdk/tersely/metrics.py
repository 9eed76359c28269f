"""Metrics of answers and of compressed contexts: pure functions without dependencies.

Answers are compared after the normalisation of SQuAD 2.0: lower case, no ASCII punctuation, no English
articles, single spaces. Ranges are half-open pairs (start, end) of code-point offsets in one document.

EFFCOMP is the paper that describes the selector. Some metrics follow its definitions.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

Range = tuple[int, int]

WITHOUT_ANSWER_STRING = frozenset({"", "yes", "no", "noanswer"})
"""Normalised answers that are never searched in a text, because it can mean them without containing them."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MIN_SUBSTRING = 4
"""Smallest number of characters of an ASCII answer that may be inside a word."""


def normalize_answer(text: str) -> str:
    """Return `text` after the normalisation of SQuAD 2.0."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, answers: Sequence[str]) -> bool:
    """Return whether the normalised prediction equals a normalised answer. Raises ValueError without
    answers."""
    return _score_best(prediction, answers, lambda left, right: float(left == right)) == 1.0


def token_f1(prediction: str, answers: Sequence[str]) -> float:
    """Return the harmonic mean of token precision and recall against the best answer, in [0, 1].

    If the prediction or the answer is empty after normalisation, it is 1.0 if both are, else 0.0. Raises
    ValueError if there is no answer.
    """
    return _score_best(prediction, answers, _compute_f1)


def contains_answer(text: str, answers: Sequence[str]) -> bool:
    """Return whether the normalised text contains a normalised answer.

    "yes", "no", "noanswer" and empty answers never count. An ASCII answer of fewer than four characters must
    be a whole number or word of the text, because "1998" contains "9".
    """
    haystack = normalize_answer(text)
    return any(_occurs(normalize_answer(answer), haystack) for answer in answers)


def contains_string(text: str, answers: Sequence[str]) -> bool:
    """Return whether a normalised answer is a substring of the normalised text, even inside a word.

    This is EFFCOMP's rule for its accuracy (section 2) and for its labels (section 3.1): "1998" contains "9".
    "yes", "no", "noanswer" and empty answers never count.
    """
    haystack = normalize_answer(text)
    needles = {normalize_answer(answer) for answer in answers} - WITHOUT_ANSWER_STRING
    return any(needle in haystack for needle in needles)


def is_correct(prediction: str, answers: Sequence[str]) -> bool:
    """Return whether the prediction contains an answer as a string.

    An answer "yes", "no" or "noanswer" must be the whole prediction.

    EFFCOMP calls the share of correct predictions Acc (section 2).
    """
    exact = [a for a in answers if normalize_answer(a) in WITHOUT_ANSWER_STRING - {""}]
    return contains_string(prediction, answers) or bool(exact and exact_match(prediction, exact))


def count_covered(wanted: Range, kept: Sequence[Range]) -> int:
    """Return the number of code points of `wanted` that are in `kept`. The kept ranges must not overlap."""
    start, end = wanted
    return sum(max(0, min(end, right) - max(start, left)) for left, right in kept)


def is_kept(wanted: Range, kept: Sequence[Range]) -> bool:
    """Return whether at least half of the code points of `wanted` are in `kept`, as in EFFCOMP's fourth
    question (RQ4)."""
    return count_covered(wanted, kept) >= 0.5 * (wanted[1] - wanted[0])


def span_recall(wanted: Sequence[Range], kept: Sequence[Range]) -> float:
    """Return the share of wanted ranges that are kept, in [0, 1]. Raises ValueError if none is wanted."""
    if not wanted:
        raise ValueError("span_recall needs at least one wanted range")
    return sum(is_kept(one, kept) for one in wanted) / len(wanted)


def _score_best(prediction: str, answers: Sequence[str], score: Callable[[str, str], float]) -> float:
    if not answers:
        raise ValueError("a prediction is scored against at least one answer; pass [''] for 'no answer'")
    normalized = normalize_answer(prediction)
    return max(score(normalized, normalize_answer(answer)) for answer in answers)


def _compute_f1(prediction: str, answer: str) -> float:
    predicted, expected = prediction.split(), answer.split()
    if not predicted or not expected:
        return float(predicted == expected)
    common = (Counter(predicted) & Counter(expected)).total()
    return 2 * common / (len(predicted) + len(expected))


def _occurs(answer: str, text: str) -> bool:
    if answer in WITHOUT_ANSWER_STRING:
        return False
    if len(answer) < _MIN_SUBSTRING and answer.isascii():
        before = r"\d" if answer[0].isdigit() else r"[a-z]"
        after = r"\d" if answer[-1].isdigit() else r"[a-z]"
        return re.search(rf"(?<!{before}){re.escape(answer)}(?!{after})", text) is not None
    return answer in text
