"""Distillation: teach the selector again what its base model knows and training made it forget.

The target of a sentence is the keep logit of the model that training starts from, plus weighted cosines of
the question with the sentence and with its window. The cosines are those of vectors that the base model made
before any training. The regression ignores the mean logit of each question, so it does not shift all logits
up or down.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModel

from tersely.score.layout import LayoutConfig
from training.selector_model.batching import Batch
from training.selector_model.config import SelectorConfig
from training.selector_model.model import SelectorModel, compute_mean, compute_means, resolve_base
from training.selector_model.packed import encode

SENTENCE_WEIGHT = 5.0
WINDOW_WEIGHT = 5.0
"""Weights of the two cosines, from a trial without training (`training/LOG.md`)."""


class Teacher(nn.Module):
    """The model that training starts from, and its base model before any training. Neither is trained."""

    def __init__(self, start: SelectorModel, config: SelectorConfig, layout: LayoutConfig) -> None:
        super().__init__()
        self.start = copy.deepcopy(start).eval()
        self.base: Any = AutoModel.from_pretrained(resolve_base(config.base_model)).eval()
        self.layout = layout
        self.requires_grad_(False)

    @torch.no_grad()
    def compute_targets(self, batch: Batch, device: torch.device) -> Tensor:
        """Return the target (sentences,) of each keep logit of a batch, in the order of its labels."""
        targets: list[Tensor] = []
        for part, sentences in zip(batch.parts, batch.sentence_masks, strict=True):
            inputs = {name: value.to(device) for name, value in part.items()}
            keep, _ = self.start.read(**inputs)
            cosines = self._compute_cosines(inputs, sentences.shape[1])
            targets.append((keep.float() + cosines)[sentences.to(device)])
        return torch.cat(targets)

    def _compute_cosines(self, inputs: dict[str, Tensor], sentences: int) -> Tensor:
        """Return the weighted sum of the cosines of each sentence (B, S).

        Document and question are encoded separately.
        """
        ids, owners = inputs["input_ids"], inputs["segments"]
        is_marker = (ids == self.layout.sen_id) | (ids == self.layout.doc_id)
        place = torch.arange(ids.shape[1], device=ids.device)
        in_document = (place >= inputs["doc_positions"][:, :1]) & inputs["attention_mask"].bool() & ~is_marker
        question, _, mask = self._gather(ids, owners, owners == 0)
        hidden = self._encode(question, mask)
        query = compute_mean(mask[:, None, :].to(hidden.dtype), hidden)
        document, owners, mask = self._gather(ids, owners, in_document & (ids != self.layout.sep_id))
        hidden = self._encode(document, mask)
        near = functional.cosine_similarity(compute_means(owners, sentences, hidden), query, dim=-1)
        window = compute_mean((owners > 0).to(hidden.dtype)[:, None, :], hidden)
        return SENTENCE_WEIGHT * near + WINDOW_WEIGHT * functional.cosine_similarity(window, query, dim=-1)

    def _gather(self, ids: Tensor, owners: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return ids, owners and mask of the chosen tokens (B, L), between [CLS] and [SEP]."""
        c = self.layout
        counts = chosen.sum(1)
        width = int(counts.max()) + 2
        order = torch.argsort((~chosen).to(torch.int8), dim=1, stable=True)[:, : width - 2]
        place = torch.arange(width, device=ids.device)
        inside = (place >= 1) & (place <= counts[:, None])
        out = torch.full((len(ids), width), c.pad_id, dtype=ids.dtype, device=ids.device)
        out[inside] = torch.gather(ids, 1, order)[inside[:, 1:-1]]
        out[:, 0] = c.cls_id
        out.scatter_(1, counts[:, None] + 1, c.sep_id)
        own = torch.full_like(out, -1)
        own[inside] = torch.gather(owners, 1, order)[inside[:, 1:-1]]
        return out, own, (place <= counts[:, None] + 1).to(ids.dtype)

    def _encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        return encode(self.base, ids, mask).float()
