"""What the tests of the adapters know of the options of a compression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tersely import Compression, CompressionOptions, Compressor
from tersely.options import OPTION_FIELDS
from tests.sdk.fakes import FakeScorer

OPTION_NAMES = [option.name for option in OPTION_FIELDS]
EXAMPLES: dict[str, Any] = {
    "budget": 12,
    "rate": 0.5,
    "recall": 0.9,
    "level": 2,
    "max_docs": 1,
    "order": "rerank",
    "marks": "all",
    "mark": "({count} left out)",
    "timeout": 60.0,
}
"""A value of every option that is not its default."""


def all_arguments(**options: Any) -> dict[str, Any]:
    """These options and the defaults of all others, as keyword arguments."""
    return dict(CompressionOptions(**options).arguments())


class RecordingCompressor(Compressor):
    """Compresses without options, and records those that it receives."""

    def __init__(self) -> None:
        super().__init__(FakeScorer())
        self.received: list[dict[str, Any]] = []

    def compress(self, query: str, docs: Iterable[Any], **options: Any) -> Compression:
        self.received.append(options)
        return super().compress(query, docs)
