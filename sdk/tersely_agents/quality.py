"""Measure the quality of a compression: Q_com of ZipRL (equation 1 and appendix G). No model is needed.

Q_com has four parts, each in [0, 1]: the length of the text against its level, its words and sentences
against its level, the keywords that it keeps, and the completeness of its prose. It is fast enough for every
turn of an agent, and training uses it as a reward. Every function is pure.

Words, stopwords and the bounds of the levels are those of English. In another language the scores still rank
texts of that language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tersely.split.sentences import split_units
from tersely_agents.levels import Level

RATIO_WEIGHT, LEVEL_WEIGHT, INFO_WEIGHT, SEM_WEIGHT = 0.3, 0.1, 0.4, 0.2
"""alpha 1 to 4 of equation 1."""

_EPSILON = 1e-9
_KEYWORD_CHARACTERS = 4
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
"""Common words of four letters or more."""
_SHORT = """
    a an and are as at be but by can did do for had has he her him his how i if in is it its may me my
    no nor not of off on or our out own per she so the to too two up us via was we who why you
"""
SHORT_STOPWORDS = frozenset(_SHORT.split())
"""Common words of fewer letters. Q_com needs none of them, because its keywords are longer."""


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
        parts = RATIO_WEIGHT * self.ratio + LEVEL_WEIGHT * self.level
        return parts + INFO_WEIGHT * self.info + SEM_WEIGHT * self.sem


def quality(text: str, source: str, query: str, level: Level) -> Quality:
    """Return Q_com of `text` as a compression of `source` for `query` at `level`."""
    return Quality(
        ratio=ratio_score(len(text), level),
        level=level_score(count_words(text), count_sentences(text), level),
        info=info_score(text, source, query),
        sem=completeness_score(text, level),
    )


def ratio_score(length: int, level: Level) -> float:
    """Return Q_ratio (equation 7) of a text of `length` characters."""
    low, high = level.characters
    if length < low:
        return 0.8 * length / low
    if length <= high:
        return 1.0
    if length <= 1.5 * high:
        return 1.0 - 0.3 * (length - high) / (0.5 * high)
    return 0.3 * 1.5 * high / length


def level_score(words: int, sentences: int, level: Level) -> float:
    """Return Q_level (equations 12 to 14) of the numbers of words and sentences."""
    low, high = level.words
    if words < low:
        by_words = words / low
    elif words <= high:
        by_words = 1.0
    else:
        by_words = 0.7 if words <= 1.5 * high else 0.3
    by_sentences = min(1.0, max(0.3, level.sentences / max(1, sentences)))
    return 0.7 * by_words + 0.3 * by_sentences


def info_score(text: str, source: str, query: str) -> float:
    """Return Q_info (equations 8 to 10) of the keywords of query and source that the text keeps.

    Query keywords that the source does not contain are ignored. Equation 9 as printed would reward a text
    that invents them, and could exceed 1, the maximum according to appendix T.
    """
    in_text, in_source = find_keywords(text), find_keywords(source)
    in_both = find_keywords(query) & in_source
    overlap = len(in_text & in_source) / (len(in_source) + _EPSILON)
    length = min(1.0, 2.0 * len(text) / len(source)) if source else 0.0
    general = 0.6 * overlap + 0.4 * length  # S_gen, equation 10
    if not in_both:
        return general
    return 0.7 * len(in_both & in_text) / (len(in_both) + _EPSILON) + 0.3 * general


def completeness_score(text: str, level: Level) -> float:
    """Return Q_sem (equation 11), which is lower for text that is not complete prose."""
    whole = count_whole_sentences(text)
    structure = 1.0
    if not whole:
        structure = 0.3
    elif whole == 1 and level.number != 1:
        structure = 0.7
    words = count_words(text)
    length = 0.5 if words < 20 else 0.9 if words > 1200 else 1.0
    return structure * length * (1.0 if _TERMINATOR.search(text) else 0.8)


def find_keywords(text: str) -> set[str]:
    """Return the words of four or more letters in lower case, without stopwords."""
    words = (word.lower() for word in _WORD.findall(text))
    return {word for word in words if len(word) >= _KEYWORD_CHARACTERS and word not in STOPWORDS}


def count_words(text: str) -> int:
    return len(_WORD.findall(text))


def count_sentences(text: str) -> int:
    """Count sentences, items of lists and other units with words, whole or not (S of equation 14)."""
    return sum(_WORD.search(text, unit.start, unit.end) is not None for unit in split_units(text))


def count_whole_sentences(text: str) -> int:
    """Count the units that read as a sentence (appendix G.3).

    They have three or more words, or two and an end mark; at least half of the words are different.
    """
    count = 0
    for unit in split_units(text):
        words = [word.lower() for word in _WORD.findall(text, unit.start, unit.end)]
        fewest = 2 if _TERMINATOR.search(text, unit.start, unit.end) else 3
        count += len(words) >= fewest and 2 * len(set(words)) >= len(words)
    return count
