"""A compressor whose model fails, and a check that no sentence was cut."""

from __future__ import annotations

from tersely import Compressor
from tests.sdk.fakes import BrokenScorer


def make_failing_compressor() -> Compressor:
    return Compressor(BrokenScorer(RuntimeError("no memory")))


def whole_sentences(shown: str, *pages: str) -> bool:
    """Whether every sentence that is shown stands whole in one of the pages; lines in brackets are notes."""
    sentences = {sentence.strip(". ") for page in pages for sentence in page.split(". ")}
    lines = [line for line in shown.splitlines() if line and not line.startswith("[")]
    parts = [part.strip(". ") for line in lines for part in line.split(". ")]
    return bool(parts) and all(part in sentences for part in parts)
