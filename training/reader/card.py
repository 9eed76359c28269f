"""The card of a span reader, written from its configuration and results."""

from __future__ import annotations

from typing import Any

from training.reader.data import SOURCES
from training.sources import render_sources


def render_card(config: dict[str, Any]) -> str:
    """Render Markdown with a Hugging Face header, from the contents of `reader.json`."""
    held = config["heldout"]
    return f"""---
license: apache-2.0
language: en
base_model: {config["base_model"]}
pipeline_tag: question-answering
tags: [extractive-question-answering, onnx]
---
# A span reader

Answers a question with a span of a context, or with nothing, on a CPU. It rewards Phase II of the selector
and measures what compression does to answers (`--reader extractive:FOLDER`). It is a measuring instrument:
neither the runtime nor the wheel holds it.

- **Input**: `[CLS] question [SEP] context [SEP]`, windows of at most {config["layout"]["max_length"]} tokens.
- **Output**: logits of an answer's first and last token; position 0 means "no answer".
- **Base model**: {config["base_model"]} (all-MiniLM-L6-v2 weights where that package is named).

## Training

{config["contexts"]:,} contexts of {config["sources"]:,} questions, in {config["minutes"]} minutes
(`python -m training.reader`, seed {config["seed"]}). Questions that the selector is trained or validated on
are left out; of multi-hop sets, half of the questions are kept for policies. `questions.json` lists those
that were trained on, and Phase II refuses to be rewarded by this reader on one of them.

{render_sources(SOURCES)}

## Held-out questions

Of {held["questions"]} contexts that hold the answer: exact match {held["exact_match"]}, F1 {held["f1"]}.
Of those that do not, {held["unanswerable_left_empty"]} % are left unanswered. English only.
"""
