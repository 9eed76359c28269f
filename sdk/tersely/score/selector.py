"""Score every sentence of every document for one query.

    tokenise -> vectors -> first pass of the encoder -> fusion's first stage -> score

A vector for each sentence rules out windows that the encoder need not read. Its cosine with the question is a
feature of the fusion.

If the question seems to need another hop (a second document that the first one names), the gate opens. The
encoder then reads more windows, if any are left. A second pass searches for paths of two sentences: it
rereads the most promising windows, each with one of the best sentences in front. Finally the fusion's second
stage compares the best sentences of all documents.

A question in a script that the vocabulary does not know is matched by characters (`grams`), because the
encoder would read letters without meaning. If the vocabulary splits many words of a question into
several tokens, the score combines the encoder's logits with the matches by characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tersely.errors import ArtifactError
from tersely.prepared import Preparation, compute_digest
from tersely.runtime.artifacts import Artifact
from tersely.runtime.cancellation import check_cancelled, current_time_limit
from tersely.score.answerable import Answerability, read_answerability
from tersely.score.calibration import Calibration, read_calibration
from tersely.score.echo import HELD_BACK_SHARE, find_held_back, find_held_back_by_words
from tersely.score.encoder import Encoder
from tersely.score.features import (
    Matches,
    bridge_weights,
    first_features,
    query_features,
)
from tersely.score.fusion import ATTENTION_FILE, LAYERS_FILE, LEARNED_THRESHOLD, Fusion, sigmoid
from tersely.score.grams import gram_logits, weigh_characters
from tersely.score.hops import Hop, SecondStage, search_paths
from tersely.score.layout import Layout, Window, tokenize_request
from tersely.score.matching import Floats, best_beside
from tersely.score.protocol import DocumentScores, Judgement, ScoredInput
from tersely.score.reading import FirstPass, FirstStage, Reading, merge_pass
from tersely.score.self_test import run_self_test
from tersely.score.sieve import (
    Sieve,
    best_values,
    complete_vectors,
    divide_windows,
    limit_windows,
    read_vectors,
)
from tersely.score.vectors import GRAPH, Embedder, pack

MAX_TOKENS = 16_384
"""Largest number of tokens that the encoder reads in the first pass: 64 windows of 256 tokens. If the input
is longer, it reads the windows that match the words of the query best."""

MORE_TOKENS = 4_096
"""Largest number of further tokens that the encoder reads if the question seems to need another hop. It reads
the windows that share the rarest words with the best sentences so far."""

LENGTH_PRICE = 0.5
"""Weight of the length under a limit: sentences are taken by score / tokens ** LENGTH_PRICE. 0 is best for
questions with a single answer sentence, and 1 for many supporting sentences. 0.5 is a compromise: see
"Filling a limit" in training/LOG.md."""

NEIGHBOUR_SHARE = 0.3
"""Share that a sentence gains from its better neighbour. Under a limit, its score s becomes
s + NEIGHBOUR_SHARE * n * (1 - s), where n is the higher score of its two neighbours. A language model answers
more questions from adjacent sentences: see "What a reader makes of the kept sentences" in training/LOG.md. An
open gate lowers this share, because hops need the room."""


@dataclass(eq=False)
class Selector:
    """A loaded model of kind "selector". Threads may share it, because it has no state between calls."""

    length_price = LENGTH_PRICE

    encoder: Encoder
    layout: Layout
    fusion: Fusion
    idf: NDArray[np.float32]
    """(vocabulary,) inverse document frequencies."""
    threshold: float
    calibration: Calibration | None = None
    max_tokens: int = MAX_TOKENS
    preparation_name: str = ""
    """Name of the model, with a checksum of all that preparations depend on."""
    embedder: Embedder | None = None
    """The graph that makes vectors of sentences; None for a model without it."""
    answerability: Answerability | None = None

    @classmethod
    def load(cls, artifact: Artifact, threads: int | None = None) -> Selector:
        """Load a selector. Raises ArtifactError if a part is missing or fails on a small built-in request."""
        layout = Layout.load(artifact)
        with artifact.translate_errors():
            fusion, threshold = _load_decision(artifact)
            with np.load(artifact.file("lexical.npz")) as lexical:
                idf = lexical["idf"].astype(np.float32)
            calibration, answerability = read_calibration(artifact), read_answerability(artifact)
            encoder = Encoder.load(artifact, layout.config, threads)
            run_self_test(layout, encoder, fusion, idf, threshold)
        embedder = Embedder(artifact, threads, layout) if artifact.lists(GRAPH) else None
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
        vectors = [b""] * len(encoded)
        if self.embedder is not None:
            vectors = [pack(np.nan_to_num(rows)) for rows in self.embedder.embed_sentences(encoded)]
        return [
            Preparation(
                self.preparation_name,
                compute_digest(document.text, document.title),
                tuple(document.units),
                tuple(ids.title),
                tuple(map(tuple, ids.sentences)),
                packed,
            )
            for document, ids, packed in zip(documents, encoded, vectors, strict=True)
        ]

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        """Return one DocumentScores per document, in order. A document without units has relevance 0.

        If the time is up, only the sentences that were read count. Raises TimeIsUpError if nothing was read.
        """
        return self.judge(query, documents)[0]

    def judge(
        self, query: str, documents: Sequence[ScoredInput]
    ) -> tuple[list[DocumentScores], Judgement | None]:
        """Return the scores and the judgement.

        The judgement is None if no document has text, or if the model has no `answerability`. For a query in
        an unknown script, the values of the judgement are None.
        """
        if not any(d.units for d in documents):
            return [DocumentScores(0.0, ()) for _ in documents], None
        weight = weigh_characters(query, self.layout.tokenizer)
        if weight == 0.0:
            return self._score_by_model(query, documents, None, 0.0)
        check_cancelled()
        current_time_limit().check()
        titles = [d.title or "" for d in documents]
        texts = [d.text[u.start : u.end] for d in documents for u in d.units]
        document = np.repeat(np.arange(len(documents)), [len(d.units) for d in documents])
        logits = gram_logits(query, titles, texts, document, self.threshold)
        if weight == 1.0:
            offsets = np.cumsum([0, *(len(d.units) for d in documents)])
            read = np.ones(len(logits), dtype=np.bool_)
            held_back = find_held_back_by_words(query, texts, logits, documents)
            unknown = None if self.answerability is None else Judgement(None, None)
            return _split_by_document(offsets, read, logits, NEIGHBOUR_SHARE, held_back), unknown
        return self._score_by_model(query, documents, logits, weight)

    def _score_by_model(
        self, query: str, documents: Sequence[ScoredInput], grams: Floats | None, weight: float
    ) -> tuple[list[DocumentScores], Judgement | None]:
        """Return the model's scores and judgement; `weight` is the share of `grams` in the logits."""
        # If the vocabulary does not know the words, their vectors must not rule out any window.
        reading = self.read(query, documents, ignore_vectors=grams is not None)
        first_pass, logits = reading.first_pass, reading.logits
        matches = first_pass.matches
        logits = logits if grams is None else (1.0 - weight) * logits + weight * grams
        held_back = find_held_back(matches, logits, documents)
        scores = _split_by_document(
            first_pass.offsets, first_pass.read, logits, reading.neighbour_share, held_back
        )
        if self.answerability is None:
            return scores, None
        return scores, self.answerability.judge(
            matches, first_pass.logits, first_pass.near, reading.first_logits
        )

    def read(self, query: str, documents: Sequence[ScoredInput], *, ignore_vectors: bool = False) -> Reading:
        """Read the documents in as many passes as the question needs.

        With `ignore_vectors`, vectors rule out no windows in any pass.
        """
        limit = current_time_limit()
        first_pass = self.first_pass(query, documents, ignore_vectors=ignore_vectors)
        stage = self.first_stage(first_pass)
        if stage.opening and first_pass.unread and not limit.is_up():
            first_pass = self.extend_first_pass(first_pass, stage.logits, ignore_vectors=ignore_vectors)
            stage = self.first_stage(first_pass)
        without_hop = Reading(first_pass, stage.logits, stage.logits, NEIGHBOUR_SHARE)
        if not stage.opening or limit.is_up():
            return without_hop
        second_stage = SecondStage.make(first_pass.matches, first_pass.logits, stage.features, stage.logits)
        hops = self.second_pass(first_pass, second_stage)
        if limit.was_reached:  # the second pass is incomplete
            return without_hop
        logits = stage.logits + stage.opening * self.fusion.attend(second_stage, hops)
        return Reading(first_pass, stage.logits, logits, NEIGHBOUR_SHARE * (1.0 - stage.opening))

    def first_pass(
        self, query: str, documents: Sequence[ScoredInput], *, ignore_vectors: bool = False
    ) -> FirstPass:
        """Read the windows that vectors do not rule out; if they are too many, the best up to `max_tokens`.

        With `ignore_vectors`, vectors rule out no windows.
        """
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
        limit = current_time_limit()
        windows, unread = self.layout.windows(ids.query, encoded), list[Window]()
        word_shares = matches.presence.share(matches.weights)
        sieve, has_all_vectors = None, True
        if self.embedder is not None:
            vectors = read_vectors(documents, self.embedder.dimension)
            windows, unread = limit_windows(windows, word_shares, offsets, self.max_tokens, vectors)
            vectors, has_all_vectors = complete_vectors(vectors, self.embedder, encoded, windows, offsets)
            (query_vector,) = self.embedder([ids.query])
            sieve = Sieve.make(vectors, query_vector, windows, offsets, matches)
            if not ignore_vectors:
                windows, ruled_out = sieve.divide(windows, offsets)
                unread = [*unread, *ruled_out]
        windows, beyond_limit = divide_windows(windows, word_shares, offsets, self.max_tokens)
        priorities = None if limit.seconds is None else best_values(windows, word_shares, offsets)
        window_logits = self.encoder.encode(windows, priorities)
        if not window_logits:
            limit.check()
        if not has_all_vectors and limit.seconds is not None:
            limit.was_reached = True
        return merge_pass(matches, encoded, offsets, window_logits, [*unread, *beyond_limit], sieve)

    def extend_first_pass(
        self, first_pass: FirstPass, first_logits: Floats, *, ignore_vectors: bool = False
    ) -> FirstPass:
        """Read up to MORE_TOKENS of the windows that are unread: those that share the rarest words with the
        best sentences so far. The sieve first rules out some of them, unless `ignore_vectors` is true."""
        matches, offsets, sieve = first_pass.matches, first_pass.offsets, first_pass.sieve
        possible, ruled_out = first_pass.unread, list[Window]()
        if sieve is not None and not ignore_vectors:
            possible, ruled_out = sieve.divide_again(possible, offsets, matches, first_logits)
        weights = bridge_weights(matches, first_logits)
        chosen, beyond_limit = divide_windows(possible, weights, offsets, MORE_TOKENS)
        window_logits = [*first_pass.window_logits, *self.encoder.encode(chosen)]
        unread = [*ruled_out, *beyond_limit]
        return merge_pass(matches, first_pass.encoded, offsets, window_logits, unread, sieve)

    def second_pass(self, first_pass: FirstPass, second_stage: SecondStage) -> list[Hop]:
        """Reread the windows that seem to have the best paths."""
        return search_paths(
            self.layout,
            self.encoder,
            first_pass.matches,
            first_pass.encoded,
            first_pass.offsets,
            second_stage.first_logits,
            second_stage.first_logits + self.fusion.attend(second_stage, ()),
        )

    def first_stage(self, first_pass: FirstPass) -> FirstStage:
        """Apply the first stage of the fusion, and its gate."""
        matches, logits = first_pass.matches, first_pass.logits
        features = first_features(matches, logits, first_pass.near)
        first_logits = self.fusion.first_layer(features)
        opening = self.fusion.compute_opening(query_features(matches, logits, first_logits))
        return FirstStage(features, first_logits, opening)


