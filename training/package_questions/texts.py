"""The questions, and the texts that their offsets refer to.

A text is a file of an unpacked package, `FOLDER/<package>-<version>/<file>`. Offsets count code points.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

from tersely.metrics import Range

QUESTIONS = Path(__file__).with_name("questions.jsonl")

_LINE = re.compile(
    "p|div|h[1-6]|ul|ol|li|dl|dt|dd|table|tr|pre|blockquote|section|article|header|footer|main|hr|br|body|caption"
    "|thead|tbody|details|summary|form|title|figure"
)
"""Elements that begin and end a line."""

_SKIPPED = frozenset(("nav", "script", "style", "head", "svg", "noscript", "template"))
"""Elements with nothing to read."""

_PREFIXES = {"li": "- ", "td": " | ", "th": " | "}


@dataclass(frozen=True, slots=True)
class PackageQuestion:
    id: str
    question: str
    answer: str
    kind: str
    package: str
    version: str
    origin: Literal["pypi", "debian", "npm"]
    file: str
    """Path inside the unpacked package."""
    sha256: str
    """Checksum of the file as it is in the package."""
    evidence: tuple[Range, ...]
    """Ranges of the extracted text that answer the question, sorted."""
    split: Literal["train", "held_out"]
    extract: Literal["html", "gzip"] | None = None
    section: str | None = None
    """Heading of the chapter, if the chapters of a long file are split separately."""

    @property
    def folder(self) -> str:
        return f"{self.package}-{self.version}"

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.file}"


class UnusableTextError(Exception):
    """A text is missing, or not the one that the questions were written on."""


def read_questions(path: Path = QUESTIONS) -> Iterator[PackageQuestion]:
    """Yield the questions of a file."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield PackageQuestion(**{**row, "evidence": tuple((a, b) for a, b in row["evidence"])})


def read_text(packages: Path, question: PackageQuestion) -> str:
    """Return the text that a question's evidence refers to.

    Raises UnusableTextError if a package or file is missing, or the file has changed.
    """
    if not (packages / question.folder).is_dir():
        raise UnusableTextError(f"{question.folder}: the package is missing")
    if not (packages / question.path).is_file():
        raise UnusableTextError(f"{question.path}: the file is missing")
    content = (packages / question.path).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != question.sha256:
        raise UnusableTextError(f"{question.path}: expected sha256 {question.sha256}, found {found}")
    if question.extract == "html":
        return extract_html(content.decode("utf-8", "replace"))
    return (gzip.decompress(content) if question.extract == "gzip" else content).decode("utf-8")


def extract_html(html: str) -> str:
    """Return the readable text of a page: one line for each block, and cells after a bar.

    The evidence's offsets depend on every character of it.
    """
    page = _Page()
    page.feed(html)
    page.close()
    lines = "".join(page.parts).split("\n")
    text = "\n".join(line.rstrip(" \t\xa0") for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


class _Page(HTMLParser):
    """Parts of the text of a page, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._skipped = 0
        """Depth of open elements that are skipped."""
        self._preformatted = 0

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipped += 1
        if self._skipped:
            return
        self._preformatted += tag == "pre"
        self._break_line(tag)
        self.parts.append(_PREFIXES.get(tag, ""))

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if not self._skipped:
            self._break_line(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        elif not self._skipped:
            if tag == "pre":
                self._preformatted = max(0, self._preformatted - 1)
            self._break_line(tag)

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        data = data.replace("\r\n", "\n").replace("\r", "\n")
        self.parts.append(data if self._preformatted else re.sub(r"[ \t\n\f\xa0]+", " ", data))

    def _break_line(self, tag: str) -> None:
        if _LINE.fullmatch(tag):
            self.parts.append("\n")
