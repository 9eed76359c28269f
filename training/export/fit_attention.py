"""Fits the attention between sentences on held-out questions, on exactly the features that the runtime
computes.

Several networks learn from the same questions, each from weights of its own; the runtime takes their mean,
which is steadier than any of them. The loss is that of the fusion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tersely.selector.attention import HEADS, LIMIT, SentenceAttention, shape_weights
from tersely.selector.matching import Floats

NETWORKS = 4
WIDTH = 16
EPOCHS = 8
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 0.05
DROPOUT = 0.1
BATCH = 16
WARMUP = 20
"""Steps over which the learning rate rises."""


@dataclass(frozen=True, slots=True)
class Example:
    """The sentences of a held-out question that see each other."""

    features: Floats
    """(sentences, features)"""
    relations: NDArray[np.float32]
    base: Floats
    """(sentences,) logits that the attention adds to."""
    gate: float
    """What its sum is multiplied by."""
    labels: NDArray[np.int64]
    """1, 0, or -1 where that is unknown."""
    weight: float
    """Of the question in the loss."""


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

    def forward(self, features: Tensor, relations: Tensor) -> Tensor:
        """(networks, sentences) of (sentences, features) and (sentences, sentences, relations)."""
        x = ((features - self.mean) / self.deviation).clamp(-LIMIT, LIMIT)
        h = self._project(x[None], "input")
        mixed = self._project(self._attend(self._normalise(h, "attend"), relations), "mix")
        h = h + self.dropout(mixed)
        up = torch.relu(self._project(self._normalise(h, "up"), "up"))
        h = h + self.dropout(self._project(up, "down"))
        return self._project(self._normalise(h, "out"), "out")[:, :, 0]

    def _project(self, x: Tensor, name: str) -> Tensor:
        return x @ self.layers[name] + self.layers[f"{name}_bias"]

    def _normalise(self, x: Tensor, name: str) -> Tensor:
        scaled = nn.functional.layer_norm(x, x.shape[-1:])
        return scaled * self.layers[f"{name}_scale"] + self.layers[f"{name}_shift"]

    def _attend(self, x: Tensor, relations: Tensor) -> Tensor:
        networks, size, width = x.shape
        projected = self._project(x, "attend").reshape(networks, size, 3, HEADS, width // HEADS)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        bias = relations @ self.layers["relation"][:, None] + self.layers["relation_bias"][:, None]
        logits = query @ key.transpose(-1, -2) / math.sqrt(width // HEADS) + bias.permute(0, 3, 1, 2)
        return (logits.softmax(-1) @ value).transpose(1, 2).reshape(networks, size, width)

    def numpy(self) -> SentenceAttention:
        weights = {name: layer.detach().numpy().copy() for name, layer in self.layers.items()}
        return SentenceAttention({"mean": self.mean.numpy(), "deviation": self.deviation.numpy(), **weights})


def fit_attention(examples: Sequence[Example], seed: int) -> SentenceAttention:
    """Train the networks; deterministic in `seed`."""
    network = AttentionNetwork(np.concatenate([example.features for example in examples]), seed)
    torch.manual_seed(seed)
    tensors = [
        tuple(torch.tensor(a, dtype=torch.float32) for a in (e.features, e.relations, e.base))
        for e in examples
    ]
    steps = EPOCHS * math.ceil(len(examples) / BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARMUP) * max(0.02, 1.0 - step / steps)
    )
    network.train()
    for _ in range(EPOCHS):
        order = torch.randperm(len(examples)).tolist()
        for start in range(0, len(order), BATCH):
            optimizer.zero_grad()
            for i in order[start : start + BATCH]:
                features, relations, base = tensors[i]
                logits = base + examples[i].gate * network(features, relations)
                loss = compute_loss(logits, torch.from_numpy(examples[i].labels))
                (loss * examples[i].weight / BATCH).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return network.eval().numpy()


def compute_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over networks of cross-entropy and, where there are positives, the listwise loss.

    `logits` has shape (networks, sentences), `labels` (sentences,); those that are -1 do not count.
    """
    known = labels >= 0
    logits, labels = logits[:, known], labels[known].to(logits.dtype).expand(len(logits), -1)
    entropy = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none").mean(1)
    is_positive = labels[0] > 0
    if is_positive.any() and not is_positive.all():
        rivals = torch.logsumexp(logits[:, ~is_positive], dim=1, keepdim=True)
        entropy = entropy + nn.functional.softplus(rivals - logits[:, is_positive]).mean(1)
    return entropy.sum()


def _draw(name: str, shape: tuple[int, ...], draw: torch.Generator) -> Tensor:
    """Initial weights: uniform as in torch's linear layer; the output begins at zero."""
    if name.endswith("_scale"):
        return torch.ones(shape)
    if name.endswith(("_bias", "_shift")) or name == "out":
        return torch.zeros(shape)
    bound = 1.0 / math.sqrt(shape[1])
    return (2.0 * torch.rand(shape, generator=draw) - 1.0) * bound
