"""The clipped surrogate loss of all policy gradients here."""

from __future__ import annotations

import torch
from torch import Tensor


def surrogate_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    weights: Tensor,
    *,
    clip: float = 0.2,
    reference: Tensor | None = None,
    beta: float = 0.0,
) -> Tensor:
    """Return - sum of weights x (min(rho A, clip(rho, 1 - clip, 1 + clip) A) - beta KL); ZipRL, equation 5.

    All tensors have the shape (tokens,). rho is exp(logprobs - old_logprobs).

    Args:
        reference: log-probabilities under the reference policy; needed if beta is not 0. The KL is
            exp(d) - d - 1 with d = reference - logprobs, which is never negative (DeepSeekMath, equation 4).
    """
    rho = torch.exp(logprobs - old_logprobs)
    gain = torch.minimum(rho * advantages, rho.clamp(1 - clip, 1 + clip) * advantages)
    if reference is not None:
        gap = reference - logprobs
        gain = gain - beta * (gap.exp() - gap - 1)
    return -(weights * gain).sum()
