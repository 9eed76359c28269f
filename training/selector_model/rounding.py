"""Round in float as the exported int8 graph does, so that training learns weights that survive it.

The graph (`benchmarks.shared.export.quantise`) rounds the weights of each output to 64 steps on each side of
zero. It rounds word embeddings and the inputs of linear layers to the 255 steps between the lowest and the
highest value of the table or batch. Gradients pass as if nothing had been rounded (the straight-through
estimator of Bengio et al., 2013, https://arxiv.org/abs/1308.3432).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

WEIGHT_STEPS = 64
"""Number of steps from zero to the largest weight of an output."""

STEPS = 255
"""Number of steps from the lowest to the highest embedding or input."""


class _Round(torch.autograd.Function):
    """Rounding to the nearest multiple of `step`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, step: Tensor) -> Tensor:
        return (values / step).round_().mul_(step)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None


def round_weight(weight: Tensor) -> Tensor:
    """Round a linear layer's weight (out, in)."""
    greatest = weight.detach().abs().amax(1, keepdim=True)
    return _Round.apply(weight, greatest.clamp(min=1e-12) / WEIGHT_STEPS)


def round_rows(rows: Tensor, table: Tensor) -> Tensor:
    """Round rows of an embedding table, which has one step for all of its values."""
    least, greatest = torch.aminmax(table.detach())
    return _Round.apply(rows, (greatest.clamp(min=0) - least.clamp(max=0)) / STEPS)


def round_inputs(inputs: Tensor, window: Tensor, windows: int) -> Tensor:
    """Round a linear layer's inputs (tokens, H). Each window has its own step.

    window: (tokens,) index of each token's window. At run time, short windows in one batch share a step.
    """
    values = inputs.detach()
    zeros = values.new_zeros(windows)
    least = zeros.scatter_reduce(0, window, values.amin(1), "amin")
    greatest = zeros.scatter_reduce(0, window, values.amax(1), "amax")
    step = (greatest - least).clamp(min=1e-12) / STEPS
    return _Round.apply(inputs, step[window][:, None])
