"""Compose two-hop examples from single-hop questions, because labelled ones are rare.

If a question names the title of its passage, the name is removed. A sentence of another passage that mentions
the title becomes the evidence. Then only the evidence tells which passage is meant, as in the second hop of a
real question.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training.selector_model.groups import Group, GroupDocument
from training.selector_model.questions import split_words

PLACEHOLDER = "it"
LONGEST_NAME = 5
"""Maximum words of a title that is searched for."""
MENTIONS = 20
"""Maximum number of sentences kept for one title."""

Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mention:
    """A sentence that names a title, and its passage."""

    document: GroupDocument
    sentence: str


class Mentions:
    """Index of the sentences that mention the title of another passage of `groups`."""

    def __init__(self, groups: Sequence[Group]) -> None:
        documents = {d.text: d for g in groups for d in g.documents}
        names = {name for d in documents.values() if (name := _get_name(d))}
        self._by_name: dict[Name, list[Mention]] = defaultdict(list)
        for document in documents.values():
            own = _get_name(document)
            for start, end in document.units:
                sentence = document.text[start:end]
                for name in set(_list_names(split_words(sentence))) & names:
                    if name != own and len(self._by_name[name]) < MENTIONS:
                        self._by_name[name].append(Mention(document, sentence))

    def compose(self, group: Group, rng: random.Random) -> tuple[str, Mention] | None:
        """Return the question without the name of its passage, and a mention of that name outside the group.

        Returns None if the question does not name its passage, or nothing else mentions it.
        """
        own_texts = {d.text for d in group.documents}
        for document in group.documents:
            name = _get_name(document)
            if not document.gold or name is None:
                continue
            pattern = re.compile(r"\b" + r"\W+".join(map(re.escape, name)) + r"\b", re.IGNORECASE)
            places = [m for m in self._by_name.get(name, ()) if m.document.text not in own_texts]
            question, count = pattern.subn(PLACEHOLDER, group.question)
            if count and places:
                return question, rng.choice(places)
        return None


def _get_name(document: GroupDocument) -> Name | None:
    """Return the title as words, or None if it is too short or too long."""
    words = tuple(split_words(document.title or ""))
    return words if sum(map(len, words)) > 4 and len(words) <= LONGEST_NAME else None


def _list_names(words: list[str]) -> Iterator[Name]:
    """Yield every sequence of words that may be a title."""
    for start in range(len(words)):
        for length in range(1, LONGEST_NAME + 1):
            if start + length <= len(words):
                yield tuple(words[start : start + length])
