"""Splits and scores made by hand, for tests of the packing that need no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tersely import Compression, Document
from tersely.options import CompressionOptions
from tersely.pack.choose import Selection, choose
from tersely.pack.receipt import write_receipt
from tersely.score.loading import Thresholds
from tersely.score.protocol import Scored, Scores
from tersely.split.documents import Split
from tersely.units import Unit
from tests.sdk.counters import count_words


def make_split(
    *documents: Sequence[str],
    limit: int | None = None,
    parents: Mapping[int, Sequence[int]] | None = None,
    headings: Collection[int] = (),
    titles: Mapping[int, str] | None = None,
) -> Split:
    """Make documents that consist of these units, with a space between two.

    Args:
        documents: the texts of each document's units. A unit costs its words.
        limit: in words; None for none.
        parents: by document, the parent of each unit, if units are pieces. Otherwise none is a piece.
        headings: positions of headings.
        titles: by document. A title costs nothing until the text is counted.
    """
    units: list[Unit] = []
    offsets = [0]
    for doc, texts in enumerate(documents):
        own = (parents or {}).get(doc, range(len(texts)))
        siblings, start = Counter(own), 0
        for text, parent in zip(texts, own, strict=True):
            at, end = len(units), start + len(text)
            kind = "heading" if at in headings else "sentence"
            is_part = siblings[parent] > 1
            units.append(Unit(start, end, kind, False, doc, parent, is_part, count_words(text)))
            start = end + 1
        offsets.append(len(units))
    tokens = sum(unit.cost for unit in units)
    return Split(
        documents=[
            Document(" ".join(texts), (titles or {}).get(doc), f"id {doc}", {"page": doc})
            for doc, texts in enumerate(documents)
        ],
        units=units,
        offsets=offsets,
        title_costs=[0] * len(documents),
        costs_in_tokens=True,
        tokens_before=tokens,
        limit=tokens if limit is None else limit,
    )


def make_scored(
    split: Split,
    *scores: float,
    packing: Sequence[float] | None = None,
    relevance: Sequence[float] | None = None,
    unread: Collection[int] = (),
    echoes: Collection[int] = (),
    **facts: Any,
) -> Scored:
    """Make scores of all units. A document is as relevant as its best unit unless another value is passed."""
    if relevance is None:
        own = [scores[at.start : at.stop] for at in map(split.positions, range(len(split.documents)))]
        relevance = [max(values, default=0.0) for values in own]
    positions = range(len(scores))
    return Scored(
        Scores(
            scores=np.array(scores, dtype=np.float64),
            packing=np.array(scores if packing is None else packing, dtype=np.float64),
            relevance=np.array(relevance, dtype=np.float64),
            read=np.array([at not in unread for at in positions], dtype=np.bool_),
            held_back=np.array([at in echoes for at in positions], dtype=np.bool_),
        ),
        **facts,
    )


def select(split: Split, scored: Scored, **options: Any) -> Selection:
    """Choose by these scores, with tokens that are words."""
    return choose(split, scored, CompressionOptions(**options), count_words)


def receive(split: Split, scored: Scored, *, promises_recall: bool = False, **options: Any) -> Compression:
    """Choose, and write the receipt."""
    selection = select(split, scored, **options)
    return write_receipt(split, scored, selection, "model@1", Thresholds(0.5 if promises_recall else None))
