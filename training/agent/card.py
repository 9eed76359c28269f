"""The model card of an agent, written from the facts of its export."""

from __future__ import annotations

from typing import Any

from training.sources import render_sources
from training.summarizer.adapter_card import render_header, render_loss, render_parity, render_shape


def render_card(name: str, facts: dict[str, Any]) -> str:
    """Return Markdown with a Hugging Face header."""
    run, data, levels = facts["run"], facts["data"], facts["levels"]
    again = f" of {run['examples_of']}, some more than once" * (run["examples"] > run["examples_of"])
    amount = f"{run['examples']} turns{again}, {run['tokens']:,} tokens, {run['minutes']} minutes"
    counts = ", ".join(f"{count} from {source}" for source, count in sorted(data.items()))
    shares = ", ".join(f"{count} of level {level}" for level, count in levels.items())
    experts = "" if set(data) == {"traj_fireact"} else _LABELLED
    sources = dict.fromkeys([*sorted(data), "hotpotqa", "twowiki"])
    return f"""{render_header(name, facts, "text-generation", "agent, search")}

A LoRA adapter with which {facts["base_model"]} writes ZipRL's turns: a thought, a level, a summary of what is
known, and one tool call. {_describe_stages(facts["practice"])}
`tersely_agents.agent.load_agent` and `tersely agent --local {name}` run it without a network
and without torch.

- **Input**: the prompt of the agent's strategy "summary": the question, the summary before, and the result of
  the last tool, shortened by the selector to about {facts["search_tokens"]} tokens.
- **Output**: a turn. `load_agent` enforces its form with a grammar; without one (`constrained=False`) the
  agent corrects or replaces a turn that cannot be read.
{render_shape(facts)}

## Training

{amount} on one core of a CPU.
The data has {sum(data.values())} turns of {facts["questions"]} questions: {counts}.
{render_loss(facts, "turns")}
{_render_practice(facts["practice"])}
{render_sources(sources)}

The texts are not part of this repository. FireAct's runs are by GPT-4: only those that were rewarded and
found their answer. Passages of the other sets are added to what a search finds.{experts} The compressor
teaches levels and summaries: a summary quotes the evidence of the run, and the level follows from the best
score, or is a lower one that the quotations fill. Summaries: {shares}.

{render_parity(facts, "turns")}

## Limits

`benchmarks/RESULTS.md` says how many of its answers are right, with the grammar and without. Nothing checks
its answers. Its training runs search at most four times, never open a page, and
end in a short answer. For better agents, train larger models for longer with the same commands.
"""


def _describe_stages(practice: dict[str, Any] | None) -> str:
    if practice is None:
        return """It is the cold start alone (ZipRL, appendix A), without reinforcement learning;
`docs/training.md` says what that has brought so far."""
    return """First it learned from an expert's runs (the cold start of ZipRL's appendix A),
then from its own (HRR, ZipRL's reinforcement learning)."""


def _render_practice(practice: dict[str, Any] | None) -> str:
    """Return a paragraph on the reinforcement learning; empty if there was none."""
    if practice is None:
        return ""
    p = practice
    amount = f"{p['rollouts']:,} rollouts on {p['questions']} training questions of {' and '.join(p['sets'])}"
    right, reward = ([f"{value:.3f}" for value in p[name]] for name in ("correct", "reward"))
    return f"""
Then {p["updates"]} updates by {p["algorithm"].upper()} from {amount},
in {p["minutes"]} minutes on {p["device"]}. Share of right answers to {p["heldout"]} training questions
that no update used, greedy and without the grammar: {right[0]} before, {right[1]} after. Mean reward
(F1): {reward[0]} before, {reward[1]} after. The cold start may have used some of these questions. Command:
`{p["command"]}`.
"""


_LABELLED = """ Questions
with labelled evidence are answered by an expert that knows it: it searches for the question, then for the
titles of documents that are still missing, and quotes the evidence in its thoughts."""
