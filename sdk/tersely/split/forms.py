"""Labels that divide a text without other headings, even if it holds several records of one form."""

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
"""Largest number of lines above the first label to try as the first line of a record."""
_MOST_LINES = 5
"""Largest number of lines in the header of a record."""


def find_dividers(labels: Mapping[int, str], has_forms: bool) -> set[int]:
    """Return the indices of the labels if they divide a text.

    There must be at least three, none right below another. They must all differ, because names of speakers
    recur. With `has_forms`, labels may recur from record to record.
    """
    all_differ = len({*labels.values()}) == len(labels)
    are_apart = labels.keys().isdisjoint(at + 1 for at in labels)
    return {*labels} if len(labels) >= _FEWEST_LABELS and are_apart and (all_differ or has_forms) else set()


def find_forms(blocks: Sequence[Block], labels: Mapping[int, str]) -> dict[int, range]:
    """Map the first block of each record of one form to the other blocks of its header.

    The first lines of the records begin with the same word. Each record has at least two labels, none of
    them twice. A header is a run, or only the first line of a long run.
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
    """Map the index of each label that is alone in its line and begins a run to its text.

    A text with marked or underlined headings has no such labels.
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
    """Return whether each part between two of `starts` has at least two labels, none of them twice."""
    parts = pairwise([*starts, end])
    own = [[label for at, label in labels.items() if start < at < stop] for start, stop in parts]
    return all(_FEWEST_IN_RECORD <= len(part) == len({*part}) for part in own)
