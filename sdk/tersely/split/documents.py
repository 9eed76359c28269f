"""The first step of a compression: turn documents into one flat list of units with their costs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from tersely.options import LEVEL_CHARACTERS, CompressionOptions
from tersely.prepared import PreparedDocument
from tersely.runtime.cancellation import current_time_limit
from tersely.split.arrange import arrange
from tersely.split.cutting import PIECE, cut
from tersely.split.lines import line_start, strip
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tersely.types import Document, Status
from tersely.units import Unit

LARGEST_BLOCK = 1200
"""A block of at most this many code points stays whole if it takes at most half of the limit. One of at most
LARGEST_PART code points stays whole if it fits."""
LARGEST_BLOCK_AT_A_LEVEL = LEVEL_CHARACTERS[1][1]
"""The same bound for requests with a level of detail."""
ROOMY = 0.75
"""If the limit is at least this share of the input, blocks that fit into the limit stay whole."""
LARGEST_PART = 160
"""Under a limit, a row, a value or a statement of at most this many code points is not opened."""
SMALLEST_PART = 40
"""A part of an opened block with at most this many code points is never opened further, even for a small
limit."""
LARGEST_FUNCTION = 2000
"""A function of at most this many code points stays whole if it takes at most about half of the limit."""
CHARACTERS_PER_TOKEN = 4
"""Approximate value for English prose, to convert between tokens and code points."""
BETWEEN_DOCUMENTS = "\n\n"

Measure = Callable[[Sequence[str]], Sequence[int]]
"""A function that returns the size of each text."""
_SPLIT_SPEED = 400_000
"""Speed of splitting, matching and writing paragraphs together, on a slow or busy core, in code points per
second."""
_LINE_WEIGHT = 60
"""Splitting a line break takes as long as this many code points of a paragraph."""
_COUNT_SPEED = 4_000_000
"""Speed of counting tokens, in code points per second."""
_ALWAYS_SPLIT = 200_000
"""Number of code points that may always be split, even with a short time limit."""
_WITH_FIRST_PIECE = ("list_item", "log")
"""Kinds of units that begin with a bullet or a time. If one is cut, the later pieces need the first."""


class Bypass(NamedTuple):
    """The status of a request that returns all documents whole, and the reason."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Split:
    """The documents of one request as units."""

    documents: Sequence[Document]
    units: Sequence[Unit]
    """The units of all documents, in order."""
    offsets: Sequence[int]
    """Position of the first unit of each document, then the number of all units."""
    title_costs: Sequence[int]
    """Cost of each document's title line."""
    costs_in_tokens: bool
    """False without a limit or with a bypass: then costs are code points, which are faster to count."""
    tokens_before: int
    """Number of tokens of the text if nothing is dropped."""
    limit: int
    """Largest number of tokens of the text; `tokens_before` if the options set no limit."""
    bypass: Bypass | None = None
    """Set if everything is kept without scores. Then no unit was opened or cut."""
    unread: Sequence[Unit] = ()
    """The ends of documents that there was no time to split, each as one unit. They are not in `units`."""

    def positions(self, doc: int) -> range:
        """Return the positions of a document's units."""
        return range(self.offsets[doc], self.offsets[doc + 1])

    def documents_with_units(self) -> list[int]:
        """Return the indices of the documents that have units."""
        return [doc for doc, (first, end) in enumerate(pairwise(self.offsets)) if first < end]

    def join_unread(self) -> Split:
        """Return a copy with the `unread` units added to the units of their documents."""
        if not self.unread:
            return self
        rests = {unit.doc: [unit] for unit in self.unread}
        units, offsets = _join(
            [*(self.units[at] for at in self.positions(doc)), *rests.get(doc, ())]
            for doc in range(len(self.documents))
        )
        return replace(self, units=units, offsets=offsets, unread=())

    def text(self, unit: Unit) -> str:
        """Return the text of a unit."""
        return self.documents[unit.doc].text[unit.start : unit.end]

    @property
    def texts(self) -> list[str]:
        """The text of every unit."""
        return list(map(self.text, self.units))


