"""LLMSlim, a peer on PyPI, brought to the same budget and mapped back to the sources.

It cuts texts in units of its own and returns text, so its output is located in the documents piece by piece;
its target is then searched so that what it kept costs as near to the budget as it can, in the same token
count as all the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise

from benchmarks.shared import cache
from benchmarks.shared.tasks.example import Example, KeptSpan, runs
from benchmarks.shared.tasks.rows import locate
from tersely.errors import MissingDependencyError
from tersely.packing import render
from tersely.types import Citation, Document

PACKAGE = "llmslim"
_GAP = re.compile(r"\n+|(?:^|\s)\.\.\.(?=\s|$)")
_TRIES = 6
_CLOSE = 0.97
_LEAST = 1e-4

Count = Callable[[str], int]


def require_slim() -> None:
    """Raises MissingDependencyError where LLMSlim is not installed."""
    try:
        version(PACKAGE)
    except PackageNotFoundError as error:
        raise MissingDependencyError('LLMSlim is not installed: pip install "llmslim==0.11.*"') from error


def slim_keep(example: Example, budget: int, count: Count) -> list[KeptSpan]:
    """What LLMSlim keeps of the example within `budget` tokens as `count` counts them."""
    if not budget:
        return []
    total = measure(example, [(i, 0, len(d.text)) for i, d in enumerate(example.documents)], count)
    ratio = min(1.0, max(_LEAST, budget / max(1, total)))
    low, high = 0.0, 1.0
    best: list[KeptSpan] = []
    size_of_best = 0
    for _ in range(_TRIES):
        kept = _compress(example, ratio)
        size = measure(example, kept, count)
        if size <= budget:
            low = ratio
            if size > size_of_best:
                best, size_of_best = kept, size
            if size >= _CLOSE * budget or ratio == 1.0:
                break
        else:
            high = ratio
        step = ratio * budget / max(1, size)
        ratio = max(_LEAST, step if low < step < high else (low + high) / 2)
    return best


def measure(example: Example, kept: Sequence[KeptSpan], count: Count) -> int:
    """Tokens of the kept ranges rendered as a compression renders them, titles and separators included."""
    parts: list[tuple[int, Document, str, list[Citation]]] = []
    for doc, ranges in runs(example, kept).items():
        source = example.documents[doc]
        # Kept ranges alternate with the gaps between them, as kept and dropped units do.
        ends = [offset for pair in ranges for offset in pair]
        pieces = list(pairwise(ends))
        body, own = render.render_document(source.text, pieces, range(0, len(pieces), 2))
        parts.append((doc, Document(source.text, source.title), body, own))
    text, _ = render.join_documents(parts)
    return count(text) if text else 0


def _compress(example: Example, ratio: float) -> list[KeptSpan]:
    given = [_titled(document.title, document.text) for document in example.documents]
    outputs = _outputs(example.question, given, ratio)
    kept: list[KeptSpan] = []
    for doc, (text, output) in enumerate(zip(given, outputs, strict=True)):
        title = len(text) - len(example.documents[doc].text)
        for start, end in locate_pieces(text, output):
            if end > title:
                kept.append((doc, max(start, title) - title, end - title))
    return kept


def _outputs(question: str, texts: list[str], ratio: float) -> list[str]:
    """LLMSlim's text per document, from the cache where it was asked before."""
    key = cache.digest(version(PACKAGE), repr(ratio), question, *texts)
    stored = cache.fetch(PACKAGE, [key])
    if key not in stored:
        from llmslim import compress_documents

        results = compress_documents(texts, query=question, target_ratio=ratio)
        stored[key] = json.dumps([result.compressed_text for result in results]).encode()
        cache.keep(PACKAGE, stored)
    return json.loads(stored[key])


def locate_pieces(source: str, output: str) -> list[tuple[int, int]]:
    """Ranges of `source` that `output` is made of; lines and ellipses separate its pieces."""
    pieces = [piece for piece in _GAP.split(output) if piece.strip()]
    ranges: list[tuple[int, int]] = []
    for found in locate(source, pieces):
        if found is None:
            continue
        start = max(found[0], ranges[-1][1]) if ranges else found[0]
        if start < found[1]:
            ranges.append((start, found[1]))
    return ranges


def _titled(title: str | None, text: str) -> str:
    return f"Title: {title}\n{text}" if title else text
