"""Chat models behind a server with OpenAI's chat completions: vLLM, llama.cpp, Ollama, hosted ones."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.inputs import check_list, check_time_limit
from tersely.runtime.limits import check_key, check_retries, clean, drop_surrogates
from tersely.runtime.offline import parse_address
from tersely_agents.chat.completions import MALFORMED_ERRORS, parse_reply
from tersely_agents.chat.connection import Connection
from tersely_agents.chat.protocol import ChatError, Message, Options, Reply, Sampling, check_sampling

_OPENAI = "https://api.openai.com/v1"


class OpenAIChat:
    """Chat completions of `model` at `base_url`.

    An answer of more than 8 MiB is an error, and so is a redirect. Proxies of the environment are used only
    for servers on other machines.

    Args:
        model: its name on the server; None for the first model that the server lists.
        base_url: such as "http://127.0.0.1:8000/v1"; by default OPENAI_BASE_URL, or else OpenAI's own.
        api_key: by default OPENAI_API_KEY; a server of your own usually needs none.
        timeout_s: seconds for a call, including further attempts.
        retries: further attempts, with growing pauses, if the server is busy or the connection breaks.
        sampling: max_tokens, temperature and the rest of `Sampling`, for calls that do not give their own.

    Raises:
        MissingDependencyError: the openai package is not installed.
        OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
        InvalidInputError: `base_url` is not an HTTP address, or another argument cannot be used.
        ChatError: `model` is None and the server lists no model.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        retries: int = 2,
        **sampling: Unpack[Sampling],
    ) -> None:
        try:
            openai: Any = importlib.import_module("openai")
        except ImportError as error:
            raise MissingDependencyError(
                "OpenAIChat needs the openai package: pip install 'tersely[openai]'"
            ) from error
        key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
        check_key(key)
        self._connection = Connection(
            openai, _choose_url(base_url), key, check_time_limit(timeout_s), check_retries(retries)
        )
        # OpenAI's newer models accept only the new name, other servers often only the old one.
        is_openai = self._connection.address.host == parse_address(_OPENAI).host
        self._limit = "max_completion_tokens" if is_openai else "max_tokens"
        self._sampling = check_sampling(sampling)
        self.name = self._find_first_model() if model is None else model

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The model's next message. Raises ChatError if there is none in time."""
        request = self._build_request(messages, options)
        return self._read(
            self._connection.send(lambda c: c.chat.completions.with_streaming_response.create(**request))
        )

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """`complete` without blocking the event loop. Raises ChatError if there is no message in time."""
        request = self._build_request(messages, options)
        return self._read(
            await self._connection.asend(
                lambda c: c.chat.completions.with_streaming_response.create(**request)
            )
        )

    async def aclose(self) -> None:
        """Close the connections of `acomplete` in the running event loop. Later calls open new ones."""
        await self._connection.aclose()

    def _find_first_model(self) -> str:
        answer = self._connection.send(lambda client: client.models.with_streaming_response.list())
        try:
            name = answer["data"][0]["id"]
        except MALFORMED_ERRORS:
            name = None
        if not isinstance(name, str):
            raise ChatError(f"{self._connection.address.shown} lists no model. Pass the name of one.")
        return drop_surrogates(name)

    def _build_request(self, messages: Sequence[Message], options: Options) -> dict[str, Any]:
        own = {key: value for key, value in options.items() if value is not None}
        merged: dict[str, Any] = {k: v for k, v in {**self._sampling, **own}.items() if v is not None}
        if "max_tokens" in merged:
            merged[self._limit] = merged.pop("max_tokens")
        extra: dict[str, Any] = {}  # what the protocol does not have, and vLLM and llama.cpp do
        if "top_k" in merged:
            extra["top_k"] = merged.pop("top_k")
        if merged.pop("continue_last", False):
            extra |= {"add_generation_prompt": False, "continue_final_message": True}
        if extra:
            merged["extra_body"] = extra
        if not merged.get("tools"):
            merged = {key: value for key, value in merged.items() if key not in ("tools", "tool_choice")}
        if "stop" in merged:
            merged["stop"] = check_list(merged["stop"], str, "stop", "Pass a list of texts, even for one.")
        if "tools" in merged:
            remedy = "Pass a list of tools in OpenAI's format."
            merged["tools"] = check_list(merged["tools"], Mapping, "tools", remedy)
        asked: list[Message] = check_list(messages, Mapping, "messages", "Pass a list of messages.")
        return {"model": self.name, "messages": asked, **merged}

    def _read(self, answer: Any) -> Reply:
        try:
            return parse_reply(answer)
        except MALFORMED_ERRORS as error:
            raise ChatError(
                f"{self._connection.address.shown} gave an answer that is not a chat completion "
                f"({clean(error)}). Check base_url; it usually has to end in /v1."
            ) from error


def _choose_url(base_url: str | None) -> str:
    """The caller's address, or that of the environment. An empty one is refused: a variable that was not set
    must not send prompts to a public server."""
    if base_url is not None:
        if not base_url:
            raise InvalidInputError("base_url is empty. Pass an address, or None for OPENAI_BASE_URL.")
        return base_url
    url = os.environ.get("OPENAI_BASE_URL", _OPENAI)
    if not url.strip():
        raise InvalidInputError("OPENAI_BASE_URL is empty. Unset it, or set it to an address.")
    return url
