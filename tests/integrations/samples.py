"""Texts, options and checks that the tests of the adapters share."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tersely import Compression, CompressionOptions, Compressor
from tersely.options import OPTION_FIELDS
from tests.sdk.fakes import BrokenScorer, FakeScorer

QUESTION = "On which day is the museum free?"
ANSWER = "Entry is free on Thursdays."
MUSEUM = f"The museum is in Hill Street. {ANSWER} It opened in 1904."
HARBOUR = "The harbour was dug in 1871. Its crane still works."

KEY_QUESTION = "Who holds the spare key?"
KEY_ANSWER = "Ada holds the spare key."

OPTION_NAMES = [option.name for option in OPTION_FIELDS]
EXAMPLES: dict[str, Any] = {
    "budget": 12,
    "rate": 0.5,
    "recall": 0.9,
    "abstain": 0.9,
    "level": 2,
    "max_docs": 1,
    "order": "rerank",
    "marks": "all",
    "min_tokens": 5,
    "timeout": 60.0,
}
"""A value of every option that is not its default."""


def make_page(subject: str, fact: str) -> str:
    """Return sixty useless sentences, and then the fact."""
    return " ".join(f"The {subject} has a lamp of the kind number {i}." for i in range(60)) + f" {fact}"


def make_chat(text: str, question: str = KEY_QUESTION) -> list[dict[str, Any]]:
    """Return a question, a call of a tool and the text of its result, as messages of chat completions."""
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ]


def make_items(text: str) -> list[dict[str, Any]]:
    """Return the same as items of OpenAI's responses."""
    return [
        {"role": "user", "content": KEY_QUESTION},
        {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": text},
    ]


def make_messages(text: str) -> list[dict[str, Any]]:
    """Return the same as Anthropic's messages."""
    use = {"type": "tool_use", "id": "t1", "name": "search", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    return [
        {"role": "user", "content": KEY_QUESTION},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]


def make_failing_compressor() -> Compressor:
    return Compressor(BrokenScorer(RuntimeError("no memory")))


def has_whole_sentences(shown: str, *pages: str) -> bool:
    """Return whether every shown sentence is a sentence of one of the pages. Lines in brackets are notes."""
    sentences = {sentence.strip(". ") for page in pages for sentence in page.split(". ")}
    lines = [line for line in shown.splitlines() if line and not line.startswith("[")]
    parts = [part.strip(". ") for line in lines for part in line.split(". ")]
    return bool(parts) and all(part in sentences for part in parts)


def all_options(**options: Any) -> dict[str, Any]:
    """Return these options and the defaults of all others, as keyword arguments."""
    return dict(CompressionOptions(**options).arguments())


class RecordingCompressor(Compressor):
    """A compressor that ignores the options that it receives, and records them."""

    def __init__(self) -> None:
        super().__init__(FakeScorer())
        self.received: list[dict[str, Any]] = []

    def compress(self, query: str, docs: Iterable[Any], **options: Any) -> Compression:
        self.received.append(options)
        return super().compress(query, docs)


_WORDS = ["tower", "lamp.", "Ada", "灯塔。", "sea!", "e\u0301", "😀", "\n\n", "1904"]
_LIMITS: list[dict[str, Any]] = [{}, {"rate": 0.5}, {"budget": 9}, {"max_docs": 1}, {"level": 1}]


def random_text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(0, 30)))


def random_options(rng: random.Random) -> dict[str, Any]:
    return {"order": rng.choice(["source", "rerank"]), **rng.choice(_LIMITS)}


def check_spans(text: str, original: str, spans: Sequence[dict[str, int]]) -> None:
    """Check that every character but whitespace and marks is in a span, and every span in the original."""
    uncovered = set(range(len(text)))
    for span in spans:
        piece = slice(span["at"], span["at"] + span["end"] - span["start"])
        assert text[piece] == original[span["start"] : span["end"]]
        uncovered -= set(range(piece.start, piece.stop))
    assert spans
    rest = "".join(text[place] for place in sorted(uncovered))
    assert not re.sub(r"\[…[^\]]*\]|…", "", rest).strip()
