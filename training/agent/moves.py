"""Moves of a scripted expert, which takes the model's place in an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tersely import Document


@dataclass(frozen=True, slots=True)
class Move:
    """A thought and a tool call, and the documents that led to them."""

    think: str
    needed: Sequence[str]
    """Ids of the documents with the text that the summary must hold."""
    tool: str
    arguments: Mapping[str, str]


Expert = Callable[[Mapping[str, Document]], Move | None]
"""A function that returns the next move after a search, from the shown text of each document by id; None to
give up."""


def finish(think: str, answer: str, needed: Sequence[str]) -> Move:
    """Return the move that answers and cites the needed documents."""
    explanation = " ".join(f"[{docid}]" for docid in needed)
    return Move(think, needed, "finish", {"answer": answer, "explanation": explanation})
