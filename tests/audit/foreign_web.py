"""Judge of web pages, whose results may lack the tags."""

from __future__ import annotations

import html
from collections.abc import Sequence
from html.parser import HTMLParser

from tests.audit.foreign_judges import judge_rows
from tests.audit.foreign_parts import Verdict, split_sentences
from tests.audit.foreign_readers import Line, Reader, is_prose

HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = {"p", "div", "li", "dt", "dd", "tr", "pre", "section", "ul", "ol", "dl", "table", "title", "br"}
LEVELS = {**HEADINGS, "dt": 8, "names": 10, "span": 11}
"""Heads: headings, terms, rows of column names, and rows with a cell that spans the next rows."""
VOID = {"br", "hr", "img", "meta", "link", "input", "col", "wbr"}
OPTIONAL = {"li", "p", "td", "tr", "th", "dt", "dd"}


class Page(HTMLParser):
    """A parser that collects the rows of a page with the tag of each, and checks that tags are closed."""

    def __init__(self, text: str, lines: bool = False) -> None:
        """Split texts at line breaks too if `lines` is true."""
        super().__init__(convert_charrefs=True)
        self.rows: list[tuple[str, str]] = []
        self.pieces: list[tuple[str, str]] = []
        """The lines of the rows, with the same tags."""
        self.open: list[str] = []
        self.balanced = True
        self.current: list[str] = []
        self.tag = ""
        self.lines = lines
        self.feed(text)
        self.close()
        self.end_row()
        self.balanced &= not self.open

    def end_row(self, tag: str = "") -> None:
        text = "".join(self.current)
        if self.tag in ("p", "div") and "dd" in self.open:
            self.tag = "dd"
        split = "pre" in (self.tag, *self.open) or self.tag in HEADINGS or (self.lines and not self.tag)
        self.pieces += [(self.tag, " ".join(piece.split())) for piece in text.split("\n")]
        pieces = text.split("\n") if split else [text]
        rows = [" ".join(piece.split()) for piece in pieces if piece.strip()]
        # The first row of a heading names it.
        tags = [self.tag, *([""] * len(rows) if self.tag in HEADINGS else [self.tag] * len(rows))]
        self.rows += list(zip(tags, rows, strict=False))
        self.current, self.tag = [], tag

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCKS or tag in HEADINGS:
            self.end_row(tag)
        elif tag in ("td", "th"):
            self.current.append(" ")
            if tag == "th":
                self.tag = "names"
            elif any(name == "rowspan" for name, _ in attrs):
                self.tag = "span"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS or tag in HEADINGS:
            self.end_row()
        if tag in self.open:
            while self.open[-1] != tag:
                self.balanced &= self.open.pop() in OPTIONAL
            self.open.pop()
        elif tag not in VOID:
            self.balanced = False

    def handle_data(self, data: str) -> None:
        if not {"script", "style", "title"} & set(self.open):
            self.current.append(data)


def reader(tags: dict[str, str]) -> Reader:
    """Return a reader of rows that knows the tag of each text."""

    def read(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
        heads: list[tuple[int, str]] = []
        lines: list[Line] = []
        for number, row in enumerate(rows):
            text = " ".join(row.split())
            if not text:
                continue
            tag = tags.get(text, "")
            level = LEVELS.get(tag)
            # A description belongs to its term, a cell to its table, any other row to the heading.
            end = level if level is not None else {"dd": 10, "tr": 99, "": 10}.get(tag, 8)
            outside = 8 if tag in ("tr", "names", "span") else 0
            heads = [head for head in heads if head[0] < end and head[0] != outside]
            prose = tag in ("p", "div", "dd", "") and is_prose(text)
            lines.append(
                Line(number, tuple(n for _, n in heads), text, tag in LEVELS and tag != "span", prose)
            )
            if level is not None:
                heads.append((level, text))
        return lines

    return read


def judge_web(source: str, result: str, verdict: Verdict) -> None:
    page = Page(source)
    rows = [text for _, text in page.rows]
    tags: dict[str, str] = {}
    for tag, text in page.rows:
        # A text in a heading and in a list, such as a table of contents, can't be told apart: it is no head.
        is_clear = tags.get(text, tag) == tag or not {tag, tags[text]} & set(LEVELS)
        tags[text] = tag if is_clear else "li"
        for sentence in split_sentences(text):
            tags.setdefault(sentence, "" if tag in LEVELS else tag)
    for tag, piece in page.pieces:
        tags.setdefault(piece, "" if tag in LEVELS else tag)
    kept = html.unescape(result)
    if "</" in result or result.lstrip().startswith("<"):
        again = Page(result, lines=True)
        if page.balanced and not again.balanced:
            verdict.add("parses", "a tag is not closed, or was not opened")
        kept = "\n".join(text for _, text in again.rows)
    judge_rows(rows, kept, reader(tags), verdict, loose=True)
