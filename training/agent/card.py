"""The model card of an agent, written from the facts of its export."""

from __future__ import annotations

from typing import Any

from training.sources import render_sources
from training.summarizer.adapter_card import render_header, render_loss, render_parity, render_shape


def render_card(name: str, facts: dict[str, Any]) -> str:
    """Return Markdown with a Hugging Face header."""
    run = facts["run"]
    again = f" of {run['examples_of']}, some more than once" * (run["examples"] > run["examples_of"])
    amount = f"{run['examples']} turns{again}, {run['tokens']:,} tokens, {run['minutes']} minutes"
    turns = sum(facts["data"].values())
    return f"""{render_header(name, facts, "text-generation", "agent, search")}

A LoRA adapter with which SmolLM2-135M-Instruct writes ZipRL's turns: a thought, a level, a summary of what is
known, and one tool call. It is the cold start alone (ZipRL, appendix A), without reinforcement learning;
`docs/training.md` says what that has brought so far.
`tersely_agents.agent.load_agent` and `tersely agent --local {name}` run it without a network
and without torch.

- **Input**: the prompt of the agent's strategy "summary": the question, the summary before, and the result of
  the last tool, shortened by the selector to about 200 tokens.
- **Output**: a turn. `load_agent` enforces its form with a grammar; without one (`constrained=False`) the
  agent corrects or replaces a turn that cannot be read.
{render_shape(facts)}

## Training

{amount} on one core of a CPU.
The data has {turns} turns, of {facts["questions"]} questions. {render_loss(facts, "turns")}

{render_sources(("traj_fireact", "hotpotqa", "twowiki"))}

The texts are not part of this repository. The runs are FireAct's, by GPT-4: only those that were rewarded
and found their answer. Passages of the other sets are added to what a search finds. The compressor
teaches levels and summaries: a summary quotes the evidence of the run, and the level follows from the
best score, or is a lower one that the quotations fill. So nearly all have level 1, 100 to 500 characters.

{render_parity(facts, "turns")}

## Limits

It shows that the whole process works on a small CPU. Do not rely on it: it keeps the form, but most of
its answers are wrong (`docs/results.md` has the numbers, against the base model and with and without the
grammar). It mixes up what it reads, repeats searches that found nothing new, and nothing checks its
answers. Its training runs search at most four times, never open a page, and end in a short answer. For
better agents, train larger models for longer with the same commands.
"""
