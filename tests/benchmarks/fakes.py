"""An environment, a reader and a scorer that knows the answers, in place of real ones."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.quality.controls import HeadScorer
from benchmarks.shared.environment import Environment
from benchmarks.shared.readers import Prompt
from tersely.score import DocumentScores, ScoredInput

ENVIRONMENT = Environment(
    date="2026-01-01", cpu="x", cores=2, ram_gb=1, system="s", python="3", packages={"tersely": "0"}
)


class GoldScorer:
    """A scorer that knows the supporting sentences of the two-hop questions."""

    threshold = 0.5
    length_price = 0.0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        founder = query.partition("founded by ")[2].removesuffix(" export?")
        if not founder:
            return HeadScorer().score(query, documents)
        return [_score_gold(document, founder) for document in documents]


def _score_gold(document: ScoredInput, founder: str) -> DocumentScores:
    scores = [float(founder in document.text and 0 < i < 3) for i in range(len(document.units))]
    return DocumentScores(max(scores), scores)


class BeginningReader:
    """A reader that answers with the beginning of the context, fails on every third prompt, and records
    prompts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.prompts: list[Prompt] = []

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        self.prompts += prompts
        return [None if i % 3 == 2 else p.context[:12] for i, p in enumerate(prompts)]
