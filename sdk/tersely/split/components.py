"""Components of Vue: a template, a script and styles in one file, each between two tags at the margin."""

from __future__ import annotations

import re
from typing import NamedTuple

from tersely.split.lines import Range
from tersely.units import Series

COMPONENT = re.compile(r"^<template\b[^<>]*>[ \t\r]*$", re.MULTILINE)
_TAG = re.compile(
    r"^<(?P<slash>/?)(?P<name>script|template|style)\b(?P<attributes>[^<>]*)>[ \t\r]*$", re.MULTILINE
)
"""A tag of a section, alone at the margin."""
_LARGEST = 500_000
"""Code points of the largest component that is looked for."""


class Section(NamedTuple):
    """A section of a component."""

    name: str
    whole: Range
    """Its range in the text, with its tags."""
    body: Range

    def make_series(self) -> Series:
        """Return the series of the parts of its body, if that is no program."""
        return Series("<!-- ", " -->") if self.name == "template" else Series("/* ", " */")


def find_sections(text: str, start: int, end: int) -> list[Section]:
    """Return the sections of a component; none if the text is something else."""
    if end - start > _LARGEST or not COMPONENT.search(text, start, end):
        return []
    found: list[Section] = []
    opening: re.Match[str] | None = None
    for tag in _TAG.finditer(text, start, end):
        if opening is None:
            opening = None if tag["slash"] else tag
        elif tag["slash"] and tag["name"] == opening["name"] and not tag["attributes"]:
            body = (opening.end() + 1, tag.start())
            found.append(Section(tag["name"], (opening.start(), tag.end()), body))
            opening = None
    edges = [start, *(edge for section in found for edge in section.whole), end]
    between = "".join(text[left:right] for left, right in zip(edges[::2], edges[1::2], strict=True))
    outside = re.sub(r"<!--.*?-->", "", between, flags=re.DOTALL).strip()
    return found if len(found) > 1 and not outside else []


def is_component(text: str) -> bool:
    """Return whether a whole text is a component."""
    return bool(find_sections(text, 0, len(text)))
