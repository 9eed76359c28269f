"""Replies of a model in this process."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.language.generate import TransformersPolicy

TOKENIZER = make_tokenizer()
MODEL = make_model(TOKENIZER)


def make_policy(**options: Any) -> TransformersPolicy:
    sampling = torch.Generator().manual_seed(options.pop("seed", 0))
    options = {"max_reply": 12, "random": sampling, **options}
    return TransformersPolicy(MODEL, TOKENIZER, **options)


@torch.no_grad()
def score(context: list[int], reply: list[int]) -> list[float]:
    """Log-probabilities of a reply by one plain pass of the model."""
    logits = MODEL(torch.tensor([context + reply])).logits[0, len(context) - 1 : -1]
    return logits.log_softmax(-1).gather(1, torch.tensor(reply)[:, None])[:, 0].tolist()


@settings(deadline=None, max_examples=15)
@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=9), rows=st.integers(1, 4))
def test_log_probabilities_are_those_of_a_plain_pass(lengths: list[int], rows: int) -> None:
    contexts = {7 * i: [(5 * i + j) % 200 for j in range(n)] for i, n in enumerate(lengths)}
    found = make_policy(rows=rows).generate(contexts)
    assert list(found) == list(contexts)
    for key, generation in found.items():
        reply = list(generation.tokens)
        assert 0 < len(reply) <= 12
        assert TOKENIZER.eos_token_id not in reply[:-1]
        assert list(generation.logprobs) == pytest.approx(score(contexts[key], reply), abs=1e-4)


def test_rollouts_of_one_prompt_differ_and_repeat_for_a_seed() -> None:
    contexts = dict.fromkeys(range(4), TOKENIZER.encode("Who?"))
    one, other = (make_policy(seed=3).generate(contexts) for _ in range(2))
    assert one == other
    assert one != make_policy(seed=4).generate(contexts)
    assert len({tuple(generation.tokens) for generation in one.values()}) == 4


def test_without_temperature_the_most_probable_tokens_come() -> None:
    context = TOKENIZER.encode("The spare key")
    reply = list(make_policy(temperature=0.0).generate({0: context})[0].tokens)
    with torch.no_grad():
        logits = MODEL(torch.tensor([context + reply])).logits[0, len(context) - 1 : -1]
    assert reply == logits.argmax(-1).tolist()


def test_a_stop_text_ends_a_reply_and_stays_in_it() -> None:
    contexts = {key: [key] for key in range(12)}
    found = make_policy(max_reply=150, stop_texts=("e",)).generate(contexts)
    texts = [TOKENIZER.decode(list(generation.tokens)) for generation in found.values()]
    assert any(text.endswith("e") for text in texts)
    assert all("e" not in text[:-1].removesuffix("<|end|") for text in texts)


def test_a_temperature_shapes_the_log_probabilities() -> None:
    generation = make_policy(temperature=0.5).generate({0: [1, 2, 3]})[0]
    with torch.no_grad():
        logits = MODEL(torch.tensor([[1, 2, 3, *generation.tokens]])).logits[0, 2:-1] / 0.5
    own = logits.log_softmax(-1).gather(1, torch.tensor(generation.tokens)[:, None])[:, 0]
    assert list(generation.logprobs) == pytest.approx(own.tolist(), abs=1e-4)


def test_the_model_keeps_its_mode() -> None:
    MODEL.train()
    make_policy().generate({0: [1, 2]})
    assert MODEL.training
    MODEL.eval()
