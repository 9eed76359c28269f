"""Score every sentence of every document for one query.

    tokenise -> first pass of the encoder -> fusion's first stage -> score

If the question seems to need another hop, the gate opens. More windows of a long input are read. A second
pass searches for paths of two sentences: it rereads the most promising windows, each after one of the best
sentences (the evidence). The second stage then compares the best sentences of all documents.

A question in a script that the vocabulary does not know is matched by characters (`grams`) instead: the
encoder would read letters without meaning. If the vocabulary breaks many words of a question, both count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tersely.errors import ArtifactError
from tersely.prepared import Preparation, digest
from tersely.runtime.artifacts import Artifact
from tersely.runtime.cancellation import current_cancellation, current_time_limit
from tersely.score.answerable import Answerability, read_answerability
from tersely.score.calibration import Calibration, read_calibration
from tersely.score.echo import HELD_BACK, find_held_back, find_held_back_by_words
from tersely.score.encoder import Encoder, WindowLogits, merge_logits
from tersely.score.features import (
    Logits,
    Matches,
    bridge_weights,
    first_features,
    query_features,
)
from tersely.score.fusion import ATTENTION, LAYERS, LEARNED_THRESHOLD, Fusion, sigmoid
from tersely.score.grams import gram_logits, weigh_characters
from tersely.score.hops import Hop, SecondStage, search_paths
from tersely.score.layout import EncodedDocument, Layout, Window, tokenize_request
from tersely.score.matching import Floats, best_beside
from tersely.score.proof import check_parts
from tersely.score.protocol import DocumentScores, Judgement, ScoredInput
from tersely.score.sieve import Sieve, best_values, divide_windows
from tersely.score.vectors import PROJECTION, Embedder, pack

MAX_TOKENS = 16_384
"""Most tokens that the encoder reads in the first pass: 64 full windows. Of a longer input it reads the
windows that match the query's terms best."""

MORE_TOKENS = 4_096
"""Further tokens of a longer input if the question seems to need another hop: windows that share the rarest
terms with the best sentences so far."""

LENGTH_PRICE = 0.5
"""Under a limit, sentences are taken by score per square root of tokens. On held-out questions this was the
best compromise between single answers (0) and many supporting sentences (1)."""

NEIGHBOUR = 0.3
"""Under a limit, the share of a sentence's score that its neighbours gain: a reader answers more
questions from adjacent sentences (training/LOG.md). An open gate lowers it, because hops need the room."""


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The encoder's logits, and what it takes to read more."""

    matches: Matches
    logits: Logits
    encoded: Sequence[EncodedDocument]
    offsets: NDArray[np.int64]
    """First sentence of each document in the flat arrays, shape (documents + 1,)."""
    read: NDArray[np.bool_]
    """Whether the encoder has read each sentence, shape (sentences,)."""
    window_logits: Sequence[WindowLogits]
    unread: Sequence[Window]
    sieve: Sieve | None = None


@dataclass(frozen=True, slots=True)
class FirstStage:
    """Features and logits of fusion's first stage."""

    features: Floats
    logits: Floats
    """(sentences,)"""
    gate: float
    """How far the gate is open: whether the question seems to need another hop, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The model's logits for a request, after as many passes as it takes."""

    first: FirstPass
    first_logits: Floats
    """(sentences,) of fusion's first stage."""
    logits: Floats
    """(sentences,)"""
    neighbour: float
    """Share of a score that adjacent sentences gain."""


