"""Find diffs: the changes of files, in hunks that say how many lines they have."""

from __future__ import annotations

import re

from tersely.split.lines import Lines

FILE = re.compile(r"diff --git |Index: |--- \S")
"""The first line of the changes of a file."""
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEADER = re.compile(
    r"diff |index |--- |\+\+\+ |new file|deleted file|similarity |dissimilarity |rename |copy |old mode"
    r"|new mode|Binary files |Index: |={20,}"
)


def find_diff_end(lines: Lines, index: int) -> int | None:
    """Index after the diff that starts at `index`, or None if none starts there."""
    if not FILE.match(lines.texts[index]):
        return None
    end, hunks = index, 0
    while end < len(lines):
        line = lines.texts[end]
        if hunk := HUNK.match(line):
            end = _skip_hunk(lines, end + 1, int(hunk[1] or 1), int(hunk[2] or 1))
            hunks += 1
        elif _HEADER.match(line):
            end += 1
        else:
            break
    return end if hunks else None


def _skip_hunk(lines: Lines, index: int, old: int, new: int) -> int:
    """Index after a hunk with so many lines of the old and of the new file."""
    while index < len(lines) and (old > 0 or new > 0):
        sign = lines.texts[index][:1]
        if sign not in ("", " ", "+", "-", "\\"):
            break
        old -= sign in ("", " ", "-")
        new -= sign in ("", " ", "+")
        index += 1
    while index < len(lines) and lines.texts[index].startswith("\\"):
        index += 1
    return index
