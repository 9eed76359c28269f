"""Whether bfloat16 pays on this machine. Emulated, it is slower than float32."""

from __future__ import annotations

import torch


def bf16_is_fast(device: str) -> bool:
    """True on CUDA, and on processors with instructions for it."""
    return device == "cuda" or torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
