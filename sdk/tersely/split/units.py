"""A unit that is ready to be chosen: it knows its cost, and the unit that it was cut from."""

from __future__ import annotations

from dataclasses import dataclass

from tersely.split.arrange import Link
from tersely.split.sentences import Unit


@dataclass(frozen=True, slots=True)
class CostedUnit:
    """A unit of a document, or a piece of one."""

    unit: Unit
    parent: int
    """Number of the unit among those of its document before any was cut. Pieces of one unit share it."""
    is_piece: bool
    cost: int
    """Tokens, counted alone, where `SplitDocuments.costs_in_tokens`; else code points."""
    link: Link | None = None
    """How it hangs together with others of its document, where it is part of a structure."""
    is_marked: bool = False
    """Whether a mark stands for what is left out beside it, in prose too."""

    @property
    def start(self) -> int:
        return self.unit.start

    @property
    def end(self) -> int:
        return self.unit.end

    @property
    def is_content(self) -> bool:
        """Whether it says something by itself."""
        return self.link is None or self.link.is_content

    @property
    def is_markup(self) -> bool:
        """Whether it is never kept, unless everything is."""
        return self.link is not None and self.link.is_markup

    def at_cost(self, cost: int) -> CostedUnit:
        """The same unit with another cost. Much faster than `dataclasses.replace`, and a long document has
        many."""
        return CostedUnit(self.unit, self.parent, self.is_piece, cost, self.link, self.is_marked)

    @classmethod
    def whole(cls, unit: Unit, number: int) -> CostedUnit:
        """The unit as it is. `number` is its place among those of its document."""
        return cls(unit, number, is_piece=False, cost=unit.end - unit.start)
