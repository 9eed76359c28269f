"""Logs: which entries are alike, and which traces belong to which entry.

Entries stay single units. They form one series, in which the marks say how many of the missing entries are
like the one above, by what is left of a line without its numbers and quoted texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tersely.units import Unit

_VARIABLE = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\b0x[0-9a-fA-F]+|\b[0-9a-fA-F]*\d[\w.:,/+-]*")
_LONGEST_SHAPE = 200


def find_shape(text: str, start: int, end: int) -> str:
    """What the first line of an entry has in common with others like it."""
    line = text[start : min(end, start + _LONGEST_SHAPE)].split("\n", 1)[0]
    return " ".join(_VARIABLE.sub("#", line).split())


def find_traces(text: str, entries: Sequence[Unit]) -> list[bool]:
    """Whether each entry is a trace that goes on with the entry above it: no blank line is between."""
    traces = [False] * len(entries)
    for number in range(1, len(entries)):
        above, entry = entries[number - 1], entries[number]
        gap = text[above.end : entry.start]
        is_close = gap.count("\n") <= 1
        traces[number] = is_close and _TRACE.match(text, entry.start) is not None
    return traces


_TRACE = re.compile(
    r"Traceback \(most|goroutine \d|stack backtrace:|[\w.$]+(?:Error|Exception)\b|Caused by:|\s*at\s"
)
