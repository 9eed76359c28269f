"""Find search results and messages of compilers: lines that begin with a file and a number of a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MATCH = re.compile(r"(?=[^\s:]*[A-Za-z])(?=[^\s:]*[./\\])(?:[A-Za-z]:)?[^\s:]+?[:-]\d+(?::\d+)?[:-]")


def find_matches_end(lines: Sequence[str], start: int) -> int | None:
    """Index after two or more such lines from `start` on; None if there are fewer."""
    end = start
    while end < len(lines) and (_MATCH.match(lines[end]) or (end > start and lines[end] == "--")):
        end += 1
    return end if end - start >= 2 else None
