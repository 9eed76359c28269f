"""The compressor as a teacher: it chooses a level and writes an extractive summary of that length."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tersely import Compressor, Document
from tersely_agents.levels import LEVELS, Level, choose_level_for

LONGEST = 700
"""Number of characters of a summary, so that a small model learns from many turns: levels 1 and 2."""
_BUDGETS = (None, 40, 60, 90, 120, 160)
"""Token budgets to try until the summary has the length of its level; None is the model's threshold."""
_FILLED = 0.3
"""Number of tokens that a long summary gets for each character of its level's lower bound: a fifth more than
it needs."""


def write_turn(think: str, level: Level, summary: str, tool: str, arguments: Mapping[str, str]) -> str:
    """Return a turn as a model writes it, for the agent's strategy "summary"."""
    parameters = "".join(f"<parameter={name}>{value}</parameter>" for name, value in arguments.items())
    return (
        f"<think>{think}</think>\n<summary_level>{level.number}</summary_level>\n"
        f"<summary>{summary}</summary>\n<function={tool}>{parameters}</function>"
    )


@dataclass(frozen=True, slots=True)
class Notes:
    """A summary that the teacher wrote."""

    level: Level
    entries: Mapping[str, str]
    """The known text of each document, by document id."""

    @property
    def text(self) -> str:
        return "\n".join(f"[{docid}] {text}" for docid, text in self.entries.items())


def write_notes(
    compressor: Compressor,
    question: str,
    material: Mapping[str, Document],
    needed: Collection[str],
    longest: int = LONGEST,
) -> Notes | None:
    """Summarise the material for the question with the compressor; return None if no summary has the right
    length.

    Documents in `needed` are kept whole, because they led to the answer. The best score determines the level,
    unless the kept text is too short for it; then it is a lower one. longest: characters of a summary. The
    levels 3 to 5 are filled if it allows them.
    """
    documents = list(material.values())
    scores = [span.score for span in compressor.compress(question, documents).kept]
    long = [level.characters[0] for level in LEVELS[2 : choose_level_for(scores).number]]
    filled = [round(_FILLED * least) for least in long[::-1] if least < longest]
    for budget in (*filled, *_BUDGETS):
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
        if low <= len(notes.text) <= min(high, longest):
            return Notes(level, entries)
    return None


def choose_level(deserved: Level, length: int) -> Level:
    """Return `deserved`, or the highest level below it that a text of this length can fill."""
    fitting = [level for level in LEVELS[: deserved.number] if level.characters[0] <= length]
    return fitting[-1] if fitting else LEVELS[0]
