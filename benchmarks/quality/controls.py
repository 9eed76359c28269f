"""The systems that tersely is measured against, as scorers of the same sentence units.

The compressor itself splits, packs and counts tokens, so all rates are equal. BM25 and MiniLM get a sentence
after the title of its document, as tersely's model does.
"""

from __future__ import annotations

import hashlib
import random
import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from benchmarks.shared.environment import name_model
from benchmarks.shared.minilm import embed_cached
from benchmarks.shared.passages import join_title
from benchmarks.shared.statistics import Floats
from tersely.runtime.artifacts import load_artifact
from tersely.score import DocumentScores, ScoredInput, Scorer
from tersely.score.bm25 import BM25
from tersely.score.selector import Selector

OURS = "tersely"
WHOLE = "whole documents"
RANDOM = "random sentences"
HEAD = "first sentences"
WORDS = "BM25 sentences"
CHARACTERS = "BM25 of characters"
MINILM = "MiniLM sentences"
MINILM_WHOLE = "MiniLM documents"


def load_selector(model: str | None, threads: int | None = None) -> tuple[Selector, str]:
    """Return tersely's model, and its name with fingerprint."""
    artifact = load_artifact(model)
    return Selector.load(artifact, threads), name_model(artifact)


def make_controls(ours: Scorer, seed: int, *left_out: str) -> dict[str, Scorer]:
    """Return the controls by name. `ours` ranks the whole documents of the plain reranker."""
    controls: dict[str, Scorer] = {
        WHOLE: DocumentScorer(ours),
        RANDOM: RandomScorer(seed),
        HEAD: HeadScorer(),
        WORDS: BM25Scorer(),
        CHARACTERS: CharacterScorer(),
        MINILM: MiniLMScorer(),
        MINILM_WHOLE: DocumentScorer(MiniLMDocuments()),
    }
    return {name: scorer for name, scorer in controls.items() if name not in left_out}


class CachedScorer:
    """A scorer that keeps the scores of its last query, so that one forward pass serves every rate."""

    def __init__(self, scorer: Scorer) -> None:
        self.threshold = scorer.threshold
        self.length_price = scorer.length_price
        self.calibration = getattr(scorer, "calibration", None)
        self._scorer = scorer
        self._query: str | None = None
        self._known: dict[tuple[tuple[str, tuple[int, ...]], ...], Sequence[DocumentScores]] = {}

    def score(self, query: str, documents: Sequence[ScoredInput]) -> Sequence[DocumentScores]:
        if query != self._query:
            self._query = query
            self._known = {}
        key = tuple((d.text, tuple(unit.end for unit in d.units)) for d in documents)
        if key not in self._known:
            self._known[key] = self._scorer.score(query, documents)
        return self._known[key]


class Ranking:
    """Scores that only rank. They are not probabilities, so a unit's length does not count against it."""

    threshold = 0.5
    length_price = 0.0


class RandomScorer(Ranking):
    """Units in random order, drawn from the query and the seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        digest = hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()
        draw = random.Random(f"{self._seed}:{digest}")
        return [_make_scores(np.array([draw.random() for _ in d.units])) for d in documents]


class HeadScorer(Ranking):
    """Units in the order of the input, as if the text were cut off at the budget."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        values = np.linspace(1.0, 0.0, max(1, sum(len(d.units) for d in documents)))
        return split_scores(documents, values)


class BM25Scorer(Ranking):
    """Okapi BM25 of the query over the units; its statistics come from the documents of the request."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        return split_scores(documents, _scale_to_one(BM25(_title_units(documents)).scores(query)))


class CharacterScorer(Ranking):
    """BM25 of pairs and triples of characters, for scripts and endings that words do not match."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        values = BM25(_title_units(documents), split=split_characters).scores(query)
        return split_scores(documents, _scale_to_one(values))


class MiniLMScorer(Ranking):
    """Cosine of all-MiniLM-L6-v2 embeddings of the query and each unit."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        vectors = embed_cached([query, *_title_units(documents)])
        return split_scores(documents, (vectors[1:] @ vectors[0] + 1) / 2)


class MiniLMDocuments(Ranking):
    """Cosine of all-MiniLM-L6-v2 embeddings of the query and each whole document, as its relevance."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        vectors = embed_cached([query, *(join_title(d.title, d.text) for d in documents)])
        return [
            DocumentScores(float(vector @ vectors[0] + 1) / 2, [0.0] * len(d.units))
            for vector, d in zip(vectors[1:], documents, strict=True)
        ]


class DocumentScorer(Ranking):
    """A plain reranker: whole documents in the order of a scorer's relevance, cut off at the budget."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        relevance = [scored.relevance for scored in self._scorer.score(query, documents)]
        order = sorted(range(len(documents)), key=lambda i: (-relevance[i], i))
        total = max(1, sum(len(d.units) for d in documents))
        values: list[Floats] = [np.zeros(0)] * len(documents)
        place = 0
        for i in order:
            count = len(documents[i].units)
            values[i] = 1.0 - np.arange(place, place + count) / total
            place += count
        return [_make_scores(v) for v in values]


def split_characters(text: str) -> list[str]:
    """Return every two and every three neighbouring characters of each word, in lower case."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower())
    return [word[i : i + n] for word in words for n in (2, 3) for i in range(len(word) - n + 1)]


def _title_units(documents: Sequence[ScoredInput]) -> list[str]:
    return [join_title(d.title, d.text[unit.start : unit.end]) for d in documents for unit in d.units]


def split_scores(documents: Sequence[ScoredInput], values: Floats) -> list[DocumentScores]:
    """Return the scores of each document, from one value for each unit of all documents."""
    ends = np.cumsum([len(d.units) for d in documents])
    return [_make_scores(part) for part in np.split(values, ends[:-1])] if len(ends) else []


def _make_scores(values: Floats) -> DocumentScores:
    return DocumentScores(float(values.max()) if len(values) else 0.0, values.tolist())


def _scale_to_one(values: Floats) -> Floats:
    top = values.max() if len(values) else 0.0
    return values / top if top > 0 else values
