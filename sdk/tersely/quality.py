"""How good a compression is, without a model: Q_com of ZipRL (equation 1 and appendix G).

Four parts, each in [0, 1]: does the text have the length of its level, the shape of its level, the source's
words that the question asks for, and the form of prose? Cheap enough to score every turn of an agent;
training uses the same functions as a reward. Every function is pure.

Words, stopwords and the levels' bounds are those of English; elsewhere scores still rank texts of one
language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tersely.levels import Level
from tersely.text.sentences import split_units

RATIO_WEIGHT, LEVEL_WEIGHT, INFO_WEIGHT, SEM_WEIGHT = 0.3, 0.1, 0.4, 0.2
"""alpha 1 to 4 of equation 1."""

_EPSILON = 1e-9
_SHORTEST_KEYWORD = 4
_SENTENCE_WORDS = 3
"""Fewest words of what counts as a sentence."""
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_TERMINATOR = re.compile(r"[.!?…。！？؟।]")

_STOPWORDS = """
    about above across after again against almost along already also although always among another
    anyone anything around because become been before being below between beyond both cannot come could
    does doing done down during each either else enough even ever every everything from further gave
    gets give given goes going gone have having here hers herself himself however instead into itself
    just keep kind knew know known least less like likely made make makes making many maybe more most
    much must myself near need neither never none nothing often once only onto other others otherwise
    ours ourselves over perhaps quite rather really said same seem seems several shall should since some
    someone something such take taken than that their theirs them themselves then there therefore these
    they thing things this those though through throughout thus together toward towards under unless
    until upon used using very want wants well went were what whatever when whenever where whereas
    wherever whether which while whoever whole whom whose will with within without would your yours
    yourself
"""
STOPWORDS = frozenset(_STOPWORDS.split())


@dataclass(frozen=True, slots=True)
class Quality:
    """The parts of Q_com, each in [0, 1]."""

    ratio: float
    level: float
    info: float
    sem: float

    @property
    def total(self) -> float:
        """Q_com (equation 1), in [0, 1]."""
        return (
            RATIO_WEIGHT * self.ratio
            + LEVEL_WEIGHT * self.level
            + INFO_WEIGHT * self.info
            + SEM_WEIGHT * self.sem
        )


def quality(text: str, source: str, query: str, level: Level) -> Quality:
    """Q_com of `text` as a compression of `source` for `query` at `level`."""
    words, sentences = count_words(text), count_sentences(text)
    return Quality(
        ratio=ratio_score(len(text), level),
        level=level_score(words, sentences, level),
        info=info_score(text, source, query),
        sem=completeness_score(text, level),
    )


def ratio_score(length: int, level: Level) -> float:
    """Q_ratio (equation 7) of a text of `length` characters."""
    low, high = level.characters
    if length < low:
        return 0.8 * length / low
    if length <= high:
        return 1.0
    if length <= 1.5 * high:
        return 1.0 - 0.3 * (length - high) / (0.5 * high)
    return 0.3 * 1.5 * high / length


def info_score(text: str, source: str, query: str) -> float:
    """Q_info (equations 8 to 10): keywords of the query, and of the source, that the text keeps.

    Query keywords that are not in the source count neither way: equation 9 as printed would credit a text
    that makes them up, and exceed the 1 at which appendix T says that it caps.
    """
    kept, held = keywords(text), keywords(source)
    wanted = keywords(query) & held
    general = _general(text, source, kept, held)
    if not wanted:
        return general
    return 0.7 * len(wanted & kept) / (len(wanted) + _EPSILON) + 0.3 * general


def _general(text: str, source: str, kept: set[str], held: set[str]) -> float:
    """S_gen (equation 10); |x| and |y| are characters."""
    overlap = len(kept & held) / (len(held) + _EPSILON)
    length = min(1.0, 2.0 * len(text) / len(source)) if source else 0.0
    return 0.6 * overlap + 0.4 * length


def completeness_score(text: str, level: Level) -> float:
    """Q_sem (equation 11): penalties for what is no prose."""
    sentences = count_sentences(text)
    structure = 1.0
    if not sentences:
        structure = 0.3
    elif sentences == 1 and level.number != 1:
        structure = 0.7
    words = count_words(text)
    length = 0.5 if words < 20 else 0.9 if words > 1200 else 1.0
    return structure * length * (1.0 if _TERMINATOR.search(text) else 0.8)


def level_score(words: int, sentences: int, level: Level) -> float:
    """Q_level (equations 12 to 14)."""
    low, high = level.words
    if words < low:
        by_words = words / low
    elif words <= high:
        by_words = 1.0
    else:
        by_words = 0.7 if words <= 1.5 * high else 0.3
    by_sentences = min(1.0, max(0.3, level.sentences / max(1, sentences)))
    return 0.7 * by_words + 0.3 * by_sentences


def keywords(text: str) -> set[str]:
    """Words of four letters or more that are no stopwords, in lower case."""
    words = (word.lower() for word in _WORD.findall(text))
    return {word for word in words if len(word) >= _SHORTEST_KEYWORD and word not in STOPWORDS}


def count_words(text: str) -> int:
    return len(_WORD.findall(text))


def count_sentences(text: str) -> int:
    """Sentences of at least three words, half of them different: "ferry ferry ferry ferry" is none."""
    found = ([w.lower() for w in _WORD.findall(text, u.start, u.end)] for u in split_units(text))
    return sum(len(words) >= _SENTENCE_WORDS and 2 * len(set(words)) >= len(words) for words in found)
