"""Split documents and scores by hand, for tests of the packing that need no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tersely import Document
from tersely.pack.choose import Choice
from tersely.pack.fill import Place
from tersely.score import DocumentScores
from tersely.split.splitting import CostedUnit, SplitDocuments
from tersely.units import Unit
from tersely_agents.levels import Level
from tests.sdk.counters import count_words


def make_split(
    *documents: Sequence[str],
    limit: int | None = None,
    parents: Mapping[int, Sequence[int]] | None = None,
    structure: Sequence[Place] = (),
) -> SplitDocuments:
    """Documents without titles that consist of these units, with a space between two.

    Args:
        documents: the texts of each document's units. A unit costs its words.
        limit: in words; None for none.
        parents: by document, the parent of each unit, where units are pieces. Otherwise none is a piece.
        structure: units that are code instead of sentences.
    """
    parents = parents or {}
    units = tuple(
        _make_units(texts, parents.get(doc, range(len(texts))), [u for d, u in structure if d == doc])
        for doc, texts in enumerate(documents)
    )
    tokens = sum(unit.cost for own in units for unit in own)
    return SplitDocuments(
        documents=tuple(Document(" ".join(texts)) for texts in documents),
        units=units,
        title_costs=(0,) * len(documents),
        costs_in_tokens=True,
        tokens_before=tokens,
        limit=tokens if limit is None else limit,
    )


def _make_units(
    texts: Sequence[str], parents: Sequence[int], structure: Sequence[int]
) -> tuple[CostedUnit, ...]:
    siblings = Counter(parents)
    units: list[CostedUnit] = []
    start = 0
    for position, (text, parent) in enumerate(zip(texts, parents, strict=True)):
        is_code = position in structure
        unit = Unit(start, start + len(text), "code" if is_code else "sentence", atomic=is_code)
        units.append(CostedUnit(unit, parent, siblings[parent] > 1, count_words(text)))
        start += len(text) + 1
    return tuple(units)


def make_scores(
    *scores: float,
    relevance: float | None = None,
    packing_scores: Sequence[float] | None = None,
    unread: Sequence[int] = (),
) -> DocumentScores:
    """Complete scores of one document. Its relevance is its best score unless another is passed."""
    return DocumentScores(
        relevance=max(scores, default=0.0) if relevance is None else relevance,
        scores=list(scores),
        packing_scores=list(scores if packing_scores is None else packing_scores),
        read=[unit not in unread for unit in range(len(scores))],
    )


def make_choice(
    *kept: Place,
    sequence: Sequence[int] = (0,),
    candidates: Sequence[Place] = (),
    duplicates: Sequence[Place] = (),
    threshold: float | None = None,
) -> Choice:
    """A choice that keeps `kept`, which are candidates too."""
    return Choice(
        kept=frozenset(kept),
        sequence=tuple(sequence),
        candidates=frozenset((*kept, *candidates)),
        duplicates=frozenset(duplicates),
        threshold=threshold,
    )


def make_level(lowest: int, highest: int) -> Level:
    """A level of detail of so many characters. The packing looks at nothing else."""
    return Level(1, "by hand", 0.0, (lowest, highest), (0, 0), 0, "anything")
