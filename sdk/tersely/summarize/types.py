"""A summary and where its sentences come from. All results are frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tersely.chat.protocol import Usage

Aspect = Literal["clarity", "coherence", "completeness", "coverage", "factual correctness", "logicality"]
Backend = Literal["extractive", "llm"]

ASPECTS: Mapping[Aspect, str] = {
    "clarity": "simple, direct language; no jargon and no tangled sentences; the key points stand out, and "
    "each statement can be read in one way only.",
    "coherence": "each sentence follows from the one before it; related facts stand together, in an order "
    "that makes sense to a reader.",
    "completeness": "no major fact that the question needs is missing, even one that seems obvious, in as "
    "little space as that allows.",
    "coverage": "every relevant fact, figure, example and detail is in it, even where some repeat; being "
    "thorough comes before being short.",
    "factual correctness": "every statement is accurate and stands in the documents; nothing is inferred, "
    "assumed or exaggerated.",
    "logicality": "causes, effects and conditions are kept as the documents state them, and conclusions "
    "follow from what is said before them.",
}
"""The six aspects of RECON (appendix B.3) that a summary can be written for."""


@dataclass(frozen=True, slots=True)
class Support:
    """Where a sentence comes from: `docs[doc].text[start:end]`, in code points."""

    doc: int
    start: int
    end: int
    score: float
    """How much of the sentence the span accounts for, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """`summary.text[start:end]` and what stands behind it."""

    start: int
    end: int
    support: tuple[Support, ...]
    """Best first; empty where nothing in the documents says so."""
    unknown: tuple[str, ...] = ()
    """Numbers, dates, names and identifiers in the sentence that occur in no document."""

    @property
    def supported(self) -> bool:
        return bool(self.support)


@dataclass(frozen=True, slots=True)
class Summary:
    text: str
    sentences: tuple[SummarySentence, ...]
    backend: Backend
    """What wrote the text: "extractive" also where the model's answer could not be used."""
    reason: str | None
    """Why the model's answer was not used; None where it was, or none was asked."""
    dropped: tuple[str, ...]
    """Sentences of the model that were left out: without support, or beyond the budget."""
    tokens_before: int
    """Tokens of the documents, by the compressor's counter."""
    tokens_after: int
    model: str
    """Name of the chat model, or of the compressor's."""
    usage: Usage | None = None
    """Tokens that the chat model was paid for, as its server counts them."""
    timings: Mapping[str, float] = field(default_factory=dict[str, float], compare=False)
    """Seconds per stage."""

    @property
    def unsupported(self) -> tuple[SummarySentence, ...]:
        return tuple(s for s in self.sentences if not s.supported)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return asdict(self)
