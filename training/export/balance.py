"""Draw a sample in which no set of questions outweighs the others."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from statistics import median_low


def draw_balanced(sources: Sequence[str], seed: int = 13) -> list[int]:
    """Return the indices of a sample, ascending. `sources` names the set of each item.

    Of each set, the sample has at most as many items as the set of median size; they are drawn at random. A
    promise that is calibrated on the sample is about questions of all sets, not mostly of the largest ones.
    """
    members: defaultdict[str, list[int]] = defaultdict(list)
    for index, source in enumerate(sources):
        members[source].append(index)
    if not members:
        return []
    most = median_low(map(len, members.values()))
    draw = random.Random(seed)
    return sorted(
        index for own in members.values() for index in (draw.sample(own, most) if len(own) > most else own)
    )
