"""Evaluation data sets: examples and how a compressed context of them is scored. No torch.

    from benchmarks.shared.tasks import load, score_kept

    for example in load("hotpotqa", "eval", data="path/to/data"):
        kept = [(doc, start, end), ...]             # code-point ranges a compressor kept
        score = score_kept(example, kept)           # score.answer_kept, score.support_kept

The caller always names the split. Training imports this package with "train" only, so it validates by the
metric that is reported; a test asserts that it never names the other split.
"""

from __future__ import annotations

from benchmarks.shared.tasks.example import Example, KeptSpan, Score, SourceDocument, join_kept, score_kept
from benchmarks.shared.tasks.registry import TASKS, Split, Task, load, load_findable

__all__ = [
    "TASKS",
    "Example",
    "KeptSpan",
    "Score",
    "SourceDocument",
    "Split",
    "Task",
    "join_kept",
    "load",
    "load_findable",
    "score_kept",
]
