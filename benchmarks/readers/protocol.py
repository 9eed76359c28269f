"""What a reader is: a question and a context in, a short answer out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.cache import digest

INSTRUCTION = "Answer the question in one to five words, from the context alone."
"""EFFCOMP (appendix B.4) asks for an answer of this length; the words are ours."""

NEW_TOKENS = 10
"""Tokens of an answer that a language model may write, greedily (EFFCOMP, appendix B.5)."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a reader is asked. An empty context is allowed: it shows what the reader knows by itself."""

    question: str
    context: str

    def render(self) -> str:
        """The prompt of a language model."""
        return f"{INSTRUCTION}\nQuestion: {self.question}\nContext: {self.context}\nAnswer:"


def prompt_version() -> str:
    """Changes with anything in a language model's prompt or in how much it may write."""
    return digest(INSTRUCTION, Prompt("q", "c").render(), str(NEW_TOKENS)).hex()[:6]


class Reader(Protocol):
    """Answers prompts, many at once. The same prompt gives the same answer."""

    name: str
    """Tells this reader, its weights and its settings from every other; answers are cached under it."""

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """One answer per prompt, in order: "" where the reader finds none, None where it failed, after
        retries."""
        ...


def first_line(generated: str) -> str:
    """The answer in what a language model wrote."""
    return (generated.strip().splitlines() or [""])[0].strip()
