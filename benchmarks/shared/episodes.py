"""Episodes of an agent that writes ZipRL's turns: its documents, and how well it keeps the form."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.shared.tasks import Example
from tersely_agents.agent import DocumentIndex, EpisodeState, TurnTrace
from tersely_agents.levels import LEVELS


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """Turns of an episode that keep the form."""

    replies: int
    """Number of replies of the model."""
    well_formed: int
    """Number of replies that the strategy could read."""
    summaries: int
    """Number of turns that had something to summarise."""
    inside: int
    """Number of summaries that have the length of their level."""
    levels: tuple[int, ...]
    """Levels of the summaries."""


def make_index(example: Example) -> DocumentIndex:
    """Return the documents of a question, named as files of a folder would be."""
    documents = example.to_documents()
    return DocumentIndex({f"{number}.md": document for number, document in enumerate(documents, 1)})


def count_turns(state: EpisodeState) -> TurnCounts:
    """Count the turns of an episode in strict mode."""
    summaries = [turn for turn in state.trace if turn.level is not None and turn.turn > 1]
    return TurnCounts(
        replies=state.turns,
        well_formed=state.turns - (state.outcome == "malformed"),
        summaries=len(summaries),
        inside=sum(map(is_inside, summaries)),
        levels=tuple(turn.level or 0 for turn in summaries),
    )


def is_inside(turn: TurnTrace) -> bool:
    """Return whether the turn's summary has the length of its level."""
    low, high = LEVELS[(turn.level or 1) - 1].characters
    return low <= len(turn.summary or "") <= high
