"""A check for bfloat16 in hardware. Emulated, it is slower than float32."""

from __future__ import annotations

from typing import Any

import torch


def bf16_is_fast(device: str) -> bool:
    """Return True on CUDA, and on processors with instructions for it."""
    cpu: Any = torch.cpu
    return device == "cuda" or cpu._is_avx512_bf16_supported() or cpu._is_amx_tile_supported()
