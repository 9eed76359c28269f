"""Find the values in a statement, such as a sum or a date, and the words that say what it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tersely.score.words import FILLER_WORDS, QUESTION_WORDS
from tersely_agents.memory.cues import CONCEPTS, IMPERATIVE, PRONOUN, SLOTS, UPDATE
from tersely_agents.quality import STOPWORDS
from tersely_agents.summaries.grounding import find_identifiers

MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?"
_SPELLED = (
    r"(?:(?:one|two|three|four|five|six|seven|eight|nine)(?: hundred| thousand)?|ten|eleven|twelve"
    r"|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)"
)
_VALUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "money",
        re.compile(
            rf"[$€£¥]\s?\d[\d.,]*[kKmM]?|(?:\b\d[\d.,]*|\b{_SPELLED}(?:[ -](?:and )?{_SPELLED})*)"
            r"[ -]?(?:k |thousand )?(?:euros?|eur|dollars?|usd|bucks|pounds?|gbp|chf|franken)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "time",
        re.compile(
            r"\b\d{1,2}:\d\d\b|\b\d{1,2}\s?(?:[ap]\.?m\b|uhr\b|o['’]clock)"
            rf"|\b(?:half|quarter) (?:past|to) \w+|\bat {_SPELLED}\b|\bnoon\b|\bmidnight\b",
            re.IGNORECASE,
        ),
    ),
    (
        "date",
        re.compile(
            rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{MONTH}\b(?: \d{{4}})?"
            rf"|\b{MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
            rf"|\b[0-3]?\d\.(?:0?[1-9]|1[0-2])\.(?:\d{{2,4}})?"
            rf"|\b(?:{_DAY})(?: and (?:{_DAY}))?\b|\b(?:in|by|until|bis|im|since|ab) {MONTH}\b|\bQ[1-4]\b",
            re.IGNORECASE,
        ),
    ),
)
_NUMBER = re.compile(
    r"\b\d[\d.,]*%?|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|zwei|drei|vier|fünf|sechs"
    r"|sieben|acht|neun|zehn|elf|zwölf)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<!^)(?<![.:!?\n]\s)\b[A-Z][\w'’-]*[a-z\d][\w'’-]*(?: [A-Z][\w'’-]+)*|\b[A-Z]{2,}\w*\b"
    r"|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z][a-z]+(?: [A-Z][a-z]+)+"
)
_TITLED = re.compile(r"\b(?:Mrs?|Ms|Dr|Prof|Professor|Frau|Herrn?)\b\.?(?: Dr\.?)? [A-Z]\w+")
_BEFORE_A_NAME = "to is in on at from channel host server bucket queue room user named"
_HYPHENATED = re.compile(
    rf"(?:{'|'.join(rf'(?<={word} )' for word in _BEFORE_A_NAME.split())})[a-z]+(?:-[a-z\d]+)+\b"
)
_GERMAN = re.compile(
    r"\b(?:der|das|und|ist|nicht|ich|wir|ein|eine|für|mit|auf|den|im|bitte|hat)\b"
    r"|\bdie [A-Z]\w+ (?:hat|lautet|ist|wird)\b|[äöüß]",
    re.IGNORECASE,
)
_COMMON = """
    der die das den dem des und ist sind war nicht ich wir du ihr ein eine einen einem einer für mit auf am
    im an in zu zum zur von vom bei als auch so es sie er hat haben habe wird werden wurde sich nur noch mehr
    jetzt doch sondern lautet liegt beträgt etwas gibt dass wenn aber oder wer was wie pro über unter nach
    vor um aus mir mich gestern heute morgen
    total said set sets make keep goes come comes going run yesterday today tomorrow week
