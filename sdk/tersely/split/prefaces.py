"""Prefaces: lines above the first line of a record, in the same paragraph, such as its comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.places import Place, is_comment
from tersely.split.records import first_word


def find_prefaces(region: Sequence[Place], starts: Sequence[int]) -> dict[int, int]:
    """Return the record below each line that is above its first line, if each paragraph holds one record.

    Args:
        starts: the first lines of records, ascending.
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
    """Return the lines that name each record that begins with a comment.

    These are the lines down to the first one whose first word most records share.

    Args:
        bodies: the lines of each record without its first line, which is the key.
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
