"""The rounding of the exported int8 graph, in float: training through it learns what survives it.

The graph (`benchmarks.shared.export.quantise`) rounds the weights of each output to 64 steps on each side of
zero, and word embeddings and the inputs of linear layers to the 255 steps between the least and the greatest
value of the table or the run. Gradients pass as if nothing had been rounded (the straight-through estimator
of Bengio et al., 2013, https://arxiv.org/abs/1308.3432).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

WEIGHT_STEPS = 64
"""From zero to the greatest weight of an output."""

STEPS = 255
"""From the least to the greatest embedding or input."""


class _Round(torch.autograd.Function):
    """The nearest multiple of `step`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, step: Tensor) -> Tensor:
        return (values / step).round_().mul_(step)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None


def round_weight(weight: Tensor) -> Tensor:
    """A linear layer's weight (out, in)."""
    greatest = weight.detach().abs().amax(1, keepdim=True)
    return _Round.apply(weight, greatest.clamp(min=1e-12) / WEIGHT_STEPS)


def round_rows(rows: Tensor, table: Tensor) -> Tensor:
    """Rows of a table of embeddings, which has one step for all of its values."""
    least, greatest = torch.aminmax(table.detach())
    return _Round.apply(rows, (greatest.clamp(min=0) - least.clamp(max=0)) / STEPS)


def round_inputs(inputs: Tensor, window: Tensor, windows: int) -> Tensor:
    """A linear layer's inputs (tokens, H); the window of each token, (tokens,), has a step of its own.

    At run time short windows may share a run, and then a step.
    """
    values = inputs.detach()
    zeros = values.new_zeros(windows)
    least = zeros.scatter_reduce(0, window, values.amin(1), "amin")
    greatest = zeros.scatter_reduce(0, window, values.amax(1), "amax")
    step = (greatest - least).clamp(min=1e-12) / STEPS
    return _Round.apply(inputs, step[window][:, None])
