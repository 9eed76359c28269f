"""The compressor as teacher: which level the material deserves, and an extractive summary of that length."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tersely import Compressor, Document
from tersely_agents.levels import LEVELS, Level, choose_level_for

LONGEST = 700
"""Characters of a summary, so that a small model learns from many turns."""
_BUDGETS = (None, 40, 60, 90, 120, 160)
"""Tokens that are tried until the summary has the length of its level; None for the model's own threshold."""


def write_turn(think: str, level: Level, summary: str, tool: str, arguments: Mapping[str, str]) -> str:
    """Return a turn as a model writes it, for the agent's strategy "summary"."""
    parameters = "".join(f"<parameter={name}>{value}</parameter>" for name, value in arguments.items())
    return (
        f"<think>{think}</think>\n<summary_level>{level.number}</summary_level>\n"
        f"<summary>{summary}</summary>\n<function={tool}>{parameters}</function>"
    )


@dataclass(frozen=True, slots=True)
class Notes:
    """A summary as a teacher writes it."""

    level: Level
    entries: Mapping[str, str]
    """What is known from each document, by its id."""

    @property
    def text(self) -> str:
        return "\n".join(f"[{docid}] {text}" for docid, text in self.entries.items())


def write_notes(
    compressor: Compressor, question: str, material: Mapping[str, Document], needed: Collection[str]
) -> Notes | None:
    """What the compressor keeps of the material for the question; None where no summary of the right length
    comes of it.

    The documents in `needed` are whole in it, whatever their score: they led to the answer. The level is the
    one that the best score deserves, or a lower one where what is kept cannot fill it.
    """
    documents = list(material.values())
    for budget in _BUDGETS:
        result = compressor.compress(question, documents, budget=budget)
        kept = {document.source: document.text for document in result.documents}
        entries = {
            docid: " ".join((document.text if docid in needed else kept[place]).split())
            for place, (docid, document) in enumerate(material.items())
            if docid in needed or place in kept
        }
        notes = Notes(LEVELS[0], entries)
        level = choose_level(choose_level_for(span.score for span in result.kept), len(notes.text))
        low, high = level.characters
        if low <= len(notes.text) <= min(high, LONGEST):
            return Notes(level, entries)
    return None


def choose_level(deserved: Level, length: int) -> Level:
    """The level that is deserved, or the highest below it that a text of this length can fill."""
    fitting = [level for level in LEVELS[: deserved.number] if level.characters[0] <= length]
    return fitting[-1] if fitting else LEVELS[0]
