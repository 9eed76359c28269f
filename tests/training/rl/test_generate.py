"""Replies that a model in this process generates, or a loopback server that answers in vLLM's format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely.errors import OfflineError
from tests.loopback import Serve
from tests.loopback import serve as serve
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.language.generate import TransformersPolicy
from training.rl.language.slots import SlotsPolicy
from training.rl.language.vllm import VllmPolicy
from training.rl.rollout import Generation

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


def complete(request: dict[str, Any]) -> tuple[int, Any]:
    """Answer as vLLM does with `return_token_ids`: repeat the prompt's last token, and end."""
    last = request["prompt"][-1]
    choice = {
        "index": 0,
        "text": "<search>key</search>",
        "finish_reason": "stop",
        "stop_reason": "</search>",
        "token_ids": [last, last, 2],
        "prompt_token_ids": request["prompt"],
        "logprobs": {
            "token_logprobs": [-0.5, -0.25, -0.125],
            "tokens": ["a", "a", "</s>"],
            "text_offset": [0],
        },
    }
    return 200, {"id": "cmpl-1", "object": "text_completion", "model": request["model"], "choices": [choice]}


def test_sends_and_receives_token_ids(serve: Serve) -> None:
    server = serve(complete)
    policy = VllmPolicy(server.url, "policy", max_reply=9, stop_texts=("</search>",), temperature=0.7)
    found = policy.generate({4: [5, 6], 9: [7]})
    assert found == {
        4: Generation([6, 6, 2], [-0.5, -0.25, -0.125]),
        9: Generation([7, 7, 2], [-0.5, -0.25, -0.125]),
    }
    bodies = sorted((body for body, _ in server.requests), key=lambda body: body["prompt"])
    assert [body["prompt"] for body in bodies] == [[5, 6], [7]]
    assert {key: bodies[0][key] for key in ("model", "max_tokens", "temperature", "stop")} == {
        "model": "policy",
        "max_tokens": 9,
        "temperature": 0.7,
        "stop": ["</search>"],
    }
    assert bodies[0]["return_token_ids"]
    assert bodies[0]["include_stop_str_in_output"]


@pytest.mark.parametrize(
    "change",
    [
        {"token_ids": None},
        {"token_ids": [1]},
        {"token_ids": []},
        {"logprobs": None},
        {"prompt_token_ids": [1, 2, 3]},
    ],
)
def test_ignores_an_answer_that_does_not_fit(serve: Serve, change: dict[str, Any]) -> None:
    def answer(request: dict[str, Any]) -> tuple[int, Any]:
        code, body = complete(request)
        if request["prompt"] == [5]:
            body["choices"][0] |= change
        return code, body

    policy = VllmPolicy(serve(answer).url, "policy", max_reply=9)
    assert list(policy.generate({0: [4], 1: [5], 2: [6]})) == [0, 2]


def test_failed_server_gives_no_replies(serve: Serve) -> None:
    broken = serve(lambda request: (500, {"error": {"message": "out of memory"}}))
    assert VllmPolicy(broken.url, "policy", max_reply=9).generate({0: [4]}) == {}
    assert VllmPolicy("http://127.0.0.1:9", "policy", max_reply=9).generate({0: [4]}) == {}


def test_uses_a_loaded_adapter(serve: Serve, tmp_path: Path) -> None:
    def answer(request: dict[str, Any]) -> tuple[int, Any]:
        return (200, b"Success") if "lora_path" in request else complete(request)

    server = serve(answer)
    policy = VllmPolicy(server.url, "policy", max_reply=9)
    policy.load_adapter("update-3", tmp_path)
    policy.generate({0: [4]})
    (load, _), (use, _) = server.requests
    assert load == {"lora_name": "update-3", "lora_path": str(tmp_path)}
    assert use["model"] == "update-3"
    refusing = VllmPolicy(serve(lambda request: (400, {})).url, "policy", max_reply=9)
    with pytest.raises(RuntimeError, match="did not load the adapter"):
        refusing.load_adapter("update-4", tmp_path)
    assert refusing.model == "policy"


def test_refuses_the_network_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    with pytest.raises(OfflineError):
        VllmPolicy("http://example.com:8000", "policy", max_reply=9)
