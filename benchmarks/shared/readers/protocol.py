"""A reader: it gets a question and a context, and gives a short answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.shared.cache import digest

INSTRUCTION = "Answer the question in one to five words, from the context alone."
"""EFFCOMP (appendix B.4) asks for an answer of this length, in other words."""

EXAMPLES = (
    (
        "Pellow Lighthouse\nThe lighthouse on Pellow Head was built in 1861 by the engineer Anna Trevose. It "
        "is 42 metres high and was lit with rape oil at first. The keepers left it in 1986.",
        "Who built the lighthouse on Pellow Head?",
        "Anna Trevose",
    ),
    (
        "Orvelle\nOrvelle is a town on the river Brack. Its market is held every Thursday.\n\nBrack\nThe "
        "Brack rises in the Corrin Hills and reaches the sea at Tarnwick after 118 kilometres.",
        "How long is the river that flows through Orvelle?",
        "118 kilometres",
    ),
)
"""Contexts, questions and answers that come first. Without them a small model repeats the question
(training/LOG.md)."""

NEW_TOKENS = 10
"""Tokens of an answer that a language model may write, greedily (EFFCOMP, appendix B.5)."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question and its context. An empty context shows what the reader knows by itself."""

    question: str
    context: str

    def render(self) -> str:
        """The prompt for a language model that continues a text."""
        shown = [
            f"{_format_question(context, question)}\nAnswer: {answer}"
            for context, question, answer in EXAMPLES
        ]
        return "\n\n".join([INSTRUCTION, *shown, f"{_format_question(self.context, self.question)}\nAnswer:"])

    def messages(self) -> list[dict[str, str]]:
        """The prompt for a chat model."""
        turns: list[tuple[str, str]] = []
        for context, question, answer in EXAMPLES:
            turns += [("user", _format_question(context, question)), ("assistant", answer)]
        turns.append(("user", _format_question(self.context, self.question)))
        turns[0] = "user", f"{INSTRUCTION}\n\n{turns[0][1]}"
        return [{"role": role, "content": content} for role, content in turns]


def _format_question(context: str, question: str) -> str:
    return f"Context: {context}\nQuestion: {question}"


def hash_prompt() -> str:
    """A hash that changes with a language model's prompt and with the length of its answers."""
    prompt = Prompt("q", "c")
    return digest(prompt.render(), json.dumps(prompt.messages()), str(NEW_TOKENS)).hex()[:6]


class Reader(Protocol):
    """Answers prompts, many at once. The same prompt gives the same answer."""

    name: str
    """Unique to the reader, its weights and its settings; answers are cached under it."""

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """One answer for each prompt, in order: "" where the reader finds none, None where it failed."""
        ...


def take_first_line(generated: str) -> str:
    """The answer in the text that a language model wrote."""
    return (generated.strip().splitlines() or [""])[0].strip()