def _load_decision(artifact: Artifact) -> tuple[Fusion, float]:
    """Return the fusion for the decision rule that the manifest names, and the lowest score that is kept."""
    decision = artifact.manifest.get("decision", "fitted")
    if decision == "learned":
        return Fusion.from_keep_logit(), LEARNED_THRESHOLD
    if decision == "fitted":
        attention = artifact.file(ATTENTION_FILE) if artifact.lists(ATTENTION_FILE) else None
        fusion = Fusion.load(artifact.file(LAYERS_FILE), attention)
        return fusion, float(artifact.config["threshold"])
    raise ArtifactError(
        f"{artifact.path} needs the decision rule {decision!r}, which this version of tersely does not know. "
        "Upgrade tersely."
    )


def _split_by_document(
    offsets: NDArray[np.int64],
    was_read: NDArray[np.bool_],
    logits: Floats,
    neighbour_share: float,
    held_back: NDArray[np.bool_],
) -> list[DocumentScores]:
    """Return the scores of each document, from the logits of all sentences.

    For packing, a score s becomes s + neighbour_share * n * (1 - s), where n is the better neighbour's score.
    Held-back sentences have lower scores, but count in full for the relevance.
    """
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    scores = sigmoid(logits)
    packing = scores + neighbour_share * best_beside(scores, document, 0.0) * (1.0 - scores)
    share = np.where(held_back, HELD_BACK_SHARE, 1.0)
    flat = (scores, share * scores, share * packing, was_read, held_back)
    return [
        DocumentScores(float(full.max(initial=0.0)), lowered, packed, read, is_held_back)
        for full, lowered, packed, read, is_held_back in zip(
            *(np.split(x, offsets[1:-1]) for x in flat), strict=True
        )
    ]
