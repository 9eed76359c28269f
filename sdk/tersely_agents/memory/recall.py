"""Documents for a recall: the texts that left the context, each reply under the question that it answers.

A past question often repeats the query, and its answer may share no word with it. So a question does not
compete with its answer. It is the title of the texts that follow it, up to the user's next message, and the
model reads each text together with its title.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tersely.types import Document
from tersely_agents.memory.sentences import find_questions

_MAX_TITLE_CHARACTERS = 300
"""Largest number of characters of a title. Longer questions compete as texts."""

Turn = tuple[str, Sequence[str]]
"""The role of a message, and its texts that left the context."""


def list_documents(turns: Iterable[Turn]) -> list[Document]:
    """Return the texts of the messages as documents, without repetitions."""
    found: list[tuple[str | None, str]] = []
    for said, replies in _group_turns(turns):
        question, rest = _take_questions(said[-1]) if said and replies else (None, None)
        texts = said if rest is None else [*said[:-1], rest]
        found += [(None, text) for text in texts] + [(question, text) for text in replies]
    return [Document(text, title) for title, text in dict.fromkeys(found) if text.strip()]


def _group_turns(turns: Iterable[Turn]) -> list[tuple[list[str], list[str]]]:
    """Return the texts of each message of the user, and the texts of the messages that follow it."""
    groups: list[tuple[list[str], list[str]]] = [([], [])]
    for role, texts in turns:
        given = [text for text in texts if text.strip()]
        if role == "user":
            groups.append((given, []))
        else:
            groups[-1][1].extend(given)
    return groups


def _take_questions(text: str) -> tuple[str | None, str]:
    """Return the questions of a text as a title, and the rest of the text. Questions that are too long for a
    title stay in the text."""
    questions = find_questions(text)
    title = " ".join(" ".join(text[start:end] for start, end in questions).split())
    if not 0 < len(title) <= _MAX_TITLE_CHARACTERS:
        return None, text
    for start, end in reversed(questions):
        text = text[:start] + text[end:]
    return title, text
