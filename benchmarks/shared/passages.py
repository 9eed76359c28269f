"""Passages as one text, and the ranks that a search gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray


def join_title(title: str | None, text: str) -> str:
    """Return title and text of a passage as one text."""
    return f"{title}. {text}" if title else text


def find_ranks(scores: NDArray[Any], gold: Sequence[set[int]]) -> list[int]:
    """Return the rank of the best gold passage, from 1, for each row of `scores` (questions, passages).

    Among passages of the same score it counts as the last.
    """
    return [min(int((row >= row[i]).sum()) for i in places) for row, places in zip(scores, gold, strict=True)]
