"""Random words, names and numbers, and the list of formats."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.audit.foreign_readers import Reader

SYLLABLES = ["ba", "do", "fi", "ga", "ho", "ka", "lu", "mi", "no", "pe", "ra", "si", "ta", "vo", "we", "zu"]
NOUNS = ["ledger", "harbour", "engine", "filter", "cache", "queue", "parcel", "invoice", "sensor", "garden"]
VERBS = ["reads", "writes", "checks", "moves", "closes", "opens", "counts", "copies", "sends", "loads"]
ADJECTIVES = ["old", "small", "quiet", "broken", "remote", "second", "empty", "shared", "fast", "local"]
PEOPLE = ["Ada", "Bruno", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jana", "Kofi", "Lena"]
SURNAMES = ["Abel", "Brandt", "Castro", "Dietz", "Eriksen", "Fiala", "Grant", "Horvat", "Ito", "Jensen"]


class Draw(random.Random):
    """Random values that look like those of real texts."""

    def word(self) -> str:
        return "".join(self.choices(SYLLABLES, k=self.randint(2, 3)))

    def words(self, count: int) -> list[str]:
        """Return different words."""
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.word()] = None
        return list(found)

    def noun(self) -> str:
        return self.choice(NOUNS)

    def person(self) -> str:
        return f"{self.choice(PEOPLE)} {self.choice(SURNAMES)}"

    def people(self, count: int) -> list[str]:
        return [f"{first} {self.choice(SURNAMES)}" for first in self.sample(PEOPLE, count)]

    def digits(self, count: int) -> str:
        return "".join(self.choices("0123456789", k=count))

    def hexa(self, count: int) -> str:
        return "".join(self.choices("0123456789abcdef", k=count))

    def ip(self) -> str:
        return ".".join(str(self.randint(1, 254)) for _ in range(4))

    def version(self) -> str:
        return f"{self.randint(0, 9)}.{self.randint(0, 30)}.{self.randint(0, 9)}"

    def day(self) -> str:
        return f"202{self.randint(0, 6)}-{self.randint(1, 12):02}-{self.randint(1, 28):02}"

    def clock(self) -> str:
        return f"{self.randint(0, 23):02}:{self.randint(0, 59):02}:{self.randint(0, 59):02}"

    def price(self) -> str:
        return f"{self.randint(1, 900)}.{self.randint(0, 99):02}"

    def path(self, depth: int = 3) -> str:
        return "/".join(self.words(self.randint(1, depth))) + self.choice(
            [".py", ".txt", ".c", ".log", ".json"]
        )

    def sentence(self) -> str:
        adjective, noun, verb = self.choice(ADJECTIVES), self.noun(), self.choice(VERBS)
        end = self.choice(
            ["", f" every {self.randint(2, 90)} minutes", f" on {self.day()}", f" for {self.person()}"]
        )
        return f"The {adjective} {noun} of {self.word()} {verb} the {self.noun()}{end}."

    def phrase(self) -> str:
        return f"{self.choice(VERBS)} the {self.choice(ADJECTIVES)} {self.noun()} {self.word()}"

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self.randint(2, 5)))


class Missing(Exception):  # noqa: N818 - it isn't an error: the format is skipped
    """A command or a file that a format needs isn't on this machine."""


@dataclass(frozen=True)
class Format:
    """A format: makes a text from random values, and knows how it is read."""

    name: str
    make: Callable[[Draw], str]
    read: Reader | None
    tree: str | None = None
    """The parser of a data format, by name in `LOADERS`."""
    web: bool = False


FORMATS: dict[str, Format] = {}


def form(
    name: str, read: Reader | None, tree: str | None = None, web: bool = False
) -> Callable[[Callable[[Draw], str]], Callable[[Draw], str]]:
    """Register the function that makes texts of a format."""

    def register(make: Callable[[Draw], str]) -> Callable[[Draw], str]:
        FORMATS[name] = Format(name, make, read, tree, web)
        return make

    return register
