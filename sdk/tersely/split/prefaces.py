"""Prefaces: lines above the first line of a record, in the same paragraph, such as its comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.places import Place, is_comment
from tersely.split.records import first_word


def find_prefaces(region: Sequence[Place], starts: Sequence[int]) -> dict[int, int]:
    """Map each line above the first line of its record to that first line.

    Return nothing unless each paragraph contains exactly one record.

    Args:
        starts: indices of the first lines of records, ascending.
    """
    blanks = (
        n for n, (above, below) in enumerate(pairwise(region), 1) if above.block.last < below.block.first
    )
    edges = [0, *blanks, len(region)]
    paragraphs = [range(*edge) for edge in pairwise(edges) if edge[1] > starts[0] and edge[0] <= starts[-1]]
    if len(paragraphs) != len(starts) or not all(map(range.__contains__, paragraphs, starts)):
        return {}
    return {
        at: start for own, start in zip(paragraphs, starts, strict=True) for at in range(own.start, start)
    }


def find_keys(region: Sequence[Place], bodies: dict[int, list[int]]) -> dict[int, list[int]]:
    """Map the first line of each record to the lines that name it, if that first line is a comment.

    These are the lines after the comment, down to the first one with a first word that at least nine tenths
    of the records share. Records that do not begin with a comment have none.

    Args:
        bodies: for the first line of each record, the other lines of the record.
    """
    words = {start: [first_word(region[at]) for at in body] for start, body in bodies.items()}
    counts = Counter(word for own in words.values() for word in set(own))
    keys: dict[int, list[int]] = {}
    for start, body in bodies.items():
        shared = (
            n
            for n, word in enumerate(words[start])
            if word[:1].isalnum() and counts[word] * 10 >= len(bodies) * 9
        )
        own = [at for at in body[: next(shared, -1) + 1] if not is_comment(region[at].block)]
        keys[start] = own if is_comment(region[start].block) else []
    return keys
