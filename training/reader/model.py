"""The span reader as a torch module: an encoder, and a start and an end logit for every token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.shared.export import export_graph, make_dimension


class SpanModel(nn.Module):
    """Inputs (B, L) ids and mask; outputs start and end logits (B, L). Position 0 means "no answer"."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder
        self.span = nn.Linear(int(encoder.config.hidden_size), 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        start, end = self.span(hidden).unbind(-1)
        return start, end


def span_loss(start: Tensor, end: Tensor, allowed: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Return the mean cross-entropy of the first and the last answer token (BERT, section 4.3).

    Logits and `allowed` (B, L); targets (B,), 0 for "no answer". Only allowed positions compete.
    """
    start, end = (x.float().masked_fill(~allowed, -1e4) for x in (start, end))
    return (nn.functional.cross_entropy(start, first) + nn.functional.cross_entropy(end, last)) / 2


def export_span(model: SpanModel, path: Path, max_length: int) -> None:
    """Write the float32 graph with free batch and length."""
    model = model.cpu().float()
    model.encoder.set_attn_implementation("eager")
    axes = {0: make_dimension("batch", 4096), 1: make_dimension("length", max_length, at_least=2)}
    ids = torch.randint(5, 50, (2, 16))
    inputs = {"input_ids": (ids, axes), "attention_mask": (torch.ones_like(ids), axes)}
    export_graph(model, inputs, ["start", "end"], path)
