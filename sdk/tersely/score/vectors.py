"""Vectors of texts and of sentences in documents, and how they are stored as bytes.

They come from a second graph, a published sentence encoder. The encoder that reads documents together with
the question gives worse vectors, except for questions like the ones that it was trained on (training/LOG.md).
The vectors of a document do not depend on the question.

A sentence's vector is the mean of its tokens' states in a window that begins with the title. So the vector
also reflects which thing a pronoun of the sentence refers to (late chunking: Günther et al., 2024,
arXiv:2409.04701).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tersely.errors import ArtifactError
from tersely.runtime.artifacts import Artifact
from tersely.runtime.cancellation import current_cancellation, current_time_limit
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.layout import EncodedDocument, Ids, Layout

GRAPH = "onnx/sentences_quantized.onnx"
_INPUTS, _STATES = ("input_ids", "attention_mask"), "states"
MAX_PASSAGE_TOKENS = 256
"""Number of tokens that the graph reads at once, special tokens included."""
TIME_SHARE = 0.5
"""Share of the remaining time that vectors may take. The rest is for reading with the question."""
_TEST_TEXT = "The bridge was built in 1861."

_EDGES, _LEVELS = (-0.98, 0.0, 0.98), (-1.51, -0.453, 0.453, 1.51)
"""Edges and values of the four levels of a stored number, in standard deviations. They lose the least of a
normally distributed number (Max, 1960, doi:10.1109/TIT.1960.1057548)."""
_PER_BYTE = 4
_SHIFTS = np.arange(0, 8, 2, dtype=np.uint8)

Vectors = NDArray[np.float32]


class Passage(NamedTuple):
    """Consecutive sentences of one document that the graph reads at once, after the title."""

    ids: Ids
    """All tokens, with the special ones."""
    spans: list[tuple[int, int, int]]
    """(sentence, start, end) among the tokens, for each sentence or each part of a long sentence."""


class Embedder:
    """An embedder of texts and documents, given as token ids. Its vectors have length 1.

    The graph runs once for each passage. In a batch, a vector would depend on the other passages, because the
    int8 graph scales activations over the whole batch.

    Args:
        layout: the layout of the artifact, if it is already loaded.

    Raises:
        ArtifactError: the artifact has no graph for sentences, or one that fails on a small text.
    """

    def __init__(self, artifact: Artifact, threads: int | None = None, layout: Layout | None = None) -> None:
        if not artifact.lists(GRAPH):
            raise ArtifactError(f"{artifact.path} has no {GRAPH}. Export the model again.")
        self.layout = layout or Layout.load(artifact)
        self._max_tokens = min(MAX_PASSAGE_TOKENS, self.layout.config.max_length)
        self._workers = Workers(allowed_threads(threads))
        with artifact.translate_errors():
            self._session = EncoderSession(artifact.file(GRAPH), 1)
            vectors = self(self.layout.tokenize([_TEST_TEXT]))
            if not np.isfinite(vectors).all():
                raise ValueError(f"{GRAPH} gives vectors that are not numbers")
        self.dimension = int(vectors.shape[1])
        self.name = f"{artifact.name}-{artifact.hash_of(GRAPH, 'tokenizer.json')}"
        """Name of the model, with a checksum of the files that vectors depend on."""

    def __call__(self, texts: Sequence[Ids]) -> Vectors:
        """Return the vector of each text's first window, shape (texts, dimension)."""
        rows = self._workers.map(lambda text: self._run(self._frame(text)).mean(axis=0), texts)
        return normalise(np.array(rows, np.float32).reshape(len(rows), -1 if rows else self.dimension))

    def embed_sentences(self, documents: Sequence[EncodedDocument]) -> list[Vectors]:
        """Return the vectors of each document's sentences, shape (sentences, dimension).

        A vector is nan if the sentence was not read within TIME_SHARE of the time left to the request. Raises
        WorkCancelledError once the request is cancelled.
        """
        passages = [
            (at, passage) for at, document in enumerate(documents) for passage in self.divide(document)
        ]
        # Read these here, because the workers do not have the context of this thread.
        cancellation, limit = current_cancellation(), current_time_limit()
        enough = (1.0 - TIME_SHARE) * limit.remaining

        def run(passage: Passage) -> Vectors | None:
            cancellation.check()
            if limit.seconds is not None and limit.remaining <= enough:
                return None
            states = self._run(passage.ids)
            return np.stack([states[start:end].sum(axis=0) for _, start, end in passage.spans])

        sums = [np.zeros((len(d.sentences), self.dimension), np.float32) for d in documents]
        results = self._workers.map(run, [passage for _, passage in passages])
        for (at, passage), vectors in zip(passages, results, strict=True):
            if vectors is not None:
                np.add.at(sums[at], [sentence for sentence, _, _ in passage.spans], vectors)
        return [normalise(rows) for rows in sums]

    def divide(self, document: EncodedDocument) -> list[Passage]:
        """Return the passages of a document. Together they hold every token of every sentence."""
        config = self.layout.config
        title = [config.cls_id, *document.title[: config.title_length]]
        passages: list[Passage] = []
        current = Passage(list(title), [])
        for number, sentence in enumerate(document.sentences):
            start = 0
            while start < len(sentence):
                room = self._max_tokens - 1 - len(current.ids)
                if len(sentence) - start > room and current.spans:
                    passages.append(current)
                    current = Passage(list(title), [])
                    continue
                piece = sentence[start : start + room]
                current.spans.append((number, len(current.ids), len(current.ids) + len(piece)))
                current.ids.extend(piece)
                start += len(piece)
        passages.append(current)
        for passage in passages:
            passage.ids.append(config.sep_id)
        return [passage for passage in passages if passage.spans]

    def _frame(self, text: Sequence[int]) -> Ids:
        """Return the ids of a text's first window, with the special tokens."""
        config = self.layout.config
        return [config.cls_id, *text[: self._max_tokens - 2], config.sep_id]

    def _run(self, ids: Ids) -> Vectors:
        """Return the states of the tokens, shape (tokens, dimension)."""
        tokens = np.array([ids], np.int64)
        feed = dict(zip(_INPUTS, (tokens, np.ones_like(tokens)), strict=True))
        return self._session.run(feed, [_STATES])[0][0]


def normalise(rows: Vectors) -> Vectors:
    """Scale each row to length 1; nan for rows of zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.full_like(rows, np.nan), where=lengths > 0)


def pack(vectors: Vectors) -> bytes:
    """Pack vectors of length 1, or of zeros: two bits for each number. Four must divide their dimension."""
    scaled: Vectors = vectors * np.float32(vectors.shape[1] ** 0.5)
    levels = np.searchsorted(np.array(_EDGES, np.float32), scaled, side="right").astype(np.uint8, copy=False)
    levels[~vectors.any(axis=1)] = 0  # the lowest level everywhere, which no vector of a text has
    groups = levels.reshape(len(levels), vectors.shape[1] // _PER_BYTE, _PER_BYTE) << _SHIFTS
    return np.bitwise_or.reduce(groups, axis=2).tobytes()


def unpack(stored: bytes, dimension: int) -> Vectors:
    """Return vectors that `pack` packed, rounded but of length 1, shape (texts, dimension); nan for zeros.

    Raises ValueError for bytes that are not vectors of this dimension.
    """
    packed = np.frombuffer(stored, np.uint8).reshape(-1, dimension // _PER_BYTE)
    levels = (packed[:, :, None] >> _SHIFTS & 3).reshape(-1, dimension)
    vectors = normalise(np.array(_LEVELS, np.float32)[levels])
    vectors[~packed.any(axis=1)] = np.nan
    return vectors
