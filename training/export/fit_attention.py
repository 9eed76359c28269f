"""Fit the attention between sentences to held-out questions, with exactly the features that the runtime
computes.

Several networks learn from the same questions, each from different initial weights. The runtime takes their
mean, which is steadier than any of them. The fusion is fitted with the same loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from tersely.score.attention import FEATURE_LIMIT, HEADS, SentenceAttention, shape_weights
from tersely.score.layout import batches
from tersely.score.matching import Floats
from training.run import show_progress

NETWORKS = 4
WIDTH = 16
EPOCHS = 8
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 0.05
DROPOUT = 0.1
BATCH = 16
WARMUP = 20
"""Number of steps over which the learning rate rises."""
PART_SENTENCES = 1024
"""Maximum number of sentences, padding included, in one backward pass."""

PADDING = -2
"""Label of a padding sentence."""
VERY_LOW = -1e4
"""A logit too low to matter."""


@dataclass(frozen=True, slots=True)
class Example:
    """The sentences of a held-out question that see each other."""

    features: Floats
    """(sentences, features)"""
    relations: NDArray[np.float32]
    base: Floats
    """(sentences,) logits that the attention adds to."""
    gate: float
    """Factor of the attention's output before it is added."""
    labels: NDArray[np.int64]
    """1, 0, or -1 if unknown."""
    weight: float
    """Weight of the question in the loss."""


