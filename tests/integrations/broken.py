"""Compressors whose model fails, and a check that no sentence was cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tersely import Compression, Compressor
from tests.sdk.fakes import BrokenScorer, FakeScorer

FAILURES = ["raises", "degraded"]


def make_failing_compressor(failure: str) -> Compressor:
    """One whose model raises, or one that says that exact matches stood in for the model."""
    return _Degraded() if failure == "degraded" else Compressor(BrokenScorer(RuntimeError("no memory")))


def whole_sentences(shown: str, *pages: str) -> bool:
    """Whether every sentence that is shown stands whole in one of the pages; lines in brackets are notes."""
    sentences = {sentence.strip(". ") for page in pages for sentence in page.split(". ")}
    lines = [line for line in shown.splitlines() if line and not line.startswith("[")]
    parts = [part.strip(". ") for line in lines for part in line.split(". ")]
    return bool(parts) and all(part in sentences for part in parts)


class _Degraded(Compressor):
    def __init__(self) -> None:
        super().__init__(FakeScorer())

    def compress(self, query: str, docs: Iterable[Any], **options: Any) -> Compression:
        degraded: Any = "degraded"
        return replace(super().compress(query, docs, **options), status=degraded)
