"""A reader: it gets a question and a context, and gives a short answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from benchmarks.shared.cache import digest

Template = Literal["effcomp", "examples", "reading"]
"""Prompt for a language model.

effcomp   EFFCOMP's template (appendix B.4), word for word: for a model of the paper's size
examples  two worked examples first: a small model repeats the question without them (training/LOG.md)
reading   the same, with a third example that the context does not answer
"""

EFFCOMP = (
    "You are an expert in Question Answering. Your job is to answer questions in 1 to 5 words based on the "
    "given context.\nQuestion: {question}\nContext: {context}\nAnswer:"
)

INSTRUCTION = "Answer the question in one to five words, from the context alone."

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
"""Contexts, questions and answers that come first in the template "examples"."""

ABSTENTION = "not stated"
"""Answer that the template "reading" asks for if the context does not answer the question."""

READING = f"{INSTRUCTION} Only if it says nothing about it, answer: {ABSTENTION}."

ABSTAINED = (
    "Harbour Street\nThe market hall in Harbour Street has forty stalls and opens at six.",
    "Who designed the market hall in Harbour Street?",
    ABSTENTION,
)

NEW_TOKENS = 10
"""Number of tokens of an answer that a language model may write, greedily (EFFCOMP, appendix B.5)."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question and its context. An empty context shows what the reader knows by itself."""

    question: str
    context: str

    def render(self, template: Template) -> str:
        """Return the prompt for a language model that continues a text."""
        if template == "effcomp":
            return EFFCOMP.format(question=self.question, context=self.context)
        instruction, examples = _choose_examples(template)
        shown = [
            f"{_format_question(context, question)}\nAnswer: {answer}"
            for context, question, answer in examples
        ]
        return "\n\n".join([instruction, *shown, f"{_format_question(self.context, self.question)}\nAnswer:"])

    def messages(self, template: Template) -> list[dict[str, str]]:
        """Return the prompt for a chat model. EFFCOMP's template is one message of the user."""
        if template == "effcomp":
            return [{"role": "user", "content": self.render(template)}]
        instruction, examples = _choose_examples(template)
        turns: list[tuple[str, str]] = []
        for context, question, answer in examples:
            turns += [("user", _format_question(context, question)), ("assistant", answer)]
        turns.append(("user", _format_question(self.context, self.question)))
        turns[0] = "user", f"{instruction}\n\n{turns[0][1]}"
        return [{"role": role, "content": content} for role, content in turns]


def _format_question(context: str, question: str) -> str:
    return f"Context: {context}\nQuestion: {question}"


def _choose_examples(template: Template) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    # The example without an answer is not the last one, because small models repeat the last.
    if template == "reading":
        return READING, (EXAMPLES[0], ABSTAINED, EXAMPLES[1])
    return INSTRUCTION, EXAMPLES


def make_prompt_key(prompt: Prompt) -> str:
    """Return the id of a prompt in files of prompts and answers."""
    return digest(prompt.question, prompt.context).hex()


def hash_prompt(template: Template) -> str:
    """Return a hash that changes with a language model's prompt and with the length of its answers."""
    prompt = Prompt("q", "c")
    rendered = prompt.render(template), json.dumps(prompt.messages(template))
    return digest(*rendered, str(NEW_TOKENS)).hex()[:6]


class Reader(Protocol):
    """A model that answers prompts, many at once. It gives the same answer to the same prompt."""

    name: str
    """Name of the reader, unique to its weights and settings. Answers are cached under it."""

    @property
    def trained_on(self) -> frozenset[str] | None:
        """Names of the questions that this repository trained it on; None if that is not known."""
        ...

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Return one answer for each prompt, in order: "" if the reader finds none, None if it failed."""
        ...


def take_first_line(generated: str) -> str:
    """Return the answer in the text that a language model wrote."""
    return (generated.strip().splitlines() or [""])[0].strip()
