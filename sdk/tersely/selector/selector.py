"""Scores every sentence of every document for one query: encoder, exact-match evidence, fusion.

tokenise once -> read the windows -> first stage -> (where the question seems to need another hop) read the
best documents again, together with the best sentence found -> second stage -> a probability per sentence
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tersely.errors import ArtifactError
from tersely.onnx.artifacts import Artifact
from tersely.onnx.session import EncoderSession
from tersely.selector.fusion import (
    Fusion,
    Request,
    SecondPass,
    best_sentences,
    first_features,
    query_features,
    second_features,
    sigmoid,
)
from tersely.selector.layout import (
    OUTPUT_NAMES,
    EncodedDocument,
    Ids,
    Layout,
    LayoutConfig,
    Window,
    batches,
    collate,
)
from tersely.selector.lexical import Floats, TermIndex, unique
from tersely.text.sentences import Unit

BATCH_TOKENS = 1024
"""Tokens a forward pass reads at once; small batches of equal length waste the least on padding."""

MAX_WINDOWS = 160
"""Windows the encoder reads for one query; of a longer input, those that match the query's terms best."""

LENGTH_PRICE = 0.5
"""Under a limit sentences are taken by probability per square root of tokens: the best compromise on held-out
questions between single answers (0) and many supporting sentences (1)."""

SECOND_WINDOWS = 8
"""Windows of the second pass."""


@dataclass(frozen=True, slots=True)
class ScoredInput:
    """One document to score: `units` are code-point ranges of `text`."""

    title: str | None
    text: str
    units: Sequence[Unit]


@dataclass(frozen=True, slots=True)
class DocumentScores:
    relevance: float
    """Probability in [0, 1] that the document holds something worth keeping."""
    scores: NDArray[np.float64]
    """Probability in [0, 1] that each unit is needed, shape (units,)."""


@dataclass(frozen=True, slots=True)
class _Logits:
    """What one pass over some windows gave; nan where nothing was read."""

    keep: Floats
    relevance: Floats


@dataclass(frozen=True, slots=True)
class Reading:
    """The first pass over a request, and what a second pass needs to go on."""

    request: Request
    encoded: Sequence[EncodedDocument]
    offsets: NDArray[np.int64]
    """First sentence of each document in the flat arrays, shape (documents + 1,)."""


