"""Chat models on a server with OpenAI's chat completions: vLLM, llama.cpp, Ollama, hosted ones."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack
from weakref import WeakKeyDictionary

from tersely.errors import InvalidInputError
from tersely.inputs import check_list, check_time_limit
from tersely.runtime.http import Endpoint
from tersely.runtime.limits import clean, parse_json, repair_surrogates
from tersely_agents.chat.protocol import (
    MALFORMED_ERRORS,
    ChatError,
    Message,
    Options,
    Reply,
    Sampling,
    check_sampling,
    parse_reply,
)

if TYPE_CHECKING:
    import httpx2

_OPENAI_URL = "https://api.openai.com/v1"
_COMPLETIONS_PATH = "/chat/completions"


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
        MissingDependencyError: httpx2 is not installed.
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
        self._endpoint = Endpoint(
            _choose_url(base_url),
            api_key or os.environ.get("OPENAI_API_KEY") or None,
            check_time_limit(timeout_s),
            retries,
            kind="",
            faster="lower max_tokens",
            error=ChatError,
        )
        # OpenAI's newer models accept only the new name, other servers often only the old one.
        is_openai = self._endpoint.address.host == "api.openai.com"
        self._max_tokens_name = "max_completion_tokens" if is_openai else "max_tokens"
        self._sampling = check_sampling(sampling)
        # A connection belongs to the event loop that opened it.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()
        self.name = self._find_first_model() if model is None else model

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Return the model's next message. Raises ChatError if none comes in time."""
        return self._parse_answer(
            self._endpoint.send(_COMPLETIONS_PATH, self._build_request(messages, options))
        )

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Do the same as `complete` without blocking the event loop. Connections stay open until `aclose`."""
        request = self._build_request(messages, options)
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._endpoint.open()
        return self._parse_answer(await self._endpoint.asend(client, _COMPLETIONS_PATH, request))

    async def aclose(self) -> None:
        """Close the connections of `acomplete` in the running event loop. Later calls open new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _find_first_model(self) -> str:
        try:
            name = parse_json(self._endpoint.send("/models"))["data"][0]["id"]
        except MALFORMED_ERRORS:
            name = None
        if not isinstance(name, str):
            raise ChatError(f"{self._endpoint.name} lists no model. Pass the name of one.")
        return repair_surrogates(name)

    def _build_request(self, messages: Sequence[Message], options: Options) -> dict[str, Any]:
        given = [*self._sampling.items(), *options.items()]
        request: dict[str, Any] = {key: value for key, value in given if value is not None}
        if "max_tokens" in request:
            request[self._max_tokens_name] = request.pop("max_tokens")
        if request.pop("continue_last", False):  # the protocol has no name for it; vLLM and llama.cpp do
            request |= {"add_generation_prompt": False, "continue_final_message": True}
        if "stop" in request:
            request["stop"] = check_list(request["stop"], str, "stop", "Pass a list of texts, even for one.")
        tools = request.pop("tools", None)
        if tools:
            remedy = "Pass a list of tools in OpenAI's format."
            checked: list[Mapping[str, Any]] = check_list(tools, Mapping, "tools", remedy)
            request["tools"] = [dict(tool) for tool in checked]
        else:
            request.pop("tool_choice", None)
        asked: list[Message] = check_list(messages, Mapping, "messages", "Pass a list of messages.")
        return {"model": self.name, "messages": [dict(message) for message in asked], **request}

    def _parse_answer(self, answer: bytes) -> Reply:
        try:
            return parse_reply(parse_json(answer))
        except MALFORMED_ERRORS as error:
            raise ChatError(
                f"{self._endpoint.name} gave an answer that is not a chat completion "
                f"({clean(error)}). Check base_url; it usually has to end in /v1."
            ) from error


def _choose_url(base_url: str | None) -> str:
    """Return the caller's address, or that of the environment. An empty one is refused: a variable that was
    not set must not send prompts to a public server."""
    if base_url is not None:
        if not base_url:
            raise InvalidInputError("base_url is empty. Pass an address, or None for OPENAI_BASE_URL.")
        return base_url
    url = os.environ.get("OPENAI_BASE_URL", _OPENAI_URL)
    if not url.strip():
        raise InvalidInputError("OPENAI_BASE_URL is empty. Unset it, or set it to an address.")
    return url
