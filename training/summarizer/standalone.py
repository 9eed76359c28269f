"""Rewrite a sentence so that it makes sense alone: replace mentions with names.

"He wrote it in 1931." in a passage with the title "Arno Holt (writer)" becomes "Arno Holt wrote it in 1931."
QED's annotation says which mention refers to which part of the question. Without it, a pronoun or a class
word ("The film") at the start of a sentence is assumed to mean the passage's title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_POSSESSIVE = frozenset({"his", "its", "their", "her"})
_PERSONAL = frozenset({"he", "she", "it", "they", "him", "them", "her"})
_CLASSES = (
    "film|movie|song|single|album|band|group|series|show|book|novel|story|play|game|company|firm|club|team|"
    "school|university|college|city|town|village|river|island|bridge|building|station|airport|ship|magazine|"
    "newspaper|festival|event|battle|treaty|act|organization|organisation|airline|car|plant|disease"
)
_LEADING = re.compile(rf"(?:(?P<pronoun>He|She|It|His|Her|Its)|The (?:{_CLASSES}))(?= [a-z])")
_LATER = re.compile(
    r"(?P<lead>(?:After|As|At|By|During|From|In|On|Since|Until)\b[^.;:\"]{0,60}?,? )"
    r"(?P<pronoun>he|she)(?= [a-z])"
)
_EXPLETIVE = re.compile(
    r"It (?:is|was|has been) (?:[a-z]+ )?(?:that|to|unclear|unknown|not|believed|said|thought)\b"
)
_ALTERNATIVE = re.compile(r"\s*\([^()]*\)\s*$")
_WORD = re.compile(r"\w+")
_BEFORE_OBJECT = re.compile(r"\s*(?:[.,;:)]|(?:and|as|at|by|for|from|in|on|or|that|to|when|with)\b|$)")
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention in a passage and the part of the question that it refers to."""

    start: int
    end: int
    """Range of the mention in the passage, in code points."""
    question_text: str


def make_standalone(
    text: str, start: int, end: int, title: str | None, references: Sequence[Reference] = ()
) -> str:
    """Return the sentence `text[start:end]` of a passage with names instead of mentions.

    `references` are those of the passage. A mention stays unless the passage or its title contains its name.
    """
    sentence, name = text[start:end], _clean_title(title)
    for reference in sorted(references, key=lambda r: -r.start):
        if not start <= reference.start < reference.end <= end:
            continue
        mention = text[reference.start : reference.end]
        full = _find_name(reference.question_text, text, name)
        if full is None or not _is_anaphor(mention) or full.lower() in sentence.lower():
            continue
        a, b = reference.start - start, reference.end - start
        if _is_quoted(sentence[:a]):
            continue
        sentence = sentence[:a] + _inflect(full, mention, sentence[b:]) + sentence[b:]
    if name is None or name.lower() in sentence.lower() or _EXPLETIVE.match(sentence):
        return sentence
    if match := _LEADING.match(sentence):
        rest = sentence[match.end() :]
        return _inflect(name, match[0], rest) + rest
    if match := _LATER.match(sentence):
        return f"{match['lead']}{name}{sentence[match.end() :]}"
    return sentence


def clean_tokenized(text: str) -> str:
    """Restore the usual spaces and quotation marks of tokenised text: "He won ." -> "He won."."""
    text = re.sub(r"``\s*", '"', text)
    text = re.sub(r"\s*''", '"', text)
    text = re.sub(r" (?=[.,;:!?%)\]])", "", text)
    text = re.sub(r"(?<=[(\[$]) ", "", text)
    text = re.sub(r" (?=(?:'s|'re|'ve|'ll|'d|'m|n't)\b)", "", text)
    text = re.sub(r" -- ", " – ", text)
    return re.sub(r"(?<=\w) - (?=\w)", "-", text)


def _clean_title(title: str | None) -> str | None:
    """Return the title as a name, without a disambiguation in brackets, or None if it is not a name."""
    if not title:
        return None
    name = _ALTERNATIVE.sub("", title).replace("_", " ").strip()
    usable = 0 < len(name) <= _LONGEST_NAME and not name.startswith(("List of", "Lists of"))
    return name if usable and " §" not in name and " — " not in name else None


def _is_anaphor(mention: str) -> bool:
    """Return whether a mention needs earlier text: a pronoun, or "the" with common nouns."""
    words = mention.split()
    if len(words) == 1:
        return mention.lower() in _POSSESSIVE | _PERSONAL
    named = any(word[0].isupper() or word[0].isdigit() for word in words[1:])
    return words[0].lower() in {"the", "this", "that", "these"} and len(words) <= 3 and not named


def _find_name(question_text: str, passage: str, title: str | None) -> str | None:
    """Find the question's words in the title or the passage, and return them as written there."""
    words = {word.lower() for word in _WORD.findall(question_text)} - {"the", "a", "an", "of", "in"}
    if title:
        own = {word.lower() for word in _WORD.findall(title)} - {"the", "a", "an", "of", "in"}
        if own and (own <= words or words <= own):
            return title
    match = re.search(rf"(?<!\w){re.escape(question_text)}(?!\w)", passage, re.IGNORECASE)
    return match[0] if match and match[0][0].isupper() else None


def _is_quoted(before: str) -> bool:
    """Return whether a quotation is open at the end of this text. Mentions inside one are not replaced."""
    return before.count('"') % 2 == 1 or before.count("``") > before.count("''")


def _inflect(name: str, mention: str, rest: str) -> str:
    """Inflect the name like the mention: "his" before a noun becomes "Holt's", "the match" keeps its article
    before a number."""
    word = mention.lower()
    if word.startswith("the ") and name[0].isdigit():
        return f"{mention[:3]} {name}"
    is_owner = word in _POSSESSIVE and not (word == "her" and _BEFORE_OBJECT.match(rest))
    return f"{name}'s" if is_owner else name
