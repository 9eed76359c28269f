"""The model card of an artifact, written from the facts of its export."""

from __future__ import annotations

from typing import Any

from tersely.score.fusion import Decision
from training.selector_model.config import SelectorConfig
from training.sources import render_sources

_DECISIONS: dict[Decision, str] = {
    "fitted": """`fusion.json` turns
  them and exact matches into one probability per sentence; for questions that need another hop there is a
  second pass, and `attention.npz` lets the sentences of all documents see each other""",
    "learned": """a sentence is kept
  where its keep logit is positive, as in training""",
}

_WIDE = """Layers with fewer outputs than inputs are in float32, because their inputs have outliers, for which
int8 has too few steps."""


def render_card(config: SelectorConfig, decision: Decision, facts: dict[str, Any]) -> str:
    """Render Markdown with a Hugging Face header."""
    return f"""---
library_name: tersely
license: apache-2.0
language: en
base_model: {config.base_model}
pipeline_tag: text-ranking
tags: [context-compression, sentence-selection, reranking, onnx]
---
# {config.name}

Scores every sentence and every document for a question with int8 ONNX graphs, so that a language model
can be given the few sentences that matter. `tersely.Compressor()` runs it; it needs no torch and no network.

- **Input**: `[CLS] question [SEP] [DOC] title [SEN] sentence [SEN] sentence ... [SEP]`, windows of at most
  {config.max_length} tokens.
- **Output**: a keep logit at each `[SEN]` and a relevance logit at each `[DOC]`; {_DECISIONS[decision]}.
- **Base model**: {config.base_model} (all-MiniLM-L6-v2 weights where that package is named).
- **Language**: trained on English; other languages are measured in `benchmarks/RESULTS.md`.

## Training data

{render_sources(facts["data"])}

The texts are not part of this repository. Command: `{facts["training_command"]}`, {list_runs(facts["runs"])}.
What each run changed and what that gave is in `training/LOG.md`.

## Held-out questions

Labelled sentences kept at 0.1 / at 0.25 of the text, in percent, on questions about other articles than
those of the training questions; everything after the encoder is cross-fitted, but for the networks that
choose what the second pass reads.

{_render_ablation(facts["heldout"], facts["heldout_questions"])}

Without a limit, in percent: {_render_own_decision(facts["own_decision"])}.

{_render_embedding(facts["embedding"])}## Parity

{", ".join(f"{k} {v:.4g}" for k, v in facts["parity"].items())}: largest differences of a logit, the
first two in float32; `int8_rank` is the mean rank correlation of sentence orders between the model as it was
trained and the int8 graph.
The int8 graph scales activations over a batch, so the logits of short windows depend a little on those read
with them; batches are formed from one request alone, so the same request gives the same result.
{_WIDE if facts.get("int8_narrowing") is False else ""}

## Limits

It selects text and does not check that text: a wrong document yields wrong sentences, and text in a
document that pretends to be an instruction is kept like any other. Long questions are cut at
{config.query_length} tokens.
"""


def list_runs(runs: list[dict[str, Any]]) -> str:
    """Describe the runs that made the weights, oldest first."""
    each = [
        f"{r['questions']:,} questions in {r['minutes']} minutes (seed {r['seed']}, learning rate "
        f"{r['learning_rate']:g}"
        + (", read with the rounding of int8" if r.get("int8") else "")
        + (", taught by cosines of the base model" if r.get("distillation") else "")
        + (f", Phase II with {r['reader']}, epoch {r['best_epoch']})" if r.get("phase") == 2 else ")")
        for r in runs
    ]
    if len(each) == 1:
        return each[0]
    averaged = runs[-1].get("averaged")
    if averaged is None:
        return "run after run with `--start-from`: " + "; ".join(each)
    shared = len(each) - averaged["runs"]
    start = " and of those that they started from" if averaged["start"] else ""
    return (
        f"run after run with `--start-from`: {'; '.join(each[:shared])}; then, each of them from the last of "
        f"these: {'; '.join(each[shared:])}. The weights are the mean of those of the last "
        f"{averaged['runs']} runs{start}"
    )


def _render_embedding(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return ""
    return f"""## Vectors

`onnx/sentences_quantized.onnx` is the base model as it was, in int8. It gives each sentence the mean of its
tokens' states in a window that begins with the title: {facts["dimension"]} numbers. The fusion weighs their
cosine with the question. `tersely.embedding.SentenceEmbedder` gives vectors of texts. {facts["questions"]}
held-out questions in a pool of {facts["passages"]:,} passages: mean reciprocal rank {facts["mrr"]}.

"""


def _render_own_decision(table: dict[str, dict[str, float]]) -> str:
    rows = (f"{row['support']} in {row['rate']} ({name})" for name, row in table.items())
    return "labelled sentences kept in the share of the characters kept, " + ", ".join(rows)


def _render_ablation(table: dict[str, Any], questions: dict[str, int]) -> str:
    lines = ["| set | questions | " + " | ".join(table) + " |", "|---" * (len(table) + 2) + "|"]
    for name, count in sorted(questions.items()):
        cells = [f"{row[name]['support@0.1']} / {row[name]['support@0.25']}" for row in table.values()]
        lines.append(f"| {name} | {count} | {' | '.join(cells)} |")
    return "\n".join(lines)
