"""Convert a peft LoRA adapter to a GGUF file for llama.cpp, of the Llama and Qwen families."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
from gguf import GGUFWriter
from numpy.typing import NDArray
from safetensors.numpy import load_file

Array = NDArray[np.float32]

_KEY = re.compile(r"layers\.(\d+)\.(?:self_attn|mlp)\.(\w+)\.lora_([AB])\.weight$")
_NAMES = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}
"""GGUF's names of Llama's linear layers."""


def write_gguf(
    adapter: Path, target: Path, *, heads: int, kv_heads: int, architecture: str = "llama"
) -> None:
    """Write the adapter in the folder `adapter` in float16.

    heads, kv_heads: attention heads of the base model, for queries and for keys.
    architecture: transformers' name of the base model's family: "llama", "qwen2" or "qwen3".

    Raises ValueError for another family, and for a weight that llama.cpp has no name for.
    """
    if architecture not in ("llama", "qwen2", "qwen3"):
        raise ValueError(
            f"adapters of the family {architecture!r} cannot be written, only llama, qwen2, qwen3"
        )
    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    writer = GGUFWriter(os.fspath(target), architecture)
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(config["lora_alpha"]))
    for key, weight in sorted(load_file(adapter / "adapter_model.safetensors").items()):
        match = _KEY.search(key)
        if match is None or match[2] not in _NAMES:
            raise ValueError(f"{adapter} adapts {key}, which GGUF has no name for")
        block, layer, side = match.groups()
        values = weight.astype(np.float32)
        if architecture == "llama" and side == "B" and layer in ("q_proj", "k_proj"):
            values = interleave_heads(values, heads if layer == "q_proj" else kv_heads)
        name = f"blk.{block}.{_NAMES[layer]}.weight.lora_{side.lower()}"
        writer.add_tensor(name, values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleave_heads(rows: Array, heads: int) -> Array:
    """Reorder the output rows of a query or key layer for llama.cpp.

    Rotary positions rotate pairs of numbers. In transformers a pair is the numbers i and i + size/2 of a
    head. In llama.cpp they are neighbours.
    """
    count, width = rows.shape
    return rows.reshape(heads, 2, count // heads // 2, width).swapaxes(1, 2).reshape(count, width)
