"""A language model behind any OpenAI-compatible server: vLLM, llama.cpp, a hosted one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any, cast

from benchmarks.shared.cache import digest
from benchmarks.shared.readers.protocol import NEW_TOKENS, Prompt, hash_prompt, take_first_line
from tersely.chat.openai import MALFORMED_ERRORS
from tersely.errors import MissingDependencyError

CONCURRENT = 64
"""Requests at the same time; the server batches them."""
TIMEOUT_S = 60.0
RETRIES = 3


class ServerReader:
    """Chat completions of `model` at `base_url`; the key comes from OPENAI_API_KEY, where one is needed.

    A request that still fails after retries has no answer (None).
    """

    def __init__(
        self, base_url: str, model: str, *, timeout_s: float = TIMEOUT_S, retries: int = RETRIES
    ) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingDependencyError("a server reader needs openai: pip install openai") from error
        self._openai = openai
        self._base_url, self._model = base_url, model
        self._timeout_s, self._retries = timeout_s, retries
        self.name = f"server-{model}-{digest(base_url).hex()[:6]}-{hash_prompt()}"

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """One answer for each prompt, in order; None where the server failed after all retries."""
        return asyncio.run(self._answer_all(prompts))

    async def _answer_all(self, prompts: Sequence[Prompt]) -> list[str | None]:
        gate = asyncio.Semaphore(CONCURRENT)
        async with self._openai.AsyncOpenAI(
            base_url=self._base_url,
            api_key=os.environ.get("OPENAI_API_KEY", "none"),
            timeout=self._timeout_s,
            max_retries=self._retries,
        ) as client:

            async def answer(prompt: Prompt) -> str | None:
                async with gate:
                    try:
                        reply = await client.chat.completions.create(
                            model=self._model,
                            messages=cast("Any", prompt.messages()),
                            max_tokens=NEW_TOKENS,
                            temperature=0.0,
                        )
                        content = reply.choices[0].message.content
                        return None if content is None else take_first_line(content)
                    except (self._openai.OpenAIError, *MALFORMED_ERRORS):
                        return None

            return list(await asyncio.gather(*map(answer, prompts)))
