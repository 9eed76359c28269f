"""Settings that all training runs share: precision, optimiser and learning rate."""

from __future__ import annotations

import ctypes
import sys

import torch
from torch import nn

from benchmarks.shared.precision import bf16_is_fast


def precision(device: str) -> str:
    """Return the mixed-precision mode that is faster than float32 on this machine."""
    return "bf16" if bf16_is_fast(device) else "no"


LARGE_BLOCK = 2**25
"""Number of bytes of a large block. glibc takes no higher limit."""


def keep_freed_memory(*, large: bool = True) -> None:
    """Tell glibc to reuse freed memory instead of returning it: page faults cost a CPU run a third of its
    speed.

    large: True to keep blocks of `LARGE_BLOCK` bytes and more too. If their sizes differ from batch to
        batch, as those of a language model do, kept ones leave holes that nothing else fits into.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            m_trim_threshold, m_mmap_threshold, m_mmap_max = -1, -3, -4
            libc.mallopt(m_trim_threshold, 2**31 - 1)
            if large:
                libc.mallopt(m_mmap_max, 0)
            else:
                libc.mallopt(m_mmap_threshold, LARGE_BLOCK)


def adamw(model: nn.Module, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """Return AdamW over the trainable parameters; biases and norms do not decay."""
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": [p for p in trained if p.ndim > 1], "weight_decay": weight_decay},
            {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
        ],
        lr=learning_rate,
        fused=True,
    )


def triangle(share: float, warmup: float) -> float:
    """Return the factor of the learning rate at `share` of a run: it rises linearly until `warmup`, then
    falls to zero."""
    return min(share / warmup, (1 - share) / (1 - warmup), 1.0)


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
