"""Scores every sentence of every document for one query: encoder, exact-match evidence, fusion.

tokenise once -> read the windows -> first stage -> (where the question seems to need another hop) of a long
input more windows, then the best documents again, after each of the two best sentences -> second stage -> a
probability per sentence
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tersely.errors import ArtifactError
from tersely.runtime.artifacts import Artifact
from tersely.selector.calibration import Calibration, read_calibration
from tersely.selector.encoder import Reader, Verdict, collect
from tersely.selector.features import (
    Evidence,
    Logits,
    bridge_features,
    first_features,
    hop_sentences,
    linked,
    per_document_max,
    query_features,
    reread_features,
)
from tersely.selector.fusion import Fusion, sigmoid
from tersely.selector.layout import EncodedDocument, Ids, Layout, LayoutConfig, Window
from tersely.selector.matching import Floats, share
from tersely.selector.protocol import DocumentScores, ScoredInput

MAX_TOKENS = 16_384
"""Tokens the encoder reads for one query, 64 full windows; of a longer input, the windows that match the
query's terms best."""

MORE_TOKENS = 4_096
"""Tokens of a longer input that it reads after these, where the question seems to need another hop: windows
that share the rarest terms with what it has found."""

LENGTH_PRICE = 0.5
"""Under a limit sentences are taken by probability per square root of tokens: the best compromise on held-out
questions between single answers (0) and many supporting sentences (1)."""

HOP_WINDOWS = 4
"""Windows of the second pass for each hop."""

NEIGHBOUR = 0.3
"""Under a limit, how much of a sentence's probability goes over to the sentences beside it: a reader answers
more from what stands together (training/LOG.md). Questions that need another hop need the room for that."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The first pass over a request, and what a second pass needs to go on."""

    evidence: Evidence
    logits: Logits
    encoded: Sequence[EncodedDocument]
    offsets: NDArray[np.int64]
    """First sentence of each document in the flat arrays, shape (documents + 1,)."""
    read: NDArray[np.bool_]
    """(sentences,)"""
    verdicts: Sequence[Verdict]
    unread: Sequence[Window]


@dataclass(frozen=True, slots=True)
class FirstStage:
    """What the first stage makes of a reading."""

    features: Floats
    logits: Floats
    """(sentences,)"""
    gate: float
    """How much the question seems to need another hop, in [0, 1]."""


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
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.reader = reader
        self.layout = layout
        self.fusion = fusion
        self.idf = idf
        self.threshold = threshold
        self.calibration = calibration
        self.max_tokens = max_tokens

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
            return [DocumentScores.unscored(0) for _ in documents]
        reading = self.read(query, documents)
        first = self._first_stage(reading)
        if first.gate and reading.unread:
            reading = self.read_more(reading, first.logits)
            first = self._first_stage(reading)
        if not first.gate:
            return self._split(reading, sigmoid(first.logits), NEIGHBOUR)
        features = np.hstack([first.features, bridge_features(reading.evidence, first.logits)])
        second = self.read_again(reading, features, first.logits)
        bridges = self.fusion.bridge(
            np.hstack([features, reread_features(reading.evidence, reading.logits, second)])
        )
        return self._split(
            reading, sigmoid(first.logits + first.gate * bridges), NEIGHBOUR * (1.0 - first.gate)
        )

    def _first_stage(self, reading: Reading) -> FirstStage:
        features = first_features(reading.evidence, reading.logits)
        logits = self.fusion.first(features)
        query = query_features(reading.evidence, reading.logits, logits)
        return FirstStage(features, logits, self.fusion.openness(query))

    def read(self, query: str, documents: Sequence[ScoredInput]) -> Reading:
        """The first pass: every window once, or as many of the most promising as have `max_tokens`."""
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
        unread: list[Window] = []
        if sum(len(w.input_ids) for w in windows) > self.max_tokens:
            match = share(evidence.presence, evidence.weights)
            windows, unread = _divide(windows, match, offsets, self.max_tokens)
        return _reading(evidence, encoded, offsets, self.reader.read(windows), unread)

    def read_more(self, reading: Reading, first: Floats) -> Reading:
        """The first pass goes on with the unread windows that lead on from its best sentences."""
        chosen, unread = _divide(
            reading.unread, linked(reading.evidence, first), reading.offsets, MORE_TOKENS
        )
        verdicts = [*reading.verdicts, *self.reader.read(chosen)]
        return _reading(reading.evidence, reading.encoded, reading.offsets, verdicts, unread)

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

    def _split(self, reading: Reading, scores: Floats, neighbour: float) -> list[DocumentScores]:
        out: list[DocumentScores] = []
        cuts = reading.offsets[1:-1]
        for own, read in zip(np.split(scores, cuts), np.split(reading.read, cuts), strict=True):
            beside = np.pad(own, 1)
            beside = np.maximum(beside[:-2], beside[2:])
            worth = own + neighbour * beside * (1.0 - own)
            out.append(
                DocumentScores(float(own.max(initial=0.0)), own.tolist(), worth.tolist(), read.tolist())
            )
        return out


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


def _reading(
    evidence: Evidence,
    encoded: Sequence[EncodedDocument],
    offsets: NDArray[np.int64],
    verdicts: Sequence[Verdict],
    unread: Sequence[Window],
) -> Reading:
    logits = collect(verdicts, offsets, len(encoded))
    read = ~np.isnan(logits.keep)
    logits = Logits(_fill(logits.keep), _fill(logits.relevance))
    return Reading(evidence, logits, encoded, offsets, read, verdicts, unread)


def _divide(
    windows: Sequence[Window], values: Floats, offsets: NDArray[np.int64], tokens: int
) -> tuple[list[Window], list[Window]]:
    """As many of the windows as have `tokens` tokens, those that hold the sentences of highest value, and the
    others; both in their order."""
    ranked = _best(windows, values, offsets, len(windows))
    ends = np.cumsum([len(windows[i].input_ids) for i in ranked])
    best = set(ranked[: int(np.searchsorted(ends, tokens, side="right"))])
    return [w for i, w in enumerate(windows) if i in best], [
        w for i, w in enumerate(windows) if i not in best
    ]


def _best(windows: Sequence[Window], values: Floats, offsets: NDArray[np.int64], count: int) -> list[int]:
    """Indices of the windows that hold the sentences of highest value, best first."""
    best = [max(values[offsets[d] + s] for d, s in w.sentences) for w in windows]
    return sorted(range(len(windows)), key=lambda i: (-best[i], i))[:count]


def _fill(values: Floats) -> Floats:
    """Unread entries rank below everything that was read."""
    read = ~np.isnan(values)
    floor = values[read].min() - 1.0 if read.any() else 0.0
    return np.where(read, values, floor)
