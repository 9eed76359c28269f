"""What a reader is: a question and a context in, a short answer out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.shared.cache import digest

INSTRUCTION = "Answer the question in one to five words, from the context alone."
"""EFFCOMP (appendix B.4) asks for an answer of this length; the words are ours."""

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
"""Contexts, questions and answers shown first: without them a small model repeats the question
(training/LOG.md)."""

NEW_TOKENS = 10
"""Tokens of an answer that a language model may write, greedily (EFFCOMP, appendix B.5)."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a reader is asked. An empty context is allowed: it shows what the reader knows by itself."""

    question: str
    context: str

    def render(self) -> str:
        """The prompt of a language model that goes on with a text."""
        shown = [f"{_asked(context, question)}\nAnswer: {answer}" for context, question, answer in EXAMPLES]
        return "\n\n".join([INSTRUCTION, *shown, f"{_asked(self.context, self.question)}\nAnswer:"])

    def messages(self) -> list[dict[str, str]]:
        """The prompt of a chat model."""
        turns: list[tuple[str, str]] = []
        for context, question, answer in EXAMPLES:
            turns += [("user", _asked(context, question)), ("assistant", answer)]
        turns.append(("user", _asked(self.context, self.question)))
        turns[0] = "user", f"{INSTRUCTION}\n\n{turns[0][1]}"
        return [{"role": role, "content": content} for role, content in turns]


def _asked(context: str, question: str) -> str:
    return f"Context: {context}\nQuestion: {question}"


def prompt_version() -> str:
    """Changes with anything in a language model's prompt or in how much it may write."""
    prompt = Prompt("q", "c")
    return digest(prompt.render(), json.dumps(prompt.messages()), str(NEW_TOKENS)).hex()[:6]


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
