"""Conversations of our own, with the texts that a compaction must keep and those that must be gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from tersely.messages import Json

FILE = Path(__file__).parent / "conversations.txt"
_ROLES = {"U": "user", "A": "assistant"}
_SMALL_TALK = "small talk"


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages, and what a compaction of them must and must not hold."""

    name: str
    messages: list[Json] = field(default_factory=list[Json])
    kept: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    """Texts in lower case; the memory must contain all texts of a tuple."""
    stale: list[str] = field(default_factory=list[str])
    """Texts in lower case that the memory must not contain."""

    def count_kept(self, text: str) -> int:
        """Return the number of tuples in `kept` with all their texts in `text`."""
        return sum(all(part in text.lower() for part in parts) for parts in self.kept)

    def count_stale(self, text: str) -> int:
        """Return the number of outdated texts in `text`."""
        return sum(part in text.lower() for part in self.stale)


def read_conversations(file: Path = FILE) -> list[Conversation]:
    """Return the conversations, each "~" replaced by two exchanges of small talk."""
    parts = dict(_read_parts(file))
    talk: dict[str, list[Json]] = {}
    for heading, lines in parts.items():
        if heading.startswith(_SMALL_TALK):
            talk[heading[-2:]] = [{"role": _ROLES[line[0]], "content": line[2:].strip()} for line in lines]
    return [
        _make_conversation(heading, lines, talk[heading[-2:]])
        for heading, lines in parts.items()
        if not heading.startswith(_SMALL_TALK)
    ]


def _read_parts(file: Path) -> Iterator[tuple[str, list[str]]]:
    for part in file.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        yield heading, [line for line in body.splitlines() if line.strip()]


def _make_conversation(heading: str, lines: Sequence[str], talk: Sequence[Json]) -> Conversation:
    made = Conversation(heading)
    small_talk = cycle(talk)
    for line in lines:
        sign, text = line[0], line[2:].strip()
        if sign == "~":
            made.messages.extend(next(small_talk) for _ in range(4))
        elif sign == "=":
            made.kept.append(tuple(part.strip().lower() for part in text.split("|")))
        elif sign == "x":
            made.stale.append(text.lower())
        else:
            made.messages.append({"role": _ROLES[sign], "content": text})
    return made
