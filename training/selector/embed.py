"""Sentence vectors of the base model, for mining hard negatives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer

from tersely.selector.layout import batches
from training.selector.data import Embed
from training.selector.model import resolve_base

MAX_LENGTH = 96


def embedder(base_model: str) -> Embed:
    """Mean-pooled unit vectors of the base model, float32 (n, d); only the first 96 tokens of a text count."""
    base = resolve_base(base_model)
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModel.from_pretrained(base).eval()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device)

    cache: dict[str, NDArray[np.float32]] = {}

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        new = sorted(set(texts) - set(cache))
        if new:
            cache.update(zip(new, compute(new), strict=True))
        return np.stack([cache[t] for t in texts])

    @torch.inference_mode()
    def compute(texts: Sequence[str]) -> NDArray[np.float32]:
        ids = tokenizer(list(texts), truncation=True, max_length=MAX_LENGTH)["input_ids"]
        out = np.zeros((len(texts), model.config.hidden_size), dtype=np.float32)
        parts = list(batches([len(x) for x in ids], 4096))
        for part in tqdm(parts, desc="embed", mininterval=10):
            batch = tokenizer.pad({"input_ids": [ids[i] for i in part]}, return_tensors="pt").to(device)
            states = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            pooled = (states * mask).sum(1) / mask.sum(1)
            out[part] = torch.nn.functional.normalize(pooled, dim=-1).float().cpu().numpy()
        return out

    return embed
