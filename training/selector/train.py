"""Phase I: train the keep and relevance heads together, with checkpoints, resume and validation.

The precision and the device are found, not asked for: CUDA in bf16 where there is one, CPU bf16 where the
processor has instructions for it, float32 otherwise. `accelerate launch` spreads a run over several GPUs.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast, reduce, set_seed
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm

from tersely.selector.layout import Layout, LayoutConfig, Window, batches
from training.optimisation import adamw, keep_freed_memory, precision, triangle
from training.selector.batching import Batch, Encoder, Item, epoch_order, group_batches, make_batch
from training.selector.config import SelectorConfig
from training.selector.data import Group, read_groups
from training.selector.losses import balanced_bce, listwise
from training.selector.model import SelectorModel, build
from training.selector.validate import GroupScores, summarise

PART_TOKENS = {"cpu": 2048, "cuda": 32768}


def train(
    config: SelectorConfig,
    prepared: Path,
    out: Path,
    *,
    start_from: Path | None = None,
    max_minutes: float | None = None,
) -> dict[str, Any]:
    """Train, keep the best epoch in `out/final`, return its validation metrics.

    Continues from `out/checkpoint` where there is one. `start_from` is the `final` folder of an earlier run
    whose weights are the first ones, heads included: to train longer, or on other data.
    `max_minutes` ends the run early on the learning-rate schedule of the time that is left, so that a
    short run is still an annealed one.
    """
    keep_freed_memory()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    accelerator = Accelerator(mixed_precision=precision(device), cpu=device == "cpu")
    set_seed(config.seed)
    model, hf_tokenizer, layout_config = build(config)
    if start_from is not None:
        model.load_state_dict(torch.load(start_from / "selector.pt", map_location="cpu"))
    layout = Layout(Tokenizer.from_str(hf_tokenizer.backend_tokenizer.to_str()), layout_config)
    groups = read_groups(prepared / "train.jsonl")
    heldout = read_groups(prepared / "heldout.jsonl")
    random.Random(config.seed).shuffle(heldout)
    encoder = Encoder(layout, groups)
    orders = [epoch_order(groups, config.data, config.seed, e) for e in range(config.train.epochs)]
    optimizer = adamw(model, config.train.learning_rate, config.train.weight_decay)
    model.to(accelerator.device)
    accelerator.register_for_checkpointing(model, optimizer)
    loop = Loop(accelerator, model, optimizer, config, layout_config, out, max_minutes)
    loop.runs = runs_of(start_from) if start_from else []
    loop.resume()
    judge = Encoder(layout, heldout)
    best_file = out / "best.json"
    for epoch, order in enumerate(orders):
        loop.epoch(epoch, encoder, order, sum(map(len, orders)))
        if accelerator.is_main_process:
            metrics = validate(model, judge, PART_TOKENS[device])
            if not best_file.exists() or verdict(metrics) > verdict(json.loads(best_file.read_text())):
                save(model, hf_tokenizer, layout_config, out / "final")
                best_file.write_text(json.dumps(metrics, indent=2))
        accelerator.wait_for_everyone()
        if loop.finished:
            break
    if accelerator.is_main_process:
        (out / "final" / "runs.json").write_text(json.dumps([*loop.runs, loop.facts()], indent=2))
        shutil.copy(best_file, out / "final" / "validation.json")
    return json.loads(best_file.read_text())


def runs_of(final: Path) -> list[dict[str, Any]]:
    """The runs that made the weights in a `final` folder, oldest first."""
    return json.loads((final / "runs.json").read_text())


def verdict(metrics: dict[str, Any]) -> float:
    """What the best epoch is chosen by: labelled sentences kept at a tenth of the text, every set alike."""
    return sum(row["support@0.1"] for row in metrics.values()) / len(metrics)


class Loop:
    """The state of a run: where it is, how fast it goes, when it ends."""

    def __init__(
        self,
        accelerator: Accelerator,
        model: Any,
        optimizer: Any,
        config: SelectorConfig,
        layout: LayoutConfig,
        out: Path,
        max_minutes: float | None,
    ) -> None:
        self.accelerator, self.model, self.optimizer = accelerator, model, optimizer
        self.config, self.layout, self.out = config, layout, out
        self.limit = max_minutes * 60 if max_minutes else None
        self.started = time.monotonic()
        self.step = self.done_groups = 0
        self.seconds_before = 0.0
        self.finished = False
        self.log: list[dict[str, float]] = []
        self.runs: list[dict[str, Any]] = []
        """The history of the weights that this one started from."""

    def resume(self) -> None:
        folder = self.out / "checkpoint"
        if (folder / "progress.json").exists():
            self.accelerator.load_state(str(folder))
            state = json.loads((folder / "progress.json").read_text())
            self.step, self.done_groups = state["step"], state["groups"]
            self.seconds_before = state["seconds"]
            self.runs = state["runs"]

    def facts(self) -> dict[str, Any]:
        """What this run adds to the history of the weights."""
        return {
            "seed": self.config.seed,
            "questions": self.done_groups,
            "minutes": round(self.seconds() / 60),
            "learning_rate": self.config.train.learning_rate,
        }

    def seconds(self) -> float:
        """Time spent so far, in this process and before its checkpoint."""
        return self.seconds_before + time.monotonic() - self.started

    def share(self, total_groups: int) -> float:
        """How far the run is, in [0, 1]; the same number in every process."""
        share = self.done_groups / total_groups
        if self.limit:
            share = max(share, self.seconds() / self.limit)
        agreed = torch.tensor([min(share, 1.0)], dtype=torch.float64, device=self.accelerator.device)
        return float(broadcast(agreed))

    def epoch(self, number: int, encoder: Encoder, order: list[int], total_groups: int) -> None:
        before = number * len(order)
        skip = max(self.done_groups - before, 0)
        if skip >= len(order):
            return
        c = self.config.train
        bar = tqdm(
            total=len(order),
            initial=skip,
            desc=f"epoch {number + 1}",
            unit="q",
            mininterval=10,
            disable=not self.accelerator.is_main_process,
        )
        pad, part = self.layout.pad_id, PART_TOKENS[self.accelerator.device.type]
        everyone = group_batches(
            encoder, order[skip:], self.config.data, self.config.seed, number, c.batch_tokens
        )
        for chunk in _chunks(everyone, self.accelerator.num_processes):
            share = self.share(total_groups)
            for entry in self.optimizer.param_groups:
                entry["lr"] = c.learning_rate * triangle(share, c.warmup)
            loss = self.update(make_batch(chunk[self.accelerator.process_index], pad, part))
            seen = sum(map(len, chunk))
            self.done_groups += seen
            self.step += 1
            bar.update(seen)
            bar.set_postfix(loss=f"{loss['loss']:.3f}", step=self.step)
            self.log.append({"step": self.step, "share": share, **loss})
            if self.step % c.checkpoint_steps == 0:
                self.checkpoint()
            if share >= 1.0:
                self.finished = True
                break
        bar.close()

    def update(self, batch: Batch) -> dict[str, float]:
        c = self.config.train
        with self.accelerator.autocast():
            keep, relevance = forward(self.model, batch, self.accelerator.device)
        device = keep.device
        keep_labels, keep_group = batch.keep_labels.to(device), batch.keep_group.to(device)
        doc_labels, doc_group = batch.doc_labels.to(device), batch.doc_group.to(device)
        parts = {
            "keep": balanced_bce(keep, keep_labels),
            "rank": listwise(keep, keep_labels, keep_group, batch.groups),
            "relevance": balanced_bce(relevance, doc_labels)
            + listwise(relevance, doc_labels, doc_group, batch.groups),
        }
        loss = (
            c.keep_weight * parts["keep"]
            + c.rank_weight * parts["rank"]
            + c.relevance_weight * parts["relevance"]
        )
        if not math.isfinite(float(loss.detach())):
            raise FloatingPointError(f"loss is {float(loss)} at step {self.step}; lower learning_rate")
        loss.backward()
        if self.accelerator.num_processes > 1:
            for parameter in self.model.parameters():
                parameter.grad = reduce(parameter.grad, "mean")
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), c.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)
        return {"loss": float(loss.detach()), **{k: float(v.detach()) for k, v in parts.items()}}

    def checkpoint(self) -> None:
        folder = self.out / "checkpoint"
        self.accelerator.save_state(str(folder))
        if self.accelerator.is_main_process:
            state = {
                "step": self.step,
                "groups": self.done_groups,
                "seconds": self.seconds(),
                "runs": self.runs,
            }
            (folder / "progress.json").write_text(json.dumps(state))
            with open(self.out / "log.jsonl", "a", encoding="utf-8") as stream:
                stream.writelines(json.dumps(entry) + "\n" for entry in self.log)
            self.log.clear()


def _chunks(batches: Iterable[list[Item]], size: int) -> Iterator[list[list[Item]]]:
    """One batch per process; what does not fill every process is left out."""
    chunk: list[list[Item]] = []
    for batch in batches:
        chunk.append(batch)
        if len(chunk) == size:
            yield chunk
            chunk = []


def forward(model: Any, batch: Batch, device: torch.device) -> tuple[Tensor, Tensor]:
    """Keep and relevance logits of a batch, flat, in the order of its labels."""
    keep: list[Tensor] = []
    relevance: list[Tensor] = []
    for part, sentences, documents in zip(batch.parts, batch.sentence_masks, batch.doc_masks, strict=True):
        k, r = model(**{name: value.to(device) for name, value in part.items()})
        keep.append(k[sentences.to(device)].float())
        relevance.append(r[documents.to(device)].float())
    return torch.cat(keep), torch.cat(relevance)


@torch.no_grad()
def validate(model: SelectorModel, encoder: Encoder, part_tokens: int) -> dict[str, Any]:
    """The benchmark's metrics over held-out groups, ranked by the keep logit alone."""
    model.eval()
    device = next(model.parameters()).device
    scored: list[GroupScores] = []
    for group in encoder.groups:
        scored.append(score_group(model, encoder, group, part_tokens, device))
    model.train()
    return summarise(scored)


def score_group(
    model: SelectorModel, encoder: Encoder, group: Group, part_tokens: int, device: torch.device
) -> GroupScores:
    item: Item = encoder.plain(group)
    batch = make_batch([item], encoder.layout.config.pad_id, part_tokens)
    keep, _ = forward(model, batch, device)
    order = [w.sentences for w in _in_batch_order(item, part_tokens)]
    scores = [[-math.inf] * len(d.units) for d in group.documents]
    for (document, sentence), logit in zip((s for row in order for s in row), keep.tolist(), strict=True):
        scores[document][sentence] = max(scores[document][sentence], logit)
    return GroupScores(group, scores)


def _in_batch_order(item: Item, part_tokens: int) -> list[Window]:
    lengths = [len(w.input_ids) for w in item.windows]
    return [item.windows[i] for part in batches(lengths, part_tokens) for i in part]


def save(model: SelectorModel, tokenizer: Any, layout: LayoutConfig, folder: Path) -> None:
    """What export needs: weights, the encoder's own config, the tokenizer and the layout."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), folder / "selector.pt")
    model.encoder.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "layout.json").write_text(json.dumps(layout.to_dict(), indent=2))
