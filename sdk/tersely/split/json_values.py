"""Find JSON values that fill whole lines, with a label in front at most."""

from __future__ import annotations

import json
import re

from tersely.split.lines import Lines

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
_LABEL = re.compile(r"[^\W\d_][^\[\]{}\n.!?]{0,79}[:=][ \t]*\n?[ \t]*(?=[\[{])")
"""`Observation: ` before a value, or on the line above."""
_SMALL = 80
"""Code points of a value below which a label and the value are prose, as in `Sources: [1]`."""


class JsonValues:
    """Finds JSON objects and arrays. The search has a budget of code points, so that it stays linear."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._budget = 4 * len(lines.text) + 100_000
        """Code points that failed attempts may still read."""

    def find_end(self, index: int) -> int | None:
        """Index after the last line of the value that starts at `index`, or None if none starts there."""
        text, line = self._lines.text, self._lines.texts[index]
        start = self._lines.starts[index] + len(line) - len(line.lstrip())
        label = _LABEL.match(text, start)
        if label is not None:
            start = label.end()
        if text[start] not in "{[" or self._budget <= 0:
            return None
        try:
            _, stop = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            self._budget -= error.pos - start + 10
            return None
        except RecursionError:
            self._budget -= 20_000
            return None
        if label is not None and stop - start < _SMALL:
            return None
        end = index + text.count("\n", self._lines.starts[index], stop)
        rest = text[stop : self._lines.end_of(end)].strip()
        if rest not in ("", ",", ";", "]", "],"):
            self._budget -= stop - start
            return None
        return end + 1
