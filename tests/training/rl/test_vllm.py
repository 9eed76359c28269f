"""Replies of a vLLM server, which is a loopback server that answers in vLLM's format.

`test_generate.py` tests what all policies of language models share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tersely.errors import OfflineError
from tests.loopback import Serve
from tests.loopback import serve as serve
from training.rl.language.vllm import VllmPolicy
from training.rl.rollout import Generation


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
