"""Any ONNX cross-encoder as a reranker: BGE, Jina, GTE, MS MARCO MiniLM, or one of your own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tersely.errors import ArtifactError
from tersely.inputs import check_count
from tersely.rerank.inputs import check_ranked, format_passage
from tersely.runtime.cancellation import current_cancellation, current_time_limit
from tersely.runtime.paths import check_path
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.layout import batches
from tersely.tokens import replace_surrogates
from tersely.types import Document

BATCH_TOKENS = 1024
"""Largest number of tokens of one run, with padding, unless a single pair is longer."""
GRAPHS = ("onnx/model_quantized.onnx", "onnx/model.onnx", "model_quantized.onnx", "model.onnx")
"""Names of graphs, best first."""


class CrossEncoder:
    """A reranker in a folder with `tokenizer.json` and an ONNX graph for sequence classification.

    The graph takes `input_ids`, `attention_mask` and optionally `token_type_ids`. It returns logits of shape
    (B, 1), or (B, 2) for "not relevant" and "relevant".

    Args:
        folder: the folder, for example an export of Optimum. A quantized graph is preferred.
        max_length: the largest number of tokens of query and document together; longer documents are cut.
        threads: the largest number of threads of one call; None for every core this process may use.

    Raises:
        ArtifactError: the folder lacks a part, or a part is unusable.
        InvalidInputError: an argument cannot be used.
    """

    def __init__(self, folder: str | Path, *, max_length: int = 512, threads: int | None = None) -> None:
        self.path = check_path(folder, "The folder")
        max_length = check_count(max_length, "max_length", "tokens")
        thread_count = allowed_threads(threads)
        graph = next((self.path / name for name in GRAPHS if (self.path / name).is_file()), None)
        if graph is None:
            raise ArtifactError(f"{self.path} has none of {list(GRAPHS)}. Name the folder of an ONNX model.")
        try:
            tokenizer: Any = Tokenizer.from_file(str(self.path / "tokenizer.json"))
            tokenizer.no_padding()
            tokenizer.enable_truncation(max_length)  # cuts the longer text, which is the document
            self._tokenizer = tokenizer
            self._pad_id = _read_pad_id(self.path)
        except Exception as error:  # tokenizers raises bare Exception
            raise ArtifactError(f"{self.path} has no usable tokenizer.json ({error}).") from error
        self._session = EncoderSession(graph, 1)
        self._workers = Workers(thread_count)
        unknown = set(self._session.inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown:
            raise ArtifactError(
                f"{graph} needs the inputs {sorted(unknown)}, so it is not a cross-encoder of text pairs."
            )

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        """Return the probability in [0, 1] that each document is relevant: the sigmoid of its logit.

        Raises InvalidInputError unless the query is text and the documents are documents.
        """
        documents = check_ranked(query, documents)
        pairs = [
            (replace_surrogates(query), replace_surrogates(format_passage(document)))
            for document in documents
        ]
        encodings: list[Any] = self._tokenizer.encode_batch(pairs)

        cancellation, limit = current_cancellation(), current_time_limit()

        def run(rows: list[int]) -> NDArray[np.float64]:
            cancellation.check()
            limit.check()
            return self._logits([encodings[i] for i in rows])

        jobs = list(batches([len(e.ids) for e in encodings], BATCH_TOKENS))[::-1]
        scores = np.zeros(len(documents))
        for rows, logits in zip(jobs, self._workers.map(run, jobs), strict=True):
            scores[rows] = 1.0 / (1.0 + np.exp(-np.clip(logits, -60, 60)))
        return scores.tolist()

    def _logits(self, encodings: Sequence[Any]) -> NDArray[np.float64]:
        width = max(len(e.ids) for e in encodings)
        columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        inputs: dict[str, NDArray[np.int64]] = {}
        for name in self._session.inputs:
            fill = self._pad_id if name == "input_ids" else 0
            rows = np.full((len(encodings), width), fill, dtype=np.int64)
            for row, encoding in zip(rows, encodings, strict=True):
                row[: len(encoding.ids)] = getattr(encoding, columns[name])
            inputs[name] = rows
        (out,) = self._session.run(inputs, self._session.outputs[:1])
        logits = out.astype(np.float64).reshape(len(encodings), -1)
        if logits.shape[1] == 1:
            return logits[:, 0]
        if logits.shape[1] == 2:
            return logits[:, 1] - logits[:, 0]
        raise ArtifactError(
            f"{self.path} returns {logits.shape[1]} values for a pair, not one or two. Pass another model."
        )


def _read_pad_id(folder: Path) -> int:
    """Return the id of the padding token in the model's config.json, or 0 if it is not given there."""
    path = folder / "config.json"
    config = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
    return int(config.get("pad_token_id") or 0)