class Selector:
    """A loaded artifact of kind "selector". Stateless between calls, so safe to share between threads."""

    length_price = LENGTH_PRICE

    def __init__(
        self,
        encoder: Encoder,
        layout: Layout,
        fusion: Fusion,
        idf: NDArray[np.float32],
        threshold: float,
        calibration: Calibration | None = None,
        max_tokens: int = MAX_TOKENS,
        preparation_name: str = "",
        embedder: Embedder | None = None,
        answerability: Answerability | None = None,
    ) -> None:
        self.encoder = encoder
        self.layout = layout
        self.fusion = fusion
        self.idf = idf
        self.threshold = threshold
        self.calibration = calibration
        self.max_tokens = max_tokens
        self.preparation_name = preparation_name
        self.embedder = embedder
        self.answerability = answerability

    @classmethod
    def load(cls, artifact: Artifact, threads: int | None = None) -> Selector:
        """Load a selector. Raises ArtifactError if a part is missing or fails on a small built-in request."""
        layout = Layout.load(artifact)
        with artifact.usable():
            fusion, threshold = _load_decision(artifact)
            with np.load(artifact.file("lexical.npz")) as lexical:
                idf = lexical["idf"].astype(np.float32)
            calibration, answerability = read_calibration(artifact), read_answerability(artifact)
            encoder = Encoder.load(artifact, layout.config, threads)
            check_parts(layout, encoder, fusion, idf, threshold)
        embedder = Embedder(artifact, threads, layout) if artifact.lists(PROJECTION) else None
        name = embedder.name if embedder else f"{artifact.name}-{artifact.hash_of('tokenizer.json')}"
        return cls(
            encoder,
            layout,
            fusion,
            idf,
            threshold,
            calibration,
            preparation_name=name,
            embedder=embedder,
            answerability=answerability,
        )

    def prepare(self, documents: Sequence[ScoredInput]) -> list[Preparation]:
        """Return the token ids of each document, and a vector of each of its units."""
        encoded = tokenize_request(self.layout, "", documents).group_by_document(documents)
        return [
            Preparation(
                self.preparation_name,
                digest(document.text, document.title),
                tuple(document.units),
                tuple(own.title),
                tuple(map(tuple, own.sentences)),
                pack(self.embedder(own.sentences)) if self.embedder and own.sentences else b"",
            )
            for document, own in zip(documents, encoded, strict=True)
        ]

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        """Return one DocumentScores per document, in the order given. Documents without units get relevance
        0.

        If the time is up, the scores come from what was read by then. Raises TimeIsUpError if that is
        nothing.
        """
        return self.judge(query, documents)[0]

    def judge(
        self, query: str, documents: Sequence[ScoredInput]
    ) -> tuple[list[DocumentScores], Judgement | None]:
        """Return the scores, and the judgement; None without any text, or if the model has learned none."""
        if not any(d.units for d in documents):
            return [DocumentScores(0.0, ()) for _ in documents], None
        weight = weigh_characters(query, self.layout.tokenizer)
        if weight == 0.0:
            return self._score_by_model(query, documents, None, 0.0)
        # Vectors of words that the vocabulary does not know cannot rule anything out.
        documents = [replace(document, preparation=None) for document in documents]
        current_cancellation().check()
        current_time_limit().check()
        titles = [d.title or "" for d in documents]
        texts, document = _flatten(documents)
        logits = gram_logits(query, titles, texts, document, self.threshold)
        if weight == 1.0:
            offsets = np.cumsum([0, *(len(d.units) for d in documents)])
            read = np.ones(len(logits), dtype=np.bool_)
            held_back = find_held_back_by_words(query, texts, logits, documents)
            unknown = None if self.answerability is None else Judgement(None, None)
            return _split(offsets, read, logits, NEIGHBOUR, held_back), unknown
        return self._score_by_model(query, documents, logits, weight)

    def _score_by_model(
        self, query: str, documents: Sequence[ScoredInput], grams: Floats | None, weight: float
    ) -> tuple[list[DocumentScores], Judgement | None]:
        """Return the model's scores and judgement; its logits are mixed with those by characters, if any, by
        `weight`."""
        reading = self.read(query, documents)
        first, logits = reading.first, reading.logits
        logits = logits if grams is None else (1.0 - weight) * logits + weight * grams
        held_back = find_held_back(first.matches, logits, documents)
        scores = _split(first.offsets, first.read, logits, reading.neighbour, held_back)
        if self.answerability is None:
            return scores, None
        return scores, self.answerability.judge(first.matches, first.logits, reading.first_logits)

    def read(self, query: str, documents: Sequence[ScoredInput]) -> Reading:
        """Read the documents in as many passes as the question needs."""
        limit = current_time_limit()
        done = self.first_pass(query, documents)
        stage = self.first_stage(done)
        if stage.gate and done.unread and not limit.is_up():
            done = self.extend_first_pass(done, stage.logits)
            stage = self.first_stage(done)
        if not stage.gate or limit.is_up():
            return Reading(done, stage.logits, stage.logits, NEIGHBOUR)
        second = SecondStage.make(done.matches, done.logits, stage.features, stage.logits)
        hops = self.second_pass(done, second)
        if limit.was_reached:  # what was read again is incomplete
            return Reading(done, stage.logits, stage.logits, NEIGHBOUR)
        logits = stage.logits + stage.gate * self.fusion.attend(second, hops)
        return Reading(done, stage.logits, logits, NEIGHBOUR * (1.0 - stage.gate))

    def first_pass(self, query: str, documents: Sequence[ScoredInput]) -> FirstPass:
        """Read every window once, or the best-matching ones up to `max_tokens`."""
        ids = tokenize_request(self.layout, query, documents)
        encoded = ids.group_by_document(documents)
        counts = [len(d.units) for d in documents]
        offsets = np.cumsum([0, *counts])
        matches = Matches(
            query,
            *ids,
            texts=[d.text[u.start : u.end] for d in documents for u in d.units],
            document=np.repeat(np.arange(len(documents)), counts),
            idf=self.idf,
        )
        windows = self.layout.windows(ids.query, encoded)
        unread: list[Window] = []
        sieve = self.embedder and Sieve.make(self.embedder, documents, matches)
        if sieve is not None:
            windows, unread = sieve.divide(windows, offsets)
        if sum(len(w.input_ids) for w in windows) > self.max_tokens:
            coverage = matches.presence.share(matches.weights)
            windows, more = divide_windows(windows, coverage, offsets, self.max_tokens)
            unread = [*unread, *more]
        promise = None
        limit = current_time_limit()
        if limit.seconds is not None:
            limit.check()
            promise = best_values(windows, matches.presence.share(matches.weights), offsets)
        window_logits = self.encoder.encode(windows, promise)
        if not window_logits:
            limit.check()
        return replace(_merge(matches, encoded, offsets, window_logits, unread), sieve=sieve)

    def extend_first_pass(self, done: FirstPass, first: Floats) -> FirstPass:
        """Read further windows that no sieve rules out: those that share the rarest terms with the best
        sentences so far, up to MORE_TOKENS."""
        possible, ruled_out = done.unread, list[Window]()
        if done.sieve is not None:
            possible, ruled_out = done.sieve.divide_again(possible, done.offsets, done.matches, first)
        weights = bridge_weights(done.matches, first)
        chosen, unread = divide_windows(possible, weights, done.offsets, MORE_TOKENS)
        window_logits = [*done.window_logits, *self.encoder.encode(chosen)]
        return _merge(done.matches, done.encoded, done.offsets, window_logits, [*ruled_out, *unread])

    def second_pass(self, done: FirstPass, second: SecondStage) -> list[Hop]:
        """Reread the windows that promise the best paths."""
        promise = second.first + self.fusion.attend(second, ())
        return search_paths(
            self.layout, self.encoder, done.matches, done.encoded, done.offsets, second.first, promise
        )

    def first_stage(self, done: FirstPass) -> FirstStage:
        """Apply the first stage of the fusion, and its gate."""
        features = first_features(done.matches, done.logits)
        logits = self.fusion.first(features)
        query = query_features(done.matches, done.logits, logits)
        return FirstStage(features, logits, self.fusion.gate_value(query))


