"""Encoders of queries and passages. The dot product of two vectors is their similarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tersely.embedding import SentenceEmbedder

BUNDLED = "bundled"
"""Name of the encoder of the bundled selector."""
MAX_TOKENS = 512
"""Maximum number of tokens that an E5-like model reads of a text."""


class Encoder(Protocol):
    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of length 1, shape (texts, dimension)."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def open_encoder(name: str) -> Encoder:
    """Open the bundled encoder, or an E5-like model on the hub or in a folder."""
    return _Bundled() if name == BUNDLED else E5(name)


class _Bundled:
    """The encoder of the bundled selector, which reads queries and passages alike."""

    def __init__(self) -> None:
        self._embedder = SentenceEmbedder()

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embedder.embed(list(texts))

    encode_passages = encode_queries


class E5:
    """An encoder of transformers that was trained like E5: prefixes, and the mean of the last states."""

    def __init__(self, name: str, *, batch: int = 64) -> None:
        import torch  # takes seconds, as the next one does
        from transformers import AutoModel, AutoTokenizer

        self._torch: Any = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._tokenizer = AutoTokenizer.from_pretrained(name)
        self._model = AutoModel.from_pretrained(name).to(self._device).eval()
        self._batch = batch

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._encode([f"query: {text}" for text in texts])

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._encode([f"passage: {text}" for text in texts])

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        parts = [self._encode_batch(texts[at : at + self._batch]) for at in range(0, len(texts), self._batch)]
        return np.concatenate(parts)

    def _encode_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        options = {"padding": True, "truncation": True, "max_length": MAX_TOKENS}
        inputs = self._tokenizer(list(texts), return_tensors="pt", **options).to(self._device)
        with self._torch.inference_mode():
            states = self._model(**inputs).last_hidden_state.float()
        mask = inputs["attention_mask"][..., None]
        means = (states * mask).sum(1) / mask.sum(1)
        return self._torch.nn.functional.normalize(means, dim=-1).cpu().numpy()