class AttentionNetwork(nn.Module):
    """`SentenceAttention` in torch, with dropout."""

    def __init__(self, features: NDArray[np.float64], seed: int) -> None:
        super().__init__()
        shapes = shape_weights(NETWORKS, WIDTH, features.shape[1])
        self.mean = torch.tensor(features.mean(0), dtype=torch.float32)
        self.deviation = torch.tensor(np.maximum(features.std(0), 1e-3), dtype=torch.float32)
        draw = torch.Generator().manual_seed(seed)
        self.layers = nn.ParameterDict(
            {
                name: nn.Parameter(_draw(name, shape, draw))
                for name, shape in shapes.items()
                if name not in ("mean", "deviation")
            }
        )
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, features: Tensor, relations: Tensor, is_real: Tensor) -> Tensor:
        """Return the amounts that each network adds to the logits, (questions, networks, sentences).

        Args:
            features: (questions, sentences, features)
            relations: (questions, sentences, sentences, relations)
            is_real: (questions, sentences), False for padding, which no sentence sees.
        """
        x = ((features - self.mean) / self.deviation).clamp(-FEATURE_LIMIT, FEATURE_LIMIT)
        h = self._project(x[:, None], "input")
        mixed = self._project(self._attend(self._normalise(h, "attend"), relations, is_real), "mix")
        h = h + self.dropout(mixed)
        up = torch.relu(self._project(self._normalise(h, "up"), "up"))
        h = h + self.dropout(self._project(up, "down"))
        return self._project(self._normalise(h, "out"), "out")[..., 0]

    def _project(self, x: Tensor, name: str) -> Tensor:
        return x @ self.layers[name] + self.layers[f"{name}_bias"]

    def _normalise(self, x: Tensor, name: str) -> Tensor:
        scaled = nn.functional.layer_norm(x, x.shape[-1:])
        return scaled * self.layers[f"{name}_scale"] + self.layers[f"{name}_shift"]

    def _attend(self, x: Tensor, relations: Tensor, is_real: Tensor) -> Tensor:
        questions, networks, size, width = x.shape
        projected = self._project(x, "attend").reshape(questions, networks, size, 3, HEADS, width // HEADS)
        query, key, value = projected.permute(3, 0, 1, 4, 2, 5)
        weight = self.layers["relation"].movedim(0, 1).flatten(1)  # one product for all networks
        bias = (relations @ weight).unflatten(-1, (networks, HEADS)) + self.layers["relation_bias"][:, 0]
        logits = query @ key.transpose(-1, -2) / math.sqrt(width // HEADS) + bias.permute(0, 3, 4, 1, 2)
        logits = logits.masked_fill(~is_real[:, None, None, None], -math.inf)
        return (logits.softmax(-1) @ value).transpose(2, 3).reshape(x.shape)

    def numpy(self) -> SentenceAttention:
        weights = {name: layer.detach().numpy().copy() for name, layer in self.layers.items()}
        return SentenceAttention({"mean": self.mean.numpy(), "deviation": self.deviation.numpy(), **weights})


def fit_attention(examples: Sequence[Example], seed: int, name: str | None = None) -> SentenceAttention:
    """Train the networks; deterministic in `seed`. With a name, it shows its progress."""
    network = AttentionNetwork(np.concatenate([example.features for example in examples]), seed)
    torch.manual_seed(seed)
    steps = EPOCHS * math.ceil(len(examples) / BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARMUP) * max(0.02, 1.0 - step / steps)
    )
    network.train()
    for _ in show_progress(name or "", range(EPOCHS), unit="epoch", visible=name is not None):
        order = torch.randperm(len(examples)).tolist()
        for start in range(0, len(order), BATCH):
            optimizer.zero_grad()
            drawn = [examples[i] for i in order[start : start + BATCH]]
            for part in batches([len(example.labels) for example in drawn], PART_SENTENCES):
                batch = _pad([drawn[i] for i in part])
                added = network(batch.features, batch.relations, batch.labels != PADDING)
                losses = compute_losses(batch.base + batch.gate * added, batch.labels)
                ((losses * batch.weight).sum() / BATCH).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return network.eval().numpy()


def compute_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Return (questions,) losses: cross-entropy, plus the listwise loss for a question with positives and
    negatives, summed over the networks.

    `logits` has shape (questions, networks, sentences), `labels` (questions, sentences). Negative labels do
    not count.
    """
    labels = labels[:, None]
    is_known, is_positive, is_negative = labels >= 0, labels > 0, labels == 0
    target = is_positive.to(logits.dtype).expand_as(logits)
    entropy = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    rivals = torch.logsumexp(logits.masked_fill(~is_negative, VERY_LOW), dim=-1, keepdim=True)
    order = nn.functional.softplus(rivals - logits)
    return (_mean_where(is_known, entropy) + _mean_where(is_positive, order)).sum(-1)


def _mean_where(chosen: Tensor, values: Tensor) -> Tensor:
    """Return the mean of the chosen values over the last dimension; 0 if none is chosen."""
    return values.masked_fill(~chosen, 0.0).sum(-1) / chosen.sum(-1).clamp(min=1)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Examples padded to the longest: the same values, with one more dimension for the questions."""

    features: Tensor
    relations: Tensor
    base: Tensor
    """(questions, 1, sentences)"""
    gate: Tensor
    """(questions, 1, 1)"""
    labels: Tensor
    """(questions, sentences)"""
    weight: Tensor
    """(questions,)"""


def _pad(examples: Sequence[Example]) -> _Batch:
    size = max(len(example.labels) for example in examples)
    rows = [size - len(example.labels) for example in examples]
    relations = [torch.from_numpy(example.relations) for example in examples]

    def pad(values: Sequence[NDArray[Any]], value: float = 0.0) -> Tensor:
        return pad_sequence([torch.from_numpy(v) for v in values], batch_first=True, padding_value=value)

    return _Batch(
        pad([e.features for e in examples]).float(),
        torch.stack([nn.functional.pad(r, (0, 0, 0, n, 0, n)) for r, n in zip(relations, rows, strict=True)]),
        pad([e.base for e in examples]).float()[:, None],
        torch.tensor([e.gate for e in examples])[:, None, None],
        pad([e.labels for e in examples], PADDING),
        torch.tensor([e.weight for e in examples]),
    )


def _draw(name: str, shape: tuple[int, ...], draw: torch.Generator) -> Tensor:
    """Draw initial weights, uniform as in torch's linear layer; the output layer starts at zero."""
    if name.endswith("_scale"):
        return torch.ones(shape)
    if name.endswith(("_bias", "_shift")) or name == "out":
        return torch.zeros(shape)
    bound = 1.0 / math.sqrt(shape[1])
    return (2.0 * torch.rand(shape, generator=draw) - 1.0) * bound
