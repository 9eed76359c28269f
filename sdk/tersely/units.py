"""Units: the ranges of documents that a compression keeps or drops as a whole.

A block of structure may be opened into several units. Its head and its tail enclose its members, as `{"a": [`
and `]}` enclose the elements of an array. The members are a series. A unit may also have heads
outside its block, such as the headings above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal[
    "sentence",
    "line",
    "code",
    "table",
    "json",
    "list_item",
    "heading",
    "log",
    "row",
    "diff",
    "html",
    "yaml",
    "comment",
    "numbered",
    "settings",
    "xml",
    "roff",
    "stanza",
]

Role = Literal["content", "frame", "markup"]
"""Content says something by itself. A frame is a head or a tail that does not. Markup is dropped as soon as
anything is dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Siblings that may be left out, and the form of the mark that counts them."""

    before: str = ""
    """Text in front of the words of a mark, so that the block still parses: a quote or a comment sign."""
    after: str = ""
    comma: str = ""
    """Text between a mark and the sibling after it."""
    is_numbered: bool = False
    """True if the marks must differ from each other, as the keys of an object must."""
    flows: bool = False
    """True if its members are events in order of time: many are alike, and neighbours explain each other."""

    def make_mark(self, count: int, number: int, *, is_last: bool, alike: int = 0) -> str:
        """Return the mark for `count` siblings, the `number`-th mark of the series.

        `is_last`: whether no sibling comes after the mark. `alike`: how many of `count` are like the one
        above.
        """
        words = f"[… {count:,} more]"
        if alike:
            words += f" ({alike:,} like the one above)"
        if self.is_numbered and number > 1:
            words += f" ({number})"
        return f"{self.before}{words}{self.after}{'' if is_last else self.comma}"


@dataclass(frozen=True, slots=True)
class Link:
    """The units of its document that a unit depends on, and its place in a series."""

    series: Series | None
    """The series that it belongs to. The head and the tail of a block belong to the series that the whole
    block is in, if any, not to the series of its members."""
    items: int
    """Number that it adds to the count in a mark if it is left out: mostly 1, 0 for a tail, more for a group
    of values."""
    needs: tuple[int, ...]
    """Positions, ascending, of the units that must be kept with it so that it does not mislead."""
    role: Role = "content"
    breaks: bool = False
    """True for markup that a line break replaces."""
    shape: str | None = None
    """The pattern of its text in a series that flows. Members that are alike have the same pattern."""


UNLINKED = Link(None, 1, ())
"""The link of a unit that needs no others and is in no series."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of a document, `text[start:end]`, without surrounding white space; offsets are code points."""

    start: int
    end: int
    kind: Kind
    divisible: bool
    """True if the unit may be opened or cut if it is too large. It is false for headings and for whole
    sentences of running text; only a sentence longer than `split.cutting.LONGEST_SENTENCE` is cut
    nevertheless. It is true for all other units, such as pieces and the sentences of an opened web page."""
    doc: int = 0
    """Index of its document."""
    parent: int = 0
    """Index of the whole unit that it comes from, among the units that its document has before blocks are
    opened and units are cut. All parts and pieces of a whole unit share this index."""
    is_part: bool = False
    """True if it is a part of a unit that was opened, or a piece of one that was cut."""
    cost: int = 0
    """Its size, counted alone: in tokens if the request has a limit, otherwise in code points."""
    link: Link = UNLINKED
    """Its dependencies."""

    @property
    def is_member(self) -> bool:
        """True if it is scored as structure, because it belongs to a series or is markup."""
        return self.link.series is not None or self.link.role == "markup"

    def move_needs(self, positions: Sequence[int]) -> Unit:
        """Return the unit with new `needs`, after each unit has moved from `position` to
        `positions[position]`."""
        if not self.link.needs:
            return self
        needs = tuple(positions[need] for need in self.link.needs)
        return replace(self, link=replace(self.link, needs=needs))

    def add_need(self, position: int) -> Unit:
        """Return the unit with another unit that it needs."""
        return replace(self, link=replace(self.link, needs=tuple(sorted({*self.link.needs, position}))))
