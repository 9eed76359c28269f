"""An expert for questions with labelled evidence, such as HotpotQA's.

It first searches for the question. While evidence is missing, it searches for the title of a document that
holds some, if the question or the evidence so far names it. Then it answers. Its thoughts quote the evidence
that the last search found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.shared.tasks import Example, load
from tersely import Document
from training.agent.moves import Move, finish

MOST_SEARCHES = 4
LONGEST_THOUGHT = 400
"""Largest number of characters of a thought. The grammar of the agent's turns allows as many."""
_BRACKETED = re.compile(r"\s*\([^()]*\)")


def read_labelled(name: str, data: Path) -> list[Example]:
    """Read the training questions of a set that name their evidence and whose answer is in a document."""
    return [e for e in load(name, "train", data=data) if e.findable and e.support]


class Evidence(NamedTuple):
    title: str
    sentences: tuple[str, ...]


def find_evidence(example: Example) -> dict[int, Evidence]:
    """Return the supporting sentences of each document that has some, by its place."""
    sentences: dict[int, list[str]] = {}
    for place, start, end in example.support or ():
        sentences.setdefault(place, []).append(_flatten(example.documents[place].text[start:end]))
    return {
        place: Evidence(example.documents[place].title or "", tuple(found))
        for place, found in sentences.items()
    }


@dataclass(slots=True)
class LabelledExpert:
    """Expert for one question. ids: the id of each document, in the order of the question."""

    question: str
    answer: str
    evidence: Mapping[int, Evidence]
    ids: Sequence[str]
    _moves: int = 0
    _seen: list[int] = field(default_factory=list[int])

    def __call__(self, found: Mapping[str, Document]) -> Move | None:
        """Return the next move. None if evidence cannot be found in `MOST_SEARCHES` searches."""
        new = [place for place in self.evidence if place not in self._seen and self._shows(found, place)]
        self._seen += new
        self._moves += 1
        needed = [self.ids[place] for place in self._seen]
        if self._moves == 1:
            think = "I know nothing yet, so I search for the question."
            return Move(think, needed, "search", {"query": self.question})
        missing = [evidence for place, evidence in self.evidence.items() if place not in self._seen]
        if not missing:
            return finish(self._think(new, f"So the answer is {self.answer}."), self.answer, needed)
        title = self._name_next(missing)
        if title is None or self._moves > MOST_SEARCHES:
            return None
        return Move(self._think(new, f"Next I need {title}."), needed, "search", {"query": title})

    def _shows(self, found: Mapping[str, Document], place: int) -> bool:
        text = _flatten(found[self.ids[place]].text) if self.ids[place] in found else ""
        return all(sentence in text for sentence in self.evidence[place].sentences)

    def _name_next(self, missing: Sequence[Evidence]) -> str | None:
        """Return the first missing title that the question or the evidence so far names."""
        known = [sentence for place in self._seen for sentence in self.evidence[place].sentences]
        text = " ".join([self.question, *known]).casefold()
        names = [_BRACKETED.sub("", evidence.title) for evidence in missing]
        return next((name for name in names if name and name.casefold() in text), None)

    def _think(self, new: Sequence[int], conclusion: str) -> str:
        """Return a thought: the evidence of the documents `new`, if it is short enough, and a conclusion."""
        sentences = [sentence for place in new for sentence in self.evidence[place].sentences]
        thought = " ".join([*sentences, conclusion])
        return thought if len(thought) <= LONGEST_THOUGHT else conclusion


def _flatten(text: str) -> str:
    return " ".join(text.split())
