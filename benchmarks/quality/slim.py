"""LLMSlim, a peer on PyPI, brought to the same budget and mapped back to the sources.

LLMSlim cuts texts into units of its own and returns text, so its output is located in the documents piece by
piece. Its target ratio is searched until its output comes as near to the budget as possible, in the same
token count as everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any

from benchmarks.shared import cache
from benchmarks.shared.tasks.example import Example, KeptSpan, join_kept
from benchmarks.shared.tasks.rows import locate
from tersely.errors import MissingDependencyError

SLIM = "LLMSlim"
PACKAGE = "llmslim"
_GAP = re.compile(r"\n+|(?:^|\s)\.\.\.(?=\s|$)")
_TRIES = 6
_CLOSE = 0.97
_LEAST = 1e-4

Count = Callable[[str], int]


def require_slim() -> None:
    """Raise MissingDependencyError unless LLMSlim is installed."""
    try:
        version(PACKAGE)
    except PackageNotFoundError as error:
        raise MissingDependencyError('LLMSlim is not installed: pip install "llmslim==0.11.*"') from error


def compress_to(example: Example, budget: int, count: Count) -> list[KeptSpan]:
    """Return the spans that LLMSlim keeps of the example within `budget` tokens."""
    if not budget:
        return []
    total = count_rendered(example, [(i, 0, len(d.text)) for i, d in enumerate(example.documents)], count)
    ratio = min(1.0, max(_LEAST, budget / max(1, total)))
    low, high = 0.0, 1.0
    best: list[KeptSpan] = []
    size_of_best = 0
    for _ in range(_TRIES):
        kept = _compress(example, ratio)
        size = count_rendered(example, kept, count)
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


def count_rendered(example: Example, kept: Sequence[KeptSpan], count: Count) -> int:
    """Count the tokens of the kept spans as a compression renders them, with titles and separators."""
    texts: list[str] = []
    for doc, ranges in join_kept(example, kept).items():
        title, text = example.documents[doc].title, example.documents[doc].text
        parts = [text[ranges[0][0] : ranges[0][1]]]
        for (_, end), (start, stop) in pairwise(ranges):
            gap = text[end:start]
            separator = "\n" if "\n" in gap else " " if gap[:1].isspace() or gap[-1:].isspace() else ""
            parts.append(separator + text[start:stop])
        texts.append(f"{title}\n{''.join(parts)}" if title else "".join(parts))
    return count("\n\n".join(texts)) if texts else 0


def _compress(example: Example, ratio: float) -> list[KeptSpan]:
    texts = [_add_title(document.title, document.text) for document in example.documents]
    outputs = _run_slim(example.question, texts, ratio)
    kept: list[KeptSpan] = []
    for doc, (text, output) in enumerate(zip(texts, outputs, strict=True)):
        title = len(text) - len(example.documents[doc].text)
        for start, end in locate_pieces(text, output):
            if end > title:
                kept.append((doc, max(start, title) - title, end - title))
    return kept


def _run_slim(question: str, texts: list[str], ratio: float) -> list[str]:
    """Return LLMSlim's text for each document, from the cache if it compressed the same before."""
    key = cache.digest(version(PACKAGE), repr(ratio), question, *texts)
    stored = cache.fetch(PACKAGE, [key])
    if key not in stored:
        import llmslim

        slim: Any = llmslim
        results = slim.compress_documents(texts, query=question, target_ratio=ratio)
        stored[key] = json.dumps([result.compressed_text for result in results]).encode()
        cache.keep(PACKAGE, stored)
    return json.loads(stored[key])


def locate_pieces(source: str, output: str) -> list[tuple[int, int]]:
    """Return the ranges of `source` that make up `output`. Line ends and ellipses separate its pieces."""
    pieces = [piece for piece in _GAP.split(output) if piece.strip()]
    ranges: list[tuple[int, int]] = []
    for match in locate(source, pieces):
        if match is None:
            continue
        start = max(match[0], ranges[-1][1]) if ranges else match[0]
        if start < match[1]:
            ranges.append((start, match[1]))
    return ranges


def _add_title(title: str | None, text: str) -> str:
    return f"Title: {title}\n{text}" if title else text
