"""A reader that finds the ends of scalars and flow collections of YAML."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tersely.split.lines import Lines

MARKER = re.compile(r"(?:---|\.\.\.)(?:\s|$)")
"""A line between documents."""
DOUBLE, SINGLE = r'"(?:[^"\\]|\\.)*+"', r"'(?:[^']|'')*+'"
_QUOTED = {'"': re.compile(DOUBLE, re.DOTALL), "'": re.compile(SINGLE)}
_FLOW = re.compile(rf"(?<=[\[{{,:\s])(?:{DOUBLE}|{SINGLE}|\#[^\n]*|[&*](?=\w))|[\[\]{{}}]", re.DOTALL)
_HEADER = re.compile(r"[|>](?:[1-9][+-]?|[+-][1-9]?)?\s*(?:\s#.*)?$")
_REST = re.compile(r"[^\S\n]*(?:[^\S\n]#[^\n]*)?$", re.MULTILINE)
_INDICATORS = re.compile(r"[,\[\]{}#&*!|>'\"%@`]|[-?:](?:\s|$)")
_COMMENT = re.compile(r"\s#")
_COLON = re.compile(r":(?:\s|$)")


class InvalidError(Exception):
    """The text is not YAML."""


@dataclass(slots=True)
class ScalarReader:
    """A reader of values. Columns are code points."""

    lines: Lines
    anchors: int = 0
    """Number of anchors (`&name`) read so far."""
    aliases: int = 0
    """Number of references to anchors (`*name`) read so far."""
    keeps_blanks: bool = False
    """True if blank lines at the end of a scalar belong to it."""

    def indent(self, index: int) -> int:
        """Return the column of the first sign of a line; -1 between documents."""
        line = self.lines.texts[index]
        return -1 if MARKER.match(line) else len(line) - len(line.lstrip(" "))

    def skip(self, index: int) -> int:
        """Return the index of the first line from `index` on that is neither blank nor a comment."""
        return self.lines.skip_blank(index, "#")

    def skip_scalar(self, index: int, at: int, parent: int) -> int:
        """Return the index after the last line of a scalar or a flow collection."""
        line, text = self.lines.texts[index], self.lines.text
        start = self.lines.starts[index] + at
        sign = line[at]
        if sign in "|>":
            if not _HEADER.match(line, at):
                raise InvalidError
            return self._skip_literal(index + 1, parent, "+" in line[at:].split("#")[0])
        if sign in "\"'":
            quoted = _QUOTED[sign].match(text, start)
            end = quoted.end() if quoted else None
        elif sign in "[{":
            end = self._find_flow_end(start)
        elif sign == "*":
            self.aliases += 1
            end = start + len(line[at:].split()[0])
        else:
            return self._skip_plain(index, at, parent)
        if end is None or not _REST.match(text, end):
            self.lines.json_budget -= (end or len(text)) - start
            raise InvalidError
        last = self.lines.find(end)
        if any(MARKER.match(self.lines.texts[at]) for at in range(index + 1, last + 1)):
            raise InvalidError
        return last + 1

    def _find_flow_end(self, start: int) -> int | None:
        depth = 0
        text = self.lines.text
        for token in _FLOW.finditer(text, start):
            sign = token[0][0]
            if sign in "[{":
                depth += 1
            elif sign in "]}":
                depth -= 1
                if not depth:
                    return token.end()
            self.anchors += sign == "&"
            self.aliases += sign == "*"
        return None

    def _skip_literal(self, index: int, parent: int, keeps: bool) -> int:
        end = index
        while index < len(self.lines) and (self.lines.is_blank(index) or self.indent(index) > parent):
            index += 1
            if not self.lines.is_blank(index - 1):
                end = index
        self.keeps_blanks |= keeps and index > end
        return end

    def _skip_plain(self, index: int, at: int, parent: int) -> int:
        line = self.lines.texts[index]
        if parent < 0 or _INDICATORS.match(line, at) or line[at].isspace():
            raise InvalidError
        end = index
        while True:
            body = _COMMENT.split(line[at:], maxsplit=1)
            if _COLON.search(body[0]):
                raise InvalidError
            end = index + 1
            index = self.lines.skip_blank(end)
            if index == len(self.lines) or self.indent(index) <= parent:
                return end
            line, at = self.lines.texts[index].lstrip(), 0
            if line.startswith("#"):
                return end
            if len(body) > 1:
                raise InvalidError
