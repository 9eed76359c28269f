"""Labels that divide a text without other headings, also a text with several records of one form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tersely.split.lines import Block, starts_run

_LABEL = re.compile(r"[A-ZÄÖÜÉ][^\W\d_]*(?:[ /&'’-]+[^\W\d_]+){0,4}:[ \t]*")
_WORD = re.compile(r"\W*([^\W_]+)")
_FEWEST_LABELS, _FEWEST_IN_RECORD = 3, 2
_MOST_KEYS = 4
"""Most lines above the first label that are tried as the first line of a record."""
_MOST_LINES = 5
"""Most lines of the header of a record."""


def find_dividers(labels: Mapping[int, str], has_forms: bool) -> set[int]:
    """Return the indices of the labels if they divide a text.

    There are at least three, none right below another. All differ, or all in one record of a form do: names
    of speakers recur.
    """
    all_differ = len({*labels.values()}) == len(labels)
    are_apart = labels.keys().isdisjoint(at + 1 for at in labels)
    return {*labels} if len(labels) >= _FEWEST_LABELS and are_apart and (all_differ or has_forms) else set()


def find_forms(blocks: Sequence[Block], labels: Mapping[int, str]) -> dict[int, range]:
    """Map the first block of each record of one form to the other blocks of its header.

    The first lines of the records begin with the same word. At least two labels are in each record, and none
    twice. A header is a run, but only its first line if it is long.
    """
    recurring = [label for label, count in Counter(labels.values()).items() if count > 1]
    if len(recurring) < _FEWEST_IN_RECORD:
        return {}
    begins = [at for at in range(len(blocks)) if starts_run(blocks, at) and at not in labels]
    keys = {at: found[1].casefold() for at in begins if (found := _WORD.match(blocks[at].line))}
    first = min(labels)
    for key in [*dict.fromkeys(keys[at] for at in keys if at < first)][:_MOST_KEYS]:
        starts = [at for at in keys if keys[at] == key]
        if len(starts) > 1 and _are_records(starts, labels, len(blocks)):
            sizes = Counter(block.run for block in blocks)
            ends = {at: at + sizes[blocks[at].run] for at in starts}
            return {at: range(at + 1, n if n - at <= _MOST_LINES else at + 1) for at, n in ends.items()}
    return {}


def list_labels(blocks: Sequence[Block]) -> dict[int, str]:
    """Map the indices of the labels that are alone in their lines and begin runs to their text.

    There are none in a text with signs of headings.
    """
    found: dict[int, str] = {}
    for at, block in enumerate(blocks[:-1]):
        if block.kind == "heading" and (not block.is_one_line or block.line.lstrip()[0] in "#=*|\\"):
            return {}
        is_line = block.kind in ("line", "sentence") and block.is_one_line and not block.prefix
        if is_line and starts_run(blocks, at) and _LABEL.fullmatch(block.line):
            found[at] = block.line.strip()
    return found


def _are_records(starts: Sequence[int], labels: Mapping[int, str], end: int) -> bool:
    """Return whether each part of a text between two of `starts` has some labels, and none twice."""
    parts = pairwise([*starts, end])
    own = [[label for at, label in labels.items() if start < at < stop] for start, stop in parts]
    return all(_FEWEST_IN_RECORD <= len(part) == len({*part}) for part in own)
