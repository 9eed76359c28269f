"""Scores every sentence of every document for one query: encoder, exact-match evidence, fusion.

tokenise once -> read the windows -> first stage -> (where the question seems to need another hop) read the
best documents again, after each of the two best sentences -> second stage -> a probability per sentence
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tersely.errors import ArtifactError
from tersely.onnx.artifacts import Artifact
from tersely.selector.calibration import Calibration, read_calibration
from tersely.selector.evidence import (
    Evidence,
    Logits,
    bridge_features,
    first_features,
    hop_sentences,
    per_document_max,
    query_features,
    reread_features,
)
from tersely.selector.fusion import Fusion, sigmoid
from tersely.selector.layout import EncodedDocument, Ids, Layout, LayoutConfig, Window
from tersely.selector.lexical import Floats, share
from tersely.selector.reader import Reader, collect
from tersely.text.sentences import Unit

MAX_WINDOWS = 160
"""Windows the encoder reads for one query; of a longer input, those that match the query's terms best."""

LENGTH_PRICE = 0.5
"""Under a limit sentences are taken by probability per square root of tokens: the best compromise on held-out
questions between single answers (0) and many supporting sentences (1)."""

HOP_WINDOWS = 4
"""Windows of the second pass for each hop."""


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
class Reading:
    """The first pass over a request, and what a second pass needs to go on."""

    evidence: Evidence
    logits: Logits
    encoded: Sequence[EncodedDocument]
    offsets: NDArray[np.int64]
    """First sentence of each document in the flat arrays, shape (documents + 1,)."""


class Selector:
    """A loaded artifact of kind "selector". Stateless between calls, so safe to share between threads."""

    length_price = LENGTH_PRICE

    def __init__(
        self,
        reader: Reader,
        layout: Layout,
        fusion: Fusion,
        idf: NDArray[np.float32],
        threshold: float,
        calibration: Calibration | None = None,
        max_windows: int = MAX_WINDOWS,
    ) -> None:
        self.reader = reader
        self.layout = layout
        self.fusion = fusion
        self.idf = idf
        self.threshold = threshold
        self.calibration = calibration
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
            calibration = read_calibration(artifact.path)
        except Exception as error:  # tokenizers raises bare Exception
            raise ArtifactError(
                f"{artifact.path} cannot be used ({error}): export or download it again"
            ) from error
        reader = Reader.load(artifact, layout.config, threads)
        return cls(reader, layout, fusion, idf, threshold, calibration)

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        """One DocumentScores per document, in the order given. Documents without units get relevance 0."""
        if not any(d.units for d in documents):
            return [DocumentScores(0.0, np.zeros(0)) for _ in documents]
        reading = self.read(query, documents)
        features = first_features(reading.evidence, reading.logits)
        first = self.fusion.first(features)
        gate = self.fusion.openness(query_features(reading.evidence, reading.logits, first))
        if not gate:
            return self._split(reading, sigmoid(first))
        features = np.hstack([features, bridge_features(reading.evidence, first)])
        second = self.read_again(reading, features, first)
        bridges = self.fusion.bridge(
            np.hstack([features, reread_features(reading.evidence, reading.logits, second)])
        )
        return self._split(reading, sigmoid(first + gate * bridges))

    def read(self, query: str, documents: Sequence[ScoredInput]) -> Reading:
        """The first pass: every window once."""
        query_ids, titles, sentences = self._tokenise(query, documents)
        encoded = _regroup(titles, sentences, documents)
        counts = [len(d.units) for d in documents]
        offsets = np.cumsum([0, *counts])
        evidence = Evidence(
            query,
            query_ids,
            titles,
            sentences,
            texts=[d.text[u.start : u.end] for d in documents for u in d.units],
            document=np.repeat(np.arange(len(documents)), counts),
            idf=self.idf,
        )
        windows = self.layout.windows(query_ids, encoded)
        if len(windows) > self.max_windows:
            match = share(evidence.presence, evidence.weights)
            windows = [windows[i] for i in sorted(_best(windows, match, offsets, self.max_windows))]
        logits = collect(self.reader.read(windows), offsets, len(documents))
        return Reading(evidence, Logits(_fill(logits.keep), _fill(logits.relevance)), encoded, offsets)

    def read_again(self, reading: Reading, features: Floats, first: Floats) -> list[Logits]:
        """The second pass: from the best sentence of each of the best documents, the most promising others
        with that sentence in front.

        `features` are those of the first stage and the bridges.
        """
        evidence, encoded, offsets = reading.evidence, reading.encoded, reading.offsets
        unread = reread_features(evidence, reading.logits, ())
        promise = first + self.fusion.bridge(np.hstack([features, unread]))
        ranked = np.argsort(-per_document_max(promise, evidence.document, len(encoded)), kind="stable")
        hops: list[list[Window]] = []
        for sentence in hop_sentences(evidence, first):
            home = int(evidence.document[sentence])
            others = set([int(i) for i in ranked if i != home][:HOP_WINDOWS])
            windows = self.layout.windows(
                evidence.query_ids,
                [e if i in others else EncodedDocument([], []) for i, e in enumerate(encoded)],
                evidence=[*evidence.title_ids[home], *evidence.sentence_ids[sentence]],
            )
            hops.append([windows[i] for i in _best(windows, promise, offsets, HOP_WINDOWS)])
        verdicts = iter(self.reader.read([w for windows in hops for w in windows]))
        return [collect(list(islice(verdicts, len(ws))), offsets, len(encoded)) for ws in hops]

    def _tokenise(self, query: str, documents: Sequence[ScoredInput]) -> tuple[Ids, list[Ids], list[Ids]]:
        texts = [query, *(d.title or "" for d in documents)]
        texts += [d.text[u.start : u.end] for d in documents for u in d.units]
        ids = self.layout.tokenize(texts)
        count = len(documents)
        return ids[0], ids[1 : count + 1], ids[count + 1 :]

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


def _best(windows: Sequence[Window], values: Floats, offsets: NDArray[np.int64], count: int) -> list[int]:
    """Indices of the windows that hold the sentences of highest value, best first."""
    best = [max(values[offsets[d] + s] for d, s in w.sentences) for w in windows]
    return sorted(range(len(windows)), key=lambda i: (-best[i], i))[:count]


def _fill(values: Floats) -> Floats:
    """Unread entries rank below everything that was read."""
    read = ~np.isnan(values)
    floor = values[read].min() - 1.0 if read.any() else 0.0
    return np.where(read, values, floor)
