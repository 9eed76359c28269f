"""A span reader as ONNX: fast enough to answer tens of thousands of prompts on a CPU.

`python -m training.reader` trains it. A long context is read in overlapping windows. The
span wins that leads "no answer" in its window by most.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.shared.cache import digest
from benchmarks.shared.readers.protocol import Prompt
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.layout import batches

GRAPH, TOKENIZER, CONFIG = "model_quantized.onnx", "tokenizer.json", "reader.json"
QUESTIONS = "questions.json"
"""Names of the questions that the reader was trained on."""
BATCH_TOKENS = 512


@dataclass(frozen=True, slots=True)
class SpanLayout:
    """`[CLS] question [SEP] context [SEP]`, cut into windows."""

    cls_id: int
    sep_id: int
    pad_id: int
    max_length: int
    stride: int
    """Number of context tokens that neighbouring windows share."""
    question_length: int = 64
    longest_answer: int = 24
    """Largest number of tokens of an answer."""


@dataclass(frozen=True, slots=True)
class SpanWindow:
    """`offsets[i]` is the context's character range of token `first + i`."""

    input_ids: list[int]
    first: int
    offsets: list[tuple[int, int]]


class ExtractiveReader:
    """The graph in `folder`, as exported by `training.reader`."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        self.layout = SpanLayout(**config["layout"])
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._session = EncoderSession(folder / GRAPH, 1)
        self._workers = Workers(allowed_threads(None))
        questions = folder / QUESTIONS
        self.trained_on: frozenset[str] | None = None
        if questions.exists():
            self.trained_on = frozenset(json.loads(questions.read_text(encoding="utf-8")))
        settings = json.dumps(config["layout"], sort_keys=True)
        parts = ((folder / name).read_bytes().hex() for name in (GRAPH, TOKENIZER))
        self.name = f"extractive-{digest(settings, *parts).hex()[:8]}"

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Return one answer for each prompt, in order, never None."""
        owned = [(i, w) for i, p in enumerate(prompts) for w in cut_windows(self.tokenizer, self.layout, p)]

        def run(rows: list[int]) -> list[tuple[float, tuple[int, int] | None]]:
            chosen = [owned[i][1] for i in rows]
            start, end = self._session.run(collate(chosen, self.layout.pad_id), ["start", "end"])
            return [find_best_span(w, start[i], end[i], self.layout) for i, w in enumerate(chosen)]

        jobs = list(batches([len(w.input_ids) for _, w in owned], BATCH_TOKENS))[::-1]
        best: list[tuple[float, str]] = [(0.0, "")] * len(prompts)
        for rows, spans in zip(jobs, self._workers.map(run, jobs), strict=True):
            for row, (score, span) in zip(rows, spans, strict=True):
                number = owned[row][0]
                if span is not None and score > best[number][0]:
                    best[number] = score, prompts[number].context[span[0] : span[1]]
        return [text for _, text in best]


def cut_windows(tokenizer: Tokenizer, layout: SpanLayout, prompt: Prompt) -> Iterator[SpanWindow]:
    """Yield the windows of a prompt; nothing for an empty context."""
    question = tokenizer.encode(prompt.question, add_special_tokens=False).ids[: layout.question_length]
    context = tokenizer.encode(prompt.context, add_special_tokens=False)
    head = [layout.cls_id, *question, layout.sep_id]
    room = layout.max_length - len(head) - 1
    step = max(1, room - layout.stride)
    for start in range(0, max(1, len(context.ids) - layout.stride), step):
        ids = context.ids[start : start + room]
        if ids:
            yield SpanWindow(
                [*head, *ids, layout.sep_id], len(head), context.offsets[start : start + len(ids)]
            )


def collate(chosen: Sequence[SpanWindow], pad_id: int) -> dict[str, NDArray[np.int64]]:
    """Return padded arrays (B, L): `input_ids` and `attention_mask`."""
    width = max(len(w.input_ids) for w in chosen)
    ids = np.full((len(chosen), width), pad_id, dtype=np.int64)
    mask = np.zeros((len(chosen), width), dtype=np.int64)
    for row, window in enumerate(chosen):
        ids[row, : len(window.input_ids)] = window.input_ids
        mask[row, : len(window.input_ids)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def find_best_span(
    window: SpanWindow, start: NDArray[np.float32], end: NDArray[np.float32], layout: SpanLayout
) -> tuple[float, tuple[int, int] | None]:
    """Return the best span's lead over position 0, "no answer", and its characters. Logits are (L,)."""
    at = slice(window.first, window.first + len(window.offsets))
    sums = start[at, None] + end[None, at]
    allowed = np.triu(np.ones_like(sums)) - np.triu(np.ones_like(sums), layout.longest_answer)
    sums = np.where(allowed > 0, sums, -np.inf)
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    lead = float(sums[first, last] - start[0] - end[0])
    return lead, (window.offsets[first][0], window.offsets[last][1])