def split(documents: Sequence[Document], options: CompressionOptions, count: Measure) -> Split:
    """Split documents into units with their costs and the units that they need.

    A block that is too large to be kept whole is opened: divided into its parts. A unit is cut into pieces
    if it exceeds the level of detail, or if it and its document's title exceed the limit.

    Args:
        count: returns the tokens of each text.
    """
    whole: list[Sequence[Unit]] = []
    rests: list[list[Unit]] = []
    for doc, (document, end) in enumerate(zip(documents, _find_ends(documents), strict=True)):
        is_prepared = isinstance(document, PreparedDocument)
        whole.append(document.preparation.units if is_prepared else split_units(document.text[:end]))
        rest = strip(document.text, end, len(document.text))
        rests.append([Unit(*rest, "line", True, doc, len(whole[-1]))] if rest else [])
    everything = [[*units, *rest] for units, rest in zip(whole, rests, strict=True)]
    (tokens_before,) = count([_join_whole(documents, everything)])
    limit = options.limit(tokens_before)
    bypass = _find_bypass(options, sum(map(bool, everything)), tokens_before, limit)
    costs_in_tokens = options.is_limited and bypass is None
    titles = (count if costs_in_tokens else _count_code_points)(list(map(title_line, documents)))
    if bypass is None:
        divided = _divide(documents, whole, titles, options, count, tokens_before, limit)
    else:
        divided = (
            [Unit(u.start, u.end, u.kind, u.divisible, doc, n) for n, u in enumerate(units)]
            for doc, units in enumerate(whole)
        )
    unread = [unit for rest in rests for unit in rest]
    units, offsets = _join(divided)
    return Split(documents, units, offsets, titles, costs_in_tokens, tokens_before, limit, bypass, unread)


def _join(units_by_document: Iterable[Sequence[Unit]]) -> tuple[list[Unit], list[int]]:
    """Return `Split.units` and `Split.offsets`."""
    units: list[Unit] = []
    offsets = [0]
    for document_units in units_by_document:
        units += document_units
        offsets.append(len(units))
    return units, offsets


def choose_documents(relevance: Sequence[float], among: Sequence[int], count: int | None) -> list[int]:
    """Return the `count` most relevant documents in `among`, best first (step 1 in the EFFCOMP paper).

    None returns all of them. Documents of equal relevance keep their order.
    """
    return sorted(among, key=lambda doc: (-relevance[doc], doc))[:count]


def title_line(document: Document) -> str:
    """Return the line that shows a document's title, with its line break; "" without a title."""
    return f"{document.title}\n" if document.title and not document.title.isspace() else ""


def _find_ends(documents: Sequence[Document]) -> list[int]:
    """Return the offset up to which to split each document: its end, unless the time limit is too short.

    If it is, the documents share the time equally. Longer documents get what shorter ones do not need. A
    document that needs more than its share is cut off between two lines. But a text that begins with a
    bracket is split whole or not at all, because half of it would not parse.
    """
    ends = [len(document.text) for document in documents]
    sizes = [0 if isinstance(document, PreparedDocument) else _weigh(document.text) for document in documents]
    time = current_time_limit()
    if time.seconds is None:
        return ends
    left = max(_ALWAYS_SPLIT, int((time.remaining - sum(ends) / _COUNT_SPEED) * _SPLIT_SPEED))
    if sum(sizes) <= left:
        return ends
    time.was_reached = True
    for place, doc in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        share = left // (len(sizes) - place)
        if sizes[doc] > share:
            text = documents[doc].text
            most = len(text) * share // sizes[doc]
            ends[doc] = 0 if text.lstrip()[:1] in "{[<" else text.rfind("\n", 0, most) + 1
            left -= _weigh(text[: ends[doc]])
        else:
            left -= sizes[doc]
    return ends


def _weigh(text: str) -> int:
    """Return the number of code points of paragraphs that would take as long to split as this text."""
    return len(text) + _LINE_WEIGHT * text.count("\n")


def _join_whole(documents: Sequence[Document], whole: Sequence[Sequence[Unit]]) -> str:
    """Return the text of all documents if nothing is dropped."""
    return BETWEEN_DOCUMENTS.join(
        title_line(document) + document.text[line_start(document.text, units[0].start) : units[-1].end]
        for document, units in zip(documents, whole, strict=True)
        if units
    )


