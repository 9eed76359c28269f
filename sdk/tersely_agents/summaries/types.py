"""Summaries and the sources of their sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tersely_agents.chat.protocol import Usage

Aspect = Literal["clarity", "coherence", "completeness", "coverage", "factual correctness", "logicality"]
Backend = Literal["extractive", "llm"]

ASPECTS: Mapping[Aspect, str] = {
    "clarity": "simple, direct language; no jargon and no tangled sentences; the key points stand out, and "
    "each statement can be read in one way only.",
    "coherence": "each sentence follows from the one before it; related facts are together, in an order "
    "that makes sense to a reader.",
    "completeness": "no major fact that the question needs is missing, even one that seems obvious, in as "
    "little space as that allows.",
    "coverage": "every relevant fact, figure, example and detail is in it, even where some repeat; being "
    "thorough comes before being short.",
    "factual correctness": "every statement is accurate and is in the documents; nothing is inferred, "
    "assumed or exaggerated.",
    "logicality": "causes, effects and conditions are kept as the documents state them, and conclusions "
    "follow from what is said before them.",
}
"""The six aspects of RECON (appendix B.3) that a summary can be written for."""


@dataclass(frozen=True, slots=True)
class Support:
    """A source of a sentence: `docs[doc].text[start:end]`, in code points."""

    doc: int
    start: int
    end: int
    score: float
    """Share of the sentence's content that the span covers, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence, `summary.text[start:end]`, and its sources."""

    start: int
    end: int
    support: tuple[Support, ...]
    """Sources of the sentence, best first; empty if no document supports it, or if it alters what the
    documents say."""
    unknown: tuple[str, ...] = ()
    """Numbers, dates, names and identifiers of the sentence that no document contains."""
    altered: tuple[str, ...] = ()
    """Modals, negations, quantifiers, opposites, numbers and units that the sentence changes, adds or leaves
    out, so that it says something else than the documents."""

    @property
    def supported(self) -> bool:
        """True if a document supports the sentence."""
        return bool(self.support)


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary with the sources of its sentences."""

    text: str
    sentences: tuple[SummarySentence, ...]
    backend: Backend
    """Author of the text: "extractive" for quotations, even if the model gave an answer that is not used."""
    reason: str | None
    """The reason why the model's answer was not used; None if it was used, or without a model."""
    dropped: tuple[str, ...]
    """Sentences of the model that were left out, for lack of support or to keep the budget."""
    tokens_before: int
    """Number of tokens of the documents, by the compressor's counter."""
    tokens_after: int
    model: str
    """Name of the chat model, or of the compressor's model."""
    usage: Usage | None = None
    """Tokens of the chat model's call, as its server counts them."""
    timings: Mapping[str, float] = field(default_factory=dict[str, float], compare=False)
    """Seconds per stage."""

    @property
    def unsupported(self) -> tuple[SummarySentence, ...]:
        """Sentences that no document supports."""
        return tuple(s for s in self.sentences if not s.supported)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return asdict(self)