def _load_decision(artifact: Artifact) -> tuple[Fusion, float]:
    """Load the fusion that the manifest names, and the lowest score at which a sentence is kept."""
    decision = artifact.manifest.get("decision", "fitted")
    if decision == "learned":
        return Fusion.keep_alone(), LEARNED_THRESHOLD
    if decision == "fitted":
        attention = artifact.file(ATTENTION) if artifact.lists(ATTENTION) else None
        fusion = Fusion.load(artifact.file(LAYERS), attention)
        return fusion, float(artifact.config["threshold"])
    raise ArtifactError(
        f"{artifact.path} decides by {decision!r}, which this tersely does not know. Upgrade tersely."
    )


def _merge(
    matches: Matches,
    encoded: Sequence[EncodedDocument],
    offsets: NDArray[np.int64],
    window_logits: Sequence[WindowLogits],
    unread: Sequence[Window],
) -> FirstPass:
    logits = merge_logits(window_logits, offsets, len(encoded))
    read = ~np.isnan(logits.keep)
    logits = Logits(_fill(logits.keep), _fill(logits.relevance))
    return FirstPass(matches, logits, encoded, offsets, read, window_logits, unread)


def _flatten(documents: Sequence[ScoredInput]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the text of every unit, and the number of its document."""
    texts = [d.text[u.start : u.end] for d in documents for u in d.units]
    return texts, np.repeat(np.arange(len(documents)), [len(d.units) for d in documents])


def _split(
    offsets: NDArray[np.int64],
    was_read: NDArray[np.bool_],
    logits: Floats,
    neighbour: float,
    held_back: NDArray[np.bool_],
) -> list[DocumentScores]:
    """Return flat logits as scores by document. Adjacent sentences gain the share `neighbour` of a score."""
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    scores = sigmoid(logits)
    packing = scores + neighbour * best_beside(scores, document, 0.0) * (1.0 - scores)
    share = np.where(held_back, HELD_BACK, 1.0)
    flat = (scores, share * scores, share * packing, was_read, held_back)
    return [
        DocumentScores(float(full.max(initial=0.0)), own, best, read, held)
        for full, own, best, read, held in zip(*(np.split(x, offsets[1:-1]) for x in flat), strict=True)
    ]


def _fill(values: Floats) -> Floats:
    """Replace unread entries (nan) with a value below everything that was read."""
    read = ~np.isnan(values)
    floor = values[read].min() - 1.0 if read.any() else 0.0
    return np.where(read, values, floor)
