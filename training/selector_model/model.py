"""Selector as a torch module: any encoder, with an output layer for keep at `[SEN]` and one for relevance at
`[DOC]`.

EFFCOMP (section 3.1) computes the keep logit from the hidden state at `[SEN]` alone. Here the layer also gets
the sentence's mean-pooled vector and its product with the question's, and adds their scaled cosine. So a
sentence encoder like MiniLM ranks like plain embeddings before the first step, and training improves on that.
With `head = "sen"`, the keep logit is the paper's.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from tersely.score.layout import LayoutConfig
from training.selector_model.batching import Batch
from training.selector_model.config import Head, SelectorConfig
from training.selector_model.packed import can_pack, encode


class SelectorModel(nn.Module):
    """Selector with inputs from `tersely.score.layout.collate` and outputs keep (B, S) and relevance (B,
    D)."""

    def __init__(self, encoder: Any, doc_id: int, head: Head = "pooled", *, int8: bool = False) -> None:
        super().__init__()
        if int8 and not can_pack(encoder):
            raise ValueError("int8 works only with BERT encoders without dropout: remove int8")
        self.int8 = int8
        self.encoder = encoder
        self.doc_id = doc_id
        width = int(encoder.config.hidden_size)
        self.head: Head = head
        self.keep = nn.Linear(width if head == "sen" else 3 * width, 1)
        self.relevance = nn.Linear(2 * width, 1)
        self.scale = nn.Parameter(torch.tensor([8.0, 8.0]))
        # The paper's head has torch's initial weights; with zeros, only the cosine ranks at first.
        for layer in [self.relevance] if head == "sen" else [self.keep, self.relevance]:
            nn.init.zeros_(layer.weight)
            nn.init.constant_(layer.bias, -4.0)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        segments: Tensor,
        sentence_positions: Tensor,
        doc_positions: Tensor,
    ) -> tuple[Tensor, Tensor]:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self.heads(hidden, input_ids, segments, sentence_positions, doc_positions)

    def read(self, input_ids: Tensor, attention_mask: Tensor, **rest: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same as `forward`, without padding if `encode_packed` supports the encoder, and with the
        rounding of the exported graph if `int8` is set."""
        hidden = encode(self.encoder, input_ids, attention_mask, int8=self.int8)
        return self.heads(hidden, input_ids, **rest)

    def heads(
        self,
        hidden: Tensor,
        input_ids: Tensor,
        segments: Tensor,
        sentence_positions: Tensor,
        doc_positions: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Compute the outputs from the encoder's last hidden states (B, L, H)."""
        sentences = compute_means(segments, sentence_positions.shape[1], hidden)
        query = compute_mean((segments == 0).to(hidden.dtype)[:, None, :], hidden)
        document = torch.cumsum((input_ids == self.doc_id).to(torch.int64), dim=1) * (segments > 0)
        body = compute_means(document, doc_positions.shape[1], hidden)
        at_sentence = _gather(hidden, sentence_positions)
        at_document = _gather(hidden, doc_positions)
        if self.head == "sen":
            keep = self.keep(at_sentence).squeeze(-1)
        else:
            keep = self.keep(torch.cat([at_sentence, sentences, sentences * query], dim=-1)).squeeze(-1)
            keep = keep + self.scale[0] * nn.functional.cosine_similarity(sentences, query, dim=-1)
        relevance = self.relevance(torch.cat([at_document, at_document * query], dim=-1)).squeeze(-1)
        relevance = relevance + self.scale[1] * nn.functional.cosine_similarity(body, query, dim=-1)
        return keep, relevance


def compute_means(owner: Tensor, count: int, hidden: Tensor) -> Tensor:
    """Return the means of the tokens of owners 1, 2, ... count: (B, L) and (B, L, H) give (B, count, H)."""
    numbers = torch.arange(1, count + 1, device=owner.device)
    return compute_mean((owner[:, None, :] == numbers[None, :, None]).to(hidden.dtype), hidden)


def compute_mean(members: Tensor, hidden: Tensor) -> Tensor:
    """Return the mean of the member tokens: (B, N, L) weights and (B, L, H) hidden states give (B, N, H)."""
    return torch.matmul(members, hidden) / members.sum(-1, keepdim=True).clamp(min=1)


def _gather(hidden: Tensor, positions: Tensor) -> Tensor:
    index = positions[:, :, None].expand(-1, -1, hidden.shape[-1])
    return torch.gather(hidden, 1, index)


def compute_logits(model: Any, batch: Batch, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return keep logits (sentences,) and relevance logits (documents,) of a batch, in the order of its
    labels."""
    keep: list[Tensor] = []
    relevance: list[Tensor] = []
    for part, sentences, documents in zip(batch.parts, batch.sentence_masks, batch.doc_masks, strict=True):
        k, r = model.read(**{name: value.to(device) for name, value in part.items()})
        keep.append(k[sentences.to(device)].float())
        relevance.append(r[documents.to(device)].float())
    return torch.cat(keep), torch.cat(relevance)


def resolve_base(name: str) -> str:
    """Return the folder of a base model: the name itself, or one in a package. Otherwise return the hub
    name."""
    if Path(name).is_dir():
        return name
    if name.isidentifier():
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            folder = Path(spec.submodule_search_locations[0]) / "model"
            if folder.is_dir():
                return str(folder)
    return name


def build_selector(config: SelectorConfig) -> tuple[SelectorModel, Any, LayoutConfig]:
    """Build the untrained selector, its Hugging Face tokenizer, and the layout for both phases and the
    runtime."""
    base = resolve_base(config.base_model)
    tokenizer = AutoTokenizer.from_pretrained(base)
    encoder = AutoModel.from_pretrained(base)
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    ids = _choose_marker_ids(tokenizer, encoder, config)
    limit = int(encoder.config.max_position_embeddings)
    if config.max_length > limit:
        raise ValueError(f"max_length {config.max_length} exceeds the encoder's {limit} positions")
    layout = LayoutConfig(
        cls_id=tokenizer.cls_token_id,
        sep_id=tokenizer.sep_token_id,
        pad_id=tokenizer.pad_token_id,
        sen_id=ids[0],
        doc_id=ids[1],
        max_length=config.max_length,
        docs_per_window=config.docs_per_window,
        query_length=config.query_length,
    )
    return SelectorModel(encoder, layout.doc_id, config.head, int8=config.train.int8), tokenizer, layout


def _choose_marker_ids(tokenizer: Any, encoder: Any, config: SelectorConfig) -> tuple[int, int]:
    """Return the ids of [SEN] and [DOC], spare tokens whose embeddings are set to those of [SEP] and
    [CLS]."""
    table = encoder.get_input_embeddings().weight
    vocabulary = tokenizer.get_vocab()
    ids: list[int] = []
    for token, like in (
        (config.sen_token, tokenizer.sep_token_id),
        (config.doc_token, tokenizer.cls_token_id),
    ):
        if token not in vocabulary:
            raise ValueError(f"the tokenizer has no {token!r}; name a spare token in sen_token and doc_token")
        ids.append(vocabulary[token])
        with torch.no_grad():
            table[ids[-1]] = table[like]
    return ids[0], ids[1]
