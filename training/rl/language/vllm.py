"""Replies of a vLLM server, with the token ids and log-probabilities that it reports."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

from tersely.runtime.offline import check_address
from training.rl.rollout import Generation

logger = logging.getLogger(__name__)

PARALLEL = 64
"""Requests at once; the server makes its own batches."""
TIMEOUT_S = 600.0
"""Seconds for one reply."""

_OPENER = build_opener(ProxyHandler({}))


class VllmPolicy:
    """A policy (`rollout.Policy`) that samples from `model` on a server started with `vllm serve`.

    Prompts go as token ids, and token ids come back (`return_token_ids`): nothing is encoded twice.
    `generate` leaves out a context that the server does not answer.

    Args:
        url: such as "http://127.0.0.1:8000".
        model: its name on the server; `load_adapter` changes it.
        max_reply: tokens of the longest reply.
        stop_texts: texts that end a reply, besides the end of the message. The text stays in the reply.
        temperature: above 0.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        max_reply: int,
        stop_texts: Sequence[str] = (),
        temperature: float = 1.0,
    ) -> None:
        check_address(url)
        self._url = url.rstrip("/")
        self.model = model
        self._options = {
            "max_tokens": max_reply,
            "temperature": temperature,
            "top_p": 1.0,
            "top_k": -1,
            "logprobs": 0,
            "return_token_ids": True,
            "skip_special_tokens": False,
            "stop": list(stop_texts),
            "include_stop_str_in_output": True,
        }

    def generate(self, contexts: Mapping[int, Sequence[int]]) -> dict[int, Generation]:
        """Continue each context; all requests run side by side."""
        with ThreadPoolExecutor(PARALLEL) as pool:
            found = list(pool.map(self._complete, contexts.values()))
        return {k: g for k, g in zip(contexts, found, strict=True) if g is not None}

    def load_adapter(self, name: str, folder: Path) -> None:
        """Sample from the LoRA adapter in `folder` from now on, under a name that is new to the server. The
        server runs with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, and can read the folder.

        Raises RuntimeError if the server does not load it.
        """
        try:
            self._post("/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})
        except (URLError, TimeoutError, ConnectionError) as error:
            raise RuntimeError(f"{self._url} did not load the adapter {folder}: {error}") from error
        self.model = name

    def _complete(self, context: Sequence[int]) -> Generation | None:
        request = {"model": self.model, "prompt": list(context), **self._options}
        try:
            return _read(json.loads(self._post("/v1/completions", request)), context)
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            logger.warning("%s gave no reply: %s", self._url, error)
            return None

    def _post(self, path: str, body: Mapping[str, Any]) -> bytes:
        headers = {"Content-Type": "application/json"}
        request = Request(self._url + path, json.dumps(body).encode(), headers)
        with _OPENER.open(request, timeout=TIMEOUT_S) as response:
            return response.read()


def _read(answer: Any, context: Sequence[int]) -> Generation:
    """Raise ValueError for an answer whose parts do not fit together."""
    choice = answer["choices"][0]
    tokens = [int(token) for token in choice["token_ids"]]
    logprobs = [float(chance) for chance in choice["logprobs"]["token_logprobs"]]
    if not tokens or len(tokens) != len(logprobs):
        raise ValueError(f"{len(tokens)} token ids and {len(logprobs)} log-probabilities")
    read = choice.get("prompt_token_ids")
    if read is not None and list(read) != list(context):
        raise ValueError("the server has read another prompt")
    return Generation(tokens, logprobs)