"""
COMMON = STOPWORDS | frozenset(_COMMON.split())
"""Words that say nothing about a topic."""
_CLAUSE = re.compile(r"(?:,|;|:| –| —| -) (?=\S)|(?<=\w) (?=(?:but|sondern|aber) )")
WORD = re.compile(r"[^\W_]+(?:['’]\w+)?")


class Value(NamedTuple):
    """A value in a statement. It may change while the topic of the statement stays."""

    kind: str
    text: str
    start: int
    is_subject: bool = False
    """True if it names the subject of the statement, as in "Gate 4 stays locked"."""


def find_values(text: str) -> list[Value]:
    """Return the values of a statement, in the order of the text."""
    found: list[Value] = []
    left = text
    for kind, pattern in (*SLOTS.items(), *_VALUES):
        for match in pattern.finditer(left):
            found.append(Value(kind, match[0].rstrip(".,"), match.start()))
        left = _blank(pattern, left)
    names = [_TITLED, _HYPHENATED] if _GERMAN.search(text) else [_TITLED, _NAME, _HYPHENATED]
    # The longest first: a number inside an address is part of the address.
    for name in sorted(find_identifiers(left), key=len, reverse=True):
        at = left.find(name)
        if at >= 0:
            found.append(Value("identifier", name, at))
            left = left.replace(name, " " * len(name))
    for kind, patterns in (("number", [_NUMBER]), ("name", names)):
        for pattern in patterns:
            for match in pattern.finditer(left):
                name = match[0].rstrip(".,")
                value = _drop_opening(name)
                if value:
                    found.append(Value(kind, value, match.start() + len(name) - len(value)))
            left = _blank(pattern, left)
    clauses = split_clauses(text)
    found.sort(key=lambda value: value.start)
    return [value._replace(is_subject=_is_subject(value, text, clauses)) for value in found]


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Replace what a pattern matches with as many spaces."""
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _drop_opening(name: str) -> str:
    """Drop words that have a capital because they open the sentence, such as "Forget" before a name."""
    first, _, rest = name.partition(" ")
    is_cue = UPDATE.fullmatch(first) or IMPERATIVE.fullmatch(first) or first.casefold() in COMMON
    return rest if is_cue else name


def _is_subject(value: Value, text: str, clauses: Sequence[tuple[int, int]]) -> bool:
    """Return whether a number or an identifier opens a clause, and something else follows."""
    start, end = next(c for c in reversed(clauses) if c[0] <= value.start)
    follows = text[value.start + len(value.text) : end].strip(" .,;:!")
    is_first = len(text[start : value.start].split()) < 3
    return value.kind in ("number", "identifier") and is_first and bool(follows)


def find_words(text: str, *, names_only: bool = False) -> set[str]:
    """Return stems of content words; with `names_only` only those of values and capitalised words."""
    words: set[str] = set()
    for match in WORD.finditer(text):
        word = match[0].casefold()
        if names_only and not (
            match[0][0].isupper() or match[0][0].isdigit() or "-" in text[match.end() : match.end() + 1]
        ):
            continue
        if not (word in COMMON or FILLER_WORDS.fullmatch(word) or QUESTION_WORDS.fullmatch(word)):
            words.add(stem(word))
    return words


def stem(word: str) -> str:
    """Return the first six letters of a word, without a plural s; numbers stay whole."""
    return word if word.isdigit() else word[:6].removesuffix("s")


def find_topic(text: str, values: Sequence[Value], *, whole: bool = False) -> frozenset[str]:
    """Return the stems and the concepts of the clauses that hold values, without the values and without words
    such as "now" that announce a change. With `whole`, return those of all clauses."""
    clauses = split_clauses(text)
    holding = [c for c in clauses if any(c[0] <= v.start < c[1] for v in values)]
    if whole or not holding or any(PRONOUN.match(text[start:end]) for start, end in holding):
        holding = clauses
    topic: set[str] = set()
    for start, end in holding:
        clause = list(text[start:end])
        for value in values:
            if start <= value.start < end:
                clause[value.start - start : value.start - start + len(value.text)] = " " * len(value.text)
        words = "".join(clause)
        literal = find_words(UPDATE.sub(" ", words))
        for concept, pattern in CONCEPTS.items():
            if pattern.search(words):
                topic.add(f"={concept}")
        topic |= literal
    return frozenset(topic)


def split_clauses(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each clause of a statement."""
    cuts = [0, *(match.end() for match in _CLAUSE.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(cuts) if text[start:end].strip()]


def is_concept(word: str) -> bool:
    return any(pattern.fullmatch(word) for pattern in CONCEPTS.values())


def occurs(value: str, text: str) -> bool:
    """Return whether a value occurs as a whole: 96 is not in 1996."""
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        if not (text[at - 1 : at].isalnum() and value[0].isalnum()) and not (text[end : end + 1].isalnum()):
            return True
        at = text.find(value, at + 1)
    return False