class Selector:
    """A loaded artifact of kind "selector". Stateless between calls, so safe to share between threads."""

    length_price = LENGTH_PRICE

    def __init__(
        self,
        session: EncoderSession,
        layout: Layout,
        fusion: Fusion,
        idf: NDArray[np.float32],
        threshold: float,
        max_windows: int = MAX_WINDOWS,
    ) -> None:
        self.session = session
        self.layout = layout
        self.fusion = fusion
        self.idf = idf
        self.threshold = threshold
        self.max_windows = max_windows

    @classmethod
    def load(cls, artifact: Artifact, threads: int | None = None) -> Selector:
        """Raises ArtifactError when the artifact lacks a part or a part is unusable."""
        config = artifact.config
        try:
            layout = Layout(
                Tokenizer.from_file(str(artifact.tokenizer_path)), LayoutConfig.from_dict(config["layout"])
            )
            fusion = Fusion.load(artifact.path / "fusion.json")
            idf = np.load(artifact.path / "lexical.npz")["idf"].astype(np.float32)
            threshold = float(config["threshold"])
        except Exception as error:  # tokenizers raises bare Exception
            raise ArtifactError(
                f"{artifact.path} cannot be used ({error}): export or download it again"
            ) from error
        return cls(EncoderSession(artifact.model_path, threads), layout, fusion, idf, threshold)

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        """One DocumentScores per document, in the order given. Documents without units get relevance 0."""
        if not any(d.units for d in documents):
            return [DocumentScores(0.0, np.zeros(0)) for _ in documents]
        reading = self.read(query, documents)
        features = first_features(reading.request, self.idf)
        first = self.fusion.first(features)
        gate = self.fusion.openness(query_features(reading.request, first, self.idf))
        if not gate:
            return self._split(reading, sigmoid(first))
        second = self.read_again(reading, features, first)
        bridges = second_features(reading.request, first, self.idf, second)
        return self._split(
            reading, sigmoid(first + gate * self.fusion.bridge(np.hstack([features, bridges])))
        )

    def read(self, query: str, documents: Sequence[ScoredInput]) -> Reading:
        """The first pass: every window once."""
        query_ids, titles, sentences = self._tokenise(query, documents)
        encoded = _regroup(titles, sentences, documents)
        counts = [len(d.units) for d in documents]
        offsets = np.cumsum([0, *counts])
        windows = self._readable(self.layout.windows(query_ids, encoded), query_ids, sentences, offsets)
        logits = self._read(windows, offsets, len(documents))
        request = Request(
            query,
            query_ids,
            titles,
            sentences,
            texts=[d.text[u.start : u.end] for d in documents for u in d.units],
            document=np.repeat(np.arange(len(documents)), counts),
            keep=_fill(logits.keep),
            relevance=_fill(logits.relevance),
        )
        return Reading(request, encoded, offsets)

    def read_again(self, reading: Reading, features: Floats, first: Floats) -> SecondPass:
        """The second pass: the most promising other documents, with the first stage's best sentence in
        front."""
        request, encoded, offsets = reading.request, reading.encoded, reading.offsets
        bridge = best_sentences(first, 1)[0]
        home = int(request.document[bridge])
        hints = second_features(request, first, self.idf, None)
        promise = first + self.fusion.bridge(np.hstack([features, hints]))
        windows = self.layout.windows(
            request.query_ids,
            [e if i != home else EncodedDocument([], []) for i, e in enumerate(encoded)],
            evidence=[*request.title_ids[home], *request.sentence_ids[bridge]],
        )
        value = [max(promise[offsets[d] + s] for d, s in w.sentences) for w in windows]
        order = sorted(range(len(windows)), key=lambda i: (-value[i], i))[:SECOND_WINDOWS]
        logits = self._read([windows[i] for i in order], offsets, len(encoded))
        return SecondPass(logits.keep, logits.relevance)

    def _tokenise(self, query: str, documents: Sequence[ScoredInput]) -> tuple[Ids, list[Ids], list[Ids]]:
        texts = [query, *(d.title or "" for d in documents)]
        texts += [d.text[u.start : u.end] for d in documents for u in d.units]
        ids = self.layout.tokenize(texts)
        count = len(documents)
        return ids[0], ids[1 : count + 1], ids[count + 1 :]

    def _readable(
        self, windows: list[Window], query: Ids, sentences: list[Ids], offsets: NDArray[np.int64]
    ) -> list[Window]:
        """All windows, or of a very long input those whose sentences match the query's terms best."""
        if len(windows) <= self.max_windows:
            return windows
        match = TermIndex(sentences, self.idf).coverage(unique(query))
        value = [max(match[offsets[d] + s] for d, s in w.sentences) for w in windows]
        order = sorted(range(len(windows)), key=lambda i: (-value[i], i))[: self.max_windows]
        return [windows[i] for i in sorted(order)]

    def _read(self, windows: Sequence[Window], offsets: NDArray[np.int64], documents: int) -> _Logits:
        keep = np.full(int(offsets[-1]), np.nan)
        relevance = np.full(documents, np.nan)
        for batch in batches([len(w.input_ids) for w in windows], BATCH_TOKENS):
            chosen = [windows[i] for i in batch]
            inputs = collate(chosen, self.layout.config.pad_id)
            keep_logits, relevance_logits = self.session.run(dict(inputs), OUTPUT_NAMES)
            for row, window in enumerate(chosen):
                for column, (d, s) in enumerate(window.sentences):
                    place = offsets[d] + s
                    keep[place] = np.fmax(keep[place], keep_logits[row, column])
                for column, d in enumerate(window.documents):
                    relevance[d] = np.fmax(relevance[d], relevance_logits[row, column])
        return _Logits(keep, relevance)

    def _split(self, reading: Reading, scores: Floats) -> list[DocumentScores]:
        parts = np.split(scores, reading.offsets[1:-1])
        return [DocumentScores(float(part.max()) if len(part) else 0.0, part) for part in parts]


def _regroup(
    titles: Sequence[Ids], sentences: Sequence[Ids], documents: Sequence[ScoredInput]
) -> list[EncodedDocument]:
    out: list[EncodedDocument] = []
    start = 0
    for title, document in zip(titles, documents, strict=True):
        end = start + len(document.units)
        out.append(EncodedDocument(title, sentences[start:end]))
        start = end
    return out


def _fill(values: Floats) -> Floats:
    """Unread entries rank below everything that was read."""
    read = ~np.isnan(values)
    floor = values[read].min() - 1.0 if read.any() else 0.0
    return np.where(read, values, floor)