def _find_bypass(
    options: CompressionOptions, documents_with_text: int, tokens_before: int, limit: int
) -> Bypass | None:
    if not documents_with_text:
        return Bypass("bypassed", "there is no text in the documents")
    if options.abstain is not None:
        return None  # only scores say whether the documents answer
    drops_documents = options.max_docs is not None and options.max_docs < documents_with_text
    as_given = options.order == "source" and options.level is None and not drops_documents
    if options.is_limited and limit == tokens_before and as_given:
        return Bypass("unchanged", "the documents fit into the limit")
    has_room = options.budget is None or tokens_before <= options.budget
    if options.min_tokens is not None and tokens_before < options.min_tokens and has_room:
        return Bypass("bypassed", f"the documents have {tokens_before} tokens, less than min_tokens")
    return None


def _divide(
    documents: Sequence[Document],
    whole: Sequence[Sequence[Unit]],
    titles: Sequence[int],
    options: CompressionOptions,
    count: Measure,
    tokens_before: int,
    limit: int,
) -> Iterator[list[Unit]]:
    """Yield the units of each document, after blocks are opened, heads are linked and large units are cut."""
    largest = LARGEST_BLOCK if options.level is None else LARGEST_BLOCK_AT_A_LEVEL
    is_limited = options.is_limited
    share = limit // 2
    if is_limited and options.level is None and limit >= ROOMY * tokens_before:
        largest, share = sys.maxsize, limit
    half = limit * CHARACTERS_PER_TOKEN // 2  # about half of the limit, in code points
    size = max(SMALLEST_PART, min(LARGEST_PART, half)) if is_limited else PIECE
    sizes = Sizes(size, max(size, min(LARGEST_FUNCTION, half)) if is_limited else size)
    bounds = options.bounds
    is_alone = sum(map(len, whole)) == 1
    base = 0
    for doc, (document, own, title) in enumerate(zip(documents, whole, titles, strict=True)):
        text = document.text
        room, measure = (limit - title, count) if is_limited else (sys.maxsize, _count_code_points)

        def is_large(unit: Unit, text: str = text) -> bool:
            size = unit.end - unit.start
            most = share if size > LARGEST_PART else limit
            return size > largest or (
                is_limited and size > most and count([text[unit.start : unit.end]])[0] > most
            )

        opened = list(arrange(text, own, doc, is_large, sizes))
        if bounds is None:
            cut_units = _cut_large(text, opened, room, measure, is_alone)
        else:
            level_pieces = _cut_large(text, opened, bounds[1], _count_code_points, is_alone)
            cut_units = (
                [piece for parts in _cut_large(text, pieces, room, measure, is_alone) for piece in parts]
                for pieces in level_pieces
            )
        moved: list[int] = []
        units: list[Unit] = []
        for at, pieces in enumerate(cut_units):
            moved.append(base + len(units))
            if pieces[0].kind in _WITH_FIRST_PIECE:
                pieces[1:] = [piece.add_need(at) for piece in pieces[1:]]
            units += pieces
        if len(units) > len(own):
            siblings = Counter(unit.parent for unit in units)
            units = [replace(u, is_part=True) if siblings[u.parent] > 1 else u for u in units]
        base += len(units)
        yield [unit.move_needs(moved) if unit.link.needs else unit for unit in units]


def _cut_large(
    text: str, units: Sequence[Unit], room: int, measure: Measure, is_alone: bool
) -> Iterator[list[Unit]]:
    """Yield each unit with its cost, or its pieces if it exceeds `room` and may be cut."""
    costs = measure([text[unit.start : unit.end] for unit in units])
    for unit, cost in zip(units, costs, strict=True):
        is_whole = cost <= room or unit.link.series is not None or unit.link.role != "content"
        ranges = [] if is_whole else cut(text, unit, cost, room, is_alone=is_alone)
        if len(ranges) < 2:
            u = unit  # `dataclasses.replace` is much slower
            yield [Unit(u.start, u.end, u.kind, u.divisible, u.doc, u.parent, u.is_part, cost, u.link)]
        else:
            piece_costs = measure([text[start:end] for start, end in ranges])
            yield [
                replace(unit, start=start, end=end, divisible=True, cost=piece_cost)
                for (start, end), piece_cost in zip(ranges, piece_costs, strict=True)
            ]


def _count_code_points(texts: Sequence[str]) -> list[int]:
    return list(map(len, texts))
