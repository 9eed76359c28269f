"""What a passage is, and at which place a right one was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray


class Titled(Protocol):
    @property
    def title(self) -> str | None: ...
    @property
    def text(self) -> str: ...


def passage_text(document: Titled) -> str:
    """Title and text of a document as one text."""
    return f"{document.title}. {document.text}" if document.title else document.text


def ranks(scores: NDArray[Any], right: Sequence[set[int]]) -> list[int]:
    """For each row of scores, the place of the best right passage; of equals it counts as the last."""
    return [min(int((row >= row[i]).sum()) for i in gold) for row, gold in zip(scores, right, strict=True)]
