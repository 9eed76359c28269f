"""Render the model card of a summarizer from the facts of its export."""

from __future__ import annotations

from typing import Any

from training.sources import render_sources
from training.summarizer.adapter_card import render_header, render_loss, render_parity, render_shape

_TAUGHT = """A target holds what the teacher wrote under one of RECON's aspects, without the
sentences that the prompt does not support."""
_UNTAUGHT = """A target holds sentences that people marked as supporting an
answer, or wrote as a summary of a meeting, and only if the prompt supports them.

For the aspects "completeness" and "coverage" the targets had one and two more sentences. The other four
aspects of RECON had the same targets, so expect no difference between them."""


def render_card(name: str, facts: dict[str, Any]) -> str:
    """Return Markdown with metadata for Hugging Face."""
    run = facts["run"]
    amount = f"{run['examples']} examples, {run['tokens']:,} tokens, {run['minutes']} minutes"
    teachers = facts["teachers"]
    teacher = f"teacher: {', '.join(teachers)}" if teachers else "no teacher model"
    counts = ", ".join(f"{count} from {source}" for source, count in sorted(facts["data"].items()))
    return f"""{render_header(name, facts, "summarization", "query-focused-summarization")}

A LoRA adapter that makes SmolLM2-135M-Instruct write short, grounded summaries of documents for a question
(RECON, section 3.2, stage 2). `tersely_agents.summaries.Summarizer("{name}")` runs it without a network
and without torch, checks every sentence against the documents and drops what they do not support.

- **Input**: RECON's prompt, with at most about 280 tokens of documents that the selector chose.
- **Output**: the sentences of the documents that the question needs, shortened, with names instead of
  pronouns.
{render_shape(facts)}

## Training

{amount} on one core of a busy CPU; {teacher}. Examples: {counts}.
{render_loss(facts, "summaries")}

{render_sources(sorted(facts["data"]))}

The texts are not part of this repository. {_TAUGHT if teachers else _UNTAUGHT}

{render_parity(facts, "summaries")}

## Limits

The model mixes things up: asked about two things, it gives one the attributes of the other. The check
after it compares words, names and numbers, and drops a sentence unless the document that supports it
contains all of its names and numbers. A false statement in words of that document passes.

On HotpotQA and Natural Questions, eight questions each, a reader answers less from these summaries than
from extractive ones of the same length: `docs/results.md` has the numbers. The last rule of the check was
added after four of those HotpotQA questions had been looked at.
"""
