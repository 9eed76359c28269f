"""Replies that a model in this process generates."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.language.generate import TransformersPolicy
from training.rl.language.slots import SlotsPolicy

TOKENIZER = make_tokenizer()
MODEL = make_model(TOKENIZER)


def make_policy(policy: type[TransformersPolicy] = TransformersPolicy, **options: Any) -> TransformersPolicy:
    sampling = torch.Generator().manual_seed(options.pop("seed", 0))
    options = {"max_reply": 12, "random": sampling, **options}
    return policy(MODEL, TOKENIZER, **options)


@torch.no_grad()
def score(context: list[int], reply: list[int], temperature: float = 1.0) -> torch.Tensor:
    """Return the log-probabilities of all tokens at each place of a reply, by one plain pass."""
    logits = MODEL(torch.tensor([context + reply])).logits[0, len(context) - 1 : -1]
    return (logits / temperature).log_softmax(-1)


@pytest.mark.parametrize("policy", [TransformersPolicy, SlotsPolicy])
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=9),
    rows=st.integers(1, 4),
    temperature=st.sampled_from([0.5, 1.0]),
)
def test_log_probabilities_are_those_of_a_plain_pass(
    policy: type[TransformersPolicy], lengths: list[int], rows: int, temperature: float
) -> None:
    contexts = {7 * i: [(5 * i + j) % 200 for j in range(n)] for i, n in enumerate(lengths)}
    MODEL.train()
    found = make_policy(policy, rows=rows, temperature=temperature).generate(contexts)
    assert MODEL.training  # the policy restores the mode
    MODEL.eval()
    assert list(found) == list(contexts)
    for key, generation in found.items():
        reply = list(generation.tokens)
        assert 0 < len(reply) <= 12
        assert TOKENIZER.eos_token_id not in reply[:-1]
        expected = score(contexts[key], reply, temperature).gather(1, torch.tensor(reply)[:, None])[:, 0]
        assert list(generation.logprobs) == pytest.approx(expected.tolist(), abs=1e-4)


def test_rollouts_differ_and_repeat_for_a_seed() -> None:
    contexts = dict.fromkeys(range(4), TOKENIZER.encode("Who?"))
    one, other = (make_policy(seed=3).generate(contexts) for _ in range(2))
    assert one == other
    assert one != make_policy(seed=4).generate(contexts)
    assert len({tuple(generation.tokens) for generation in one.values()}) == 4


def test_zero_temperature_gives_the_most_probable_tokens() -> None:
    context = TOKENIZER.encode("The spare key")
    reply = list(make_policy(temperature=0.0).generate({0: context})[0].tokens)
    assert reply == score(context, reply).argmax(-1).tolist()


def test_stop_text_ends_a_reply_and_stays_in_it() -> None:
    contexts = {key: [key] for key in range(12)}
    found = make_policy(max_reply=150, stop_texts=("e",)).generate(contexts)
    texts = [TOKENIZER.decode(list(generation.tokens)) for generation in found.values()]
    assert any(text.endswith("e") for text in texts)
    assert all("e" not in text[:-1].removesuffix("<|end|") for text in texts)


def test_fixed_slots_change_no_reply() -> None:
    """A policy that is used again, with longer contexts than before, starts from new slots."""
    slots = make_policy(SlotsPolicy, temperature=0.0, rows=4)
    for most in (9, 250):
        contexts = {key: [(7 * key + j) % 200 for j in range(1 + key * most // 6)] for key in range(7)}
        assert {key: list(g.tokens) for key, g in slots.generate(contexts).items()} == {
            key: list(g.tokens) for key, g in make_policy(temperature=0.0).generate(contexts).items()
        }
