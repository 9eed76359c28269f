"""The first step of a compression: documents become units that know their cost and where they come from.

split_documents  split every document into units
open_structure   open blocks that are too large to be kept whole, and link what belongs together
cut_to_level     cut units that alone are longer than the level of detail allows
cut_to_limit     cut units that alone exceed the limit, and count the tokens of all
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from tersely.options import LEVEL_CHARACTERS, CompressionOptions
from tersely.pack.render import render_documents, title_line
from tersely.prepared import PreparedDocument
from tersely.score.protocol import DocumentScores
from tersely.split.arrange import Sizes, arrange
from tersely.split.cutting import PIECE, can_cut, cut
from tersely.split.sentences import Unit, split_units
from tersely.split.units import CostedUnit
from tersely.types import Document

LARGEST_BLOCK = 1200
"""Code points up to which a block stays whole, if it fits into the limit."""
MOST = 0.75
"""Share of the input from which a limit leaves blocks whole that fit into it."""
SMALLEST_RECORD = 40
"""Code points of a record that is not opened further, however small the limit is."""
LARGEST_FUNCTION = 2000
"""Code points up to which a function stays whole."""
CHARACTERS_PER_TOKEN = 4
"""About as many as in English prose, where code points stand in for tokens."""


@dataclass(frozen=True)
class SplitDocuments:
    """The documents of one request as units."""

    documents: tuple[Document, ...]
    units: tuple[tuple[CostedUnit, ...], ...]
    """Per document, in source order."""
    title_costs: tuple[int, ...]
    """Per document, the cost of its title line."""
    costs_in_tokens: bool
    """Whether costs are tokens. Without a limit they are code points, which cost nothing to count."""
    tokens_before: int
    """Tokens of the text with nothing dropped."""
    limit: int
    """Most tokens of the text; `tokens_before` where the options set no limit."""

    @cached_property
    def source_units(self) -> list[list[Unit]]:
        """The bare units, per document."""
        return [[unit.unit for unit in own] for own in self.units]

    @property
    def all_units(self) -> list[list[int]]:
        """The positions of all units, per document."""
        return [list(range(len(own))) for own in self.units]

    @property
    def documents_with_text(self) -> int:
        """Number of documents that hold a unit."""
        return sum(map(bool, self.units))

    def fits(self, options: CompressionOptions) -> bool:
        """Whether a limit leaves everything as it is, so that nothing needs a score."""
        drops_documents = options.max_docs is not None and options.max_docs < self.documents_with_text
        as_given = options.order == "source" and options.level is None and not drops_documents
        return options.is_limited and self.limit == self.tokens_before and as_given


class Scored(NamedTuple):
    """Split documents and what the model says about them."""

    split: SplitDocuments
    scores: Sequence[DocumentScores]
    """Per document, complete: none of its fields is None."""
    bounds: tuple[int, int] | None
    """Fewest and most characters to keep of each document; None for any."""
    warnings: tuple[str, ...] = ()
    """What did not go as asked."""
    kept_by: str = "score"
    """The reason of what is kept."""


def split_documents(
    documents: Sequence[Document], options: CompressionOptions, count: Callable[[str], int]
) -> SplitDocuments:
    """Split every document into units, and count the tokens of all (`count`: tokens of a text)."""
    bare = [
        document.preparation.units if isinstance(document, PreparedDocument) else split_units(document.text)
        for document in documents
    ]
    units = tuple(tuple(CostedUnit.whole(unit, n) for n, unit in enumerate(own)) for own in bare)
    positions = [range(len(own)) for own in bare]
    tokens_before = count(render_documents(documents, units, positions, range(len(documents))).text)
    return SplitDocuments(
        documents=tuple(documents),
        units=units,
        title_costs=tuple(len(title_line(document)) for document in documents),
        costs_in_tokens=False,
        tokens_before=tokens_before,
        limit=options.limit(tokens_before),
    )


def open_structure(
    split: SplitDocuments, options: CompressionOptions, count: Callable[[str], int]
) -> SplitDocuments:
    """Open blocks that are too large to be kept whole into their records, and link what belongs together.

    Structure of up to `LARGEST_BLOCK` code points stays whole where it fits into the limit, and a larger one
    where most of the input fits.
    """
    largest = LARGEST_BLOCK if options.level is None else LEVEL_CHARACTERS[1][1]
    room = split.limit if options.is_limited else None
    if room is not None and options.level is None and room >= MOST * split.tokens_before:
        largest = sys.maxsize
    part = PIECE if room is None else max(SMALLEST_RECORD, min(PIECE, 2 * room))
    sizes = Sizes(part, part if room is None else max(part, min(LARGEST_FUNCTION, 2 * room)))

    def is_large(text: str, unit: Unit) -> bool:
        if not unit.atomic:
            return False
        return unit.end - unit.start > largest or (
            room is not None and unit.end - unit.start > room and count(text[unit.start : unit.end]) > room
        )

    units = tuple(
        _arrange(document.text, own, partial(is_large, document.text), sizes, options)
        for document, own in zip(split.documents, split.units, strict=True)
    )
    return replace(split, units=units)


def _arrange(
    text: str,
    units: Sequence[CostedUnit],
    is_large: Callable[[Unit], bool],
    sizes: Sizes,
    options: CompressionOptions,
) -> tuple[CostedUnit, ...]:
    arranged = arrange(text, [unit.unit for unit in units], is_large, sizes, options.mark)
    siblings = Counter(parent for _, parent, _ in arranged)
    return tuple(
        CostedUnit(unit, parent, siblings[parent] > 1, unit.end - unit.start, link, options.marks == "all")
        for unit, parent, link in arranged
    )


def cut_to_level(split: SplitDocuments, characters: int) -> SplitDocuments:
    """Cut units of more than `characters`; `split` itself if there is none.

    Costs become code points.
    """
    units = tuple(
        _cut_large(document.text, own, characters, len)
        for document, own in zip(split.documents, split.units, strict=True)
    )
    if sum(map(len, units)) == sum(map(len, split.units)):
        return split
    titles = tuple(len(title_line(document)) for document in split.documents)
    return replace(split, units=units, title_costs=titles, costs_in_tokens=False)


def cut_to_limit(split: SplitDocuments, count: Callable[[str], int]) -> SplitDocuments:
    """Cut units that alone exceed the limit beside their document's title. Costs become tokens."""
    titles = tuple(count(title_line(document)) for document in split.documents)
    units = tuple(
        _cut_large(document.text, own, split.limit - title, count)
        for document, own, title in zip(split.documents, split.units, titles, strict=True)
    )
    return replace(split, units=units, title_costs=titles, costs_in_tokens=True)


def _cut_large(
    text: str, units: Sequence[CostedUnit], room: int, measure: Callable[[str], int]
) -> tuple[CostedUnit, ...]:
    """The units with their cost by `measure`. Those above `room` become pieces, where they may be cut."""
    out: list[CostedUnit] = []
    moved: list[int] = []
    """Where each unit is in `out`."""
    for unit in units:
        moved.append(len(out))
        cost = measure(text[unit.start : unit.end])
        if cost > room and unit.link is None and can_cut(unit.unit, room):
            pieces = cut(text, unit.unit, cost, room)
            costs = [measure(text[piece.start : piece.end]) for piece in pieces]
            out += [replace(unit, unit=p, cost=c) for p, c in zip(pieces, costs, strict=True)]
        else:
            out.append(unit.at_cost(cost))
    if len(out) == len(units):
        return tuple(out)
    siblings = Counter(unit.parent for unit in out)
    return tuple(
        replace(unit, is_piece=siblings[unit.parent] > 1, link=unit.link and unit.link.move(moved))
        for unit in out
    )
