"""A language model on any OpenAI-compatible server: vLLM, llama.cpp, a hosted one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from benchmarks.shared.cache import digest
from benchmarks.shared.readers.protocol import NEW_TOKENS, Prompt, Template, hash_prompt, take_first_line
from tersely_agents.chat import ChatError, OpenAIChat

CONCURRENT = 64
"""Number of requests at the same time; the server batches them."""
TIMEOUT_S = 240.0
"""Time limit of a request, including further attempts."""
RETRIES = 3


class ServerReader:
    """Chat completions of `model` at `base_url`; the key comes from OPENAI_API_KEY, if one is needed.

    A request that still fails after retries has no answer (None).
    """

    trained_on: frozenset[str] = frozenset()
    """Empty, because this repository does not train the model."""

    def __init__(
        self,
        base_url: str,
        model: str,
        template: Template,
        *,
        retries: int = RETRIES,
    ) -> None:
        self._template: Template = template
        self._chat = OpenAIChat(
            model,
            base_url=base_url,
            timeout_s=TIMEOUT_S,
            retries=retries,
            temperature=0.0,
            max_tokens=NEW_TOKENS,
        )
        self.name = f"server-{model}-{digest(base_url).hex()[:6]}-{hash_prompt(template)}"

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Return one answer for each prompt, in order; None if the server failed after all retries."""
        return asyncio.run(self._answer_all(prompts))

    async def _answer_all(self, prompts: Sequence[Prompt]) -> list[str | None]:
        gate = asyncio.Semaphore(CONCURRENT)

        async def answer(prompt: Prompt) -> str | None:
            async with gate:
                try:
                    reply = await self._chat.acomplete(prompt.messages(self._template))
                    return take_first_line(reply.text)
                except ChatError:
                    return None

        try:
            return list(await asyncio.gather(*map(answer, prompts)))
        finally:
            await self._chat.aclose()
