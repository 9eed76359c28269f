"""Ways to shorten a tool result: tersely, LLMSlim if it is installed, and simple cuts."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tersely import Compressor
from tersely.score.bm25 import BM25

Shorten = Callable[[str, str, int], str]
"""(text, question, most tokens) to a shorter text."""
Count = Callable[[str], int]

OURS = "tersely"
MASKING = "masking"
MASK = "[tool result left out]"
_TRIES = 12


def make_methods(compressor: Compressor) -> dict[str, Shorten]:
    """Return the methods by name. All get the same budget, by the compressor's counter."""
    count = compressor.count_tokens

    def run_tersely(text: str, question: str, budget: int) -> str:
        return compressor.compress(question, [text], budget=budget).text

    methods: dict[str, Shorten] = {
        OURS: run_tersely,
        "head": lambda text, _, budget: _cut(text, budget, count, from_end=False),
        "tail": lambda text, _, budget: _cut(text, budget, count, from_end=True),
        "lines by BM25": lambda text, question, budget: _choose_lines(text, question, budget, count),
        MASKING: lambda text, _, budget: MASK,
    }
    if find_spec("llmslim") is not None:
        methods["LLMSlim"] = lambda text, question, budget: _run_slim(text, question, budget, count)
    return methods


def _cut(text: str, budget: int, count: Count, *, from_end: bool) -> str:
    """Return the longest start or end of a text within the budget."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[len(text) - middle :] if from_end else text[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    return text[len(text) - low :] if from_end else text[:low]


def _choose_lines(text: str, question: str, budget: int, count: Count) -> str:
    """Return the lines that match best, in order, as far as they fit."""
    lines = text.split("\n")
    scores = BM25(lines).scores(question).tolist()
    kept: list[int] = []
    free = budget
    for at in sorted(range(len(lines)), key=lambda at: (-scores[at], at)):
        cost = count(lines[at]) + 1
        if cost <= free:
            free -= cost
            kept.append(at)
        elif free < 2:
            break
    return "\n".join(lines[at] for at in sorted(kept))


def _run_slim(text: str, question: str, budget: int, count: Count) -> str:
    """Return LLMSlim's text at the largest target ratio that keeps the budget, of a few."""
    slim: Any = import_module("llmslim")
    before = max(1, count(text))
    ratio = budget / before
    for _ in range(_TRIES):
        out: str = slim.compress_documents([text], query=question, target_ratio=ratio)[0].compressed_text
        size = count(out)
        if size <= budget:
            return out
        ratio *= min(0.9, budget / size)
        if math.isclose(ratio, 0.0, abs_tol=1e-4):
            break
    return ""
