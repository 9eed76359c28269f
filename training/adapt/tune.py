"""Train the networks of a model on questions of one's own, from the weights in its int8 graph.

A few hundred questions teach a network their subject, but also make it forget. So the result is the mean of
the weights before and after the training (model soups, Wortsman et al. 2022, arXiv 2203.05482).
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.shared.precision import bf16_is_fast
from tersely.runtime.artifacts import Artifact, load_artifact, write_manifest
from tersely.runtime.workers import allowed_threads
from tersely.score.layout import Layout
from training.export.artifact import quantise_and_check
from training.export.onnx import export_float
from training.export.restore import restore
from training.optimisation import adamw, keep_freed_memory, set_learning_rate, triangle
from training.run import show_progress
from training.selector.average import compute_mean
from training.selector.losses import compute_parts, weigh
from training.selector_model.batching import PART_TOKENS, Item, WindowBuilder, make_batch
from training.selector_model.config import DataConfig, SelectorConfig, TrainConfig
from training.selector_model.groups import Group
from training.selector_model.model import SelectorModel, compute_logits
from training.selector_model.trained import load_layout, load_trained

SETTINGS = TrainConfig(epochs=4, learning_rate=3e-5, batch_tokens=0, batch_questions=4, warmup=0.1, int8=True)
"""Settings of the training. They come from one trial on German questions (`training/LOG.md`)."""
TOKENS = 1500
"""Largest number of tokens that are read of a question's documents in an epoch."""


class Tuner:
    """The weights of an artifact, ready to be trained as often as needed.

    Raises ValueError if the artifact's weights cannot be restored, and OSError if its base model is missing.
    """

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        with TemporaryDirectory() as folder:
            restore(_describe(artifact), artifact.path, Path(folder))
            self._model, _ = load_trained(Path(folder))
            self._layout = load_layout(Path(folder))
        self._start = {name: value.clone() for name, value in self._model.state_dict().items()}

    def write_tuned(self, groups: Sequence[Group], seed: int, folder: Path) -> Artifact:
        """Train on the questions, and return a copy of the artifact in a new folder, with the new int8
        graph."""
        self._model.load_state_dict(self._start)
        train(self._model, self._layout, groups, seed)
        self._model.load_state_dict(compute_mean([self._start, self._model.state_dict()]))
        shutil.copytree(self._artifact.path, folder)
        with TemporaryDirectory() as graphs:
            whole = Path(graphs) / "model.onnx"
            export_float(self._model, whole, self._layout.config.max_length)
            parity, narrowing = quantise_and_check(self._model, self._layout, list(groups), Path(graphs))
            shutil.copy(Path(graphs) / "model_quantized.onnx", folder / "onnx")
        write_manifest(folder, **self._artifact.facts | {"parity": parity, "int8_narrowing": narrowing})
        return load_artifact(folder)


def train(model: SelectorModel, layout: Layout, groups: Sequence[Group], seed: int) -> None:
    """Train all weights in place, with the losses of Phase I and the rounding of the int8 graph."""
    keep_freed_memory()
    torch.set_num_threads(allowed_threads(None))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    c, rng = SETTINGS, random.Random(seed)
    model.to(device).train()
    model.int8 = c.int8
    builder = WindowBuilder(layout, groups)
    optimizer = adamw(model, c.learning_rate, c.weight_decay)
    order = [group for _ in range(c.epochs) for group in rng.sample(groups, len(groups))]
    size = c.batch_questions or 1
    for at in show_progress("train", range(0, len(order), size), unit="step"):
        items = [choose_windows(builder.build(group), rng) for group in order[at : at + size]]
        batch = make_batch(items, layout.config.pad_id, PART_TOKENS[device.type])
        set_learning_rate(optimizer, c.learning_rate * triangle((at + size) / (len(order) + size), c.warmup))
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16_is_fast(device.type)):
            keep, relevance = compute_logits(model, batch, device)
        weigh(compute_parts(keep, relevance, batch), c).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), c.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    model.cpu().eval()


def choose_windows(item: Item, rng: random.Random) -> Item:
    """Return a question with windows of at most TOKENS tokens, but at least one: first those with needed
    sentences, then others, drawn at random."""
    windows = rng.sample(item.windows, len(item.windows))
    windows.sort(key=lambda w: not any(item.labels[d][s] == 1 for d, s in w.sentences))
    chosen, tokens = windows[:1], len(windows[0].input_ids)
    for window in windows[1:]:
        if tokens + len(window.input_ids) <= TOKENS:
            chosen.append(window)
            tokens += len(window.input_ids)
    return Item(chosen, item.labels, item.gold)


def _describe(artifact: Artifact) -> SelectorConfig:
    """Return settings with which the weights of an artifact can be restored."""
    layout = artifact.config["layout"]
    return SelectorConfig(
        artifact.name,
        artifact.config["base_model"],
        layout["max_length"],
        DataConfig({}, {}),
        SETTINGS,
        docs_per_window=layout["docs_per_window"],
        query_length=layout["query_length"],
    )
