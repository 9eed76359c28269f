"""Larger encoders for the same job: right shape, random weights, int8 like the bundled model.

Their time does not depend on the values of the weights. The comparison favours them: only forward passes are
timed, one for each document, without tokenising, splitting or packing, and the vocabulary is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.shared.cache import open_cache_folder
from tersely.errors import MissingDependencyError
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.encoder import BATCH_TOKENS
from tersely.score.layout import batches

VOCABULARY = 30_000
"""Number of rows of the embedding table. A lookup costs nothing, so XLM-RoBERTa's 250,000 rows would only
fill RAM."""

MAX_LENGTH = 512


MODERNBERT = "modernbert-base"
SHAPES = {
    MODERNBERT: "ModernBERT-base-shaped (22 layers, 768 wide)",
    "xlm-roberta-large": "XLM-RoBERTa-large-shaped (24 layers, 1024 wide)",
}
"""The title of each model in tables."""


class ReferenceEncoder:
    """A loaded reference encoder."""

    def __init__(self, name: str, threads: int | None = None) -> None:
        self.title = SHAPES[name]
        self._session = EncoderSession(_load_quantised(name), 1)
        self._workers = Workers(allowed_threads(threads))

    def run(self, lengths: Sequence[int]) -> None:
        """Run the encoder on rows of `lengths` tokens, batched and in parallel as the selector does."""

        def forward(batch: list[int]) -> None:
            width = max(lengths[i] for i in batch)
            mask = (np.arange(width) < np.array([[lengths[i]] for i in batch])).astype(np.int64)
            ids = np.where(mask == 1, 1000 + np.arange(width) % 20_000, 1).astype(np.int64)
            self._session.run({"input_ids": ids, "attention_mask": mask}, ["states"])

        self._workers.map(forward, list(batches(lengths, BATCH_TOKENS))[::-1])


def _load_quantised(name: str) -> Path:
    """Return the path of the shape's int8 graph, exported once into the cache folder."""
    path = open_cache_folder() / f"{name}-shaped.int8.onnx"
    if path.is_file():
        return path
    try:
        from transformers import ModernBertConfig, ModernBertModel, XLMRobertaConfig, XLMRobertaModel

        from benchmarks.shared.export import export_encoder, quantise
    except ImportError as error:
        raise MissingDependencyError(
            "the reference encoders need torch, transformers and onnx: pip install --group training"
        ) from error
    if name == MODERNBERT:
        model = ModernBertModel(
            ModernBertConfig(
                vocab_size=VOCABULARY,
                pad_token_id=1,
                bos_token_id=0,
                eos_token_id=2,
                cls_token_id=0,
                sep_token_id=2,
            )
        )
    else:
        model = XLMRobertaModel(
            XLMRobertaConfig(
                vocab_size=VOCABULARY,
                hidden_size=1024,
                num_hidden_layers=24,
                num_attention_heads=16,
                intermediate_size=4096,
                max_position_embeddings=MAX_LENGTH + 2,
                type_vocab_size=1,
            ),
            add_pooling_layer=False,
        )
    full = path.with_name(f"{name}-shaped.onnx")
    export_encoder(model, full, max_length=MAX_LENGTH)
    quantise(full, path)
    full.unlink()
    return path
