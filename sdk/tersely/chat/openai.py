"""Any server that speaks OpenAI's chat completions: vLLM, llama.cpp, Ollama, hosted ones."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import urllib.parse
from collections.abc import Sequence
from typing import Any, Unpack, cast
from weakref import WeakKeyDictionary

from tersely.chat.protocol import ChatError, Message, Options, Reply, Sampling, ToolCall, Usage
from tersely.errors import InvalidInputError, MissingDependencyError, OfflineError
from tersely.runtime.offline import LOOPBACK, network_forbidden

_OPENAI = "https://api.openai.com/v1"
NONSENSE = (ValueError, AttributeError, TypeError, KeyError, IndexError)
"""What reading raises where a server answers something else than a chat completion."""


class OpenAIChat:
    """Chat completions of `model` at `base_url`.

    Args:
        model: its name on the server; None for the first that the server lists.
        base_url: such as "http://127.0.0.1:8000/v1"; by default OPENAI_BASE_URL, or else OpenAI itself.
        api_key: by default OPENAI_API_KEY; servers of one's own usually need none.
        timeout_s: seconds for one try.
        retries: further tries, with growing pauses, after a busy server, a broken connection or a timeout.
        sampling: max_tokens, temperature and stop of every call that does not say otherwise.

    Raises:
        MissingDependencyError: the openai package is not installed.
        OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
        ChatError: `model` is None, and the server lists none.
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
        url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        try:
            host = urllib.parse.urlsplit(url).hostname
        except ValueError:
            host = None
        if not url.startswith(("http://", "https://")) or not host:
            raise InvalidInputError(
                f"base_url is {url!r}. Pass an address that starts with http:// or https://."
            )
        if network_forbidden() and host not in LOOPBACK:
            raise OfflineError(
                f"TERSELY_OFFLINE is set, and {host} is not this machine. Unset it, or use a server here."
            )
        self._openai = openai
        self._settings: dict[str, Any] = {
            "base_url": url,
            "api_key": api_key or os.environ.get("OPENAI_API_KEY") or "none",
            "timeout": timeout_s,
            "max_retries": retries,
        }
        # OpenAI's newer models know only the new name, other servers often only the old one.
        self._limit = (
            "max_completion_tokens" if host == urllib.parse.urlsplit(_OPENAI).hostname else "max_tokens"
        )
        self._sampling = sampling
        self._client = openai.OpenAI(**self._settings)
        self.name = "the server"
        self.name = self._first_model() if model is None else model
        # Connections belong to the loop that opened them.
        self._async_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """See `ChatModel.complete`."""
        request = self._request(messages, options)
        try:
            return _read(self._client.chat.completions.create(**request))
        except (self._openai.OpenAIError, *NONSENSE) as error:
            raise self._translated(error) from error

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """See `ChatModel.acomplete`."""
        request = self._request(messages, options)
        loop = asyncio.get_running_loop()
        client = self._async_clients.get(loop)
        if client is None:
            client = self._async_clients[loop] = self._openai.AsyncOpenAI(**self._settings)
        try:
            return _read(await client.chat.completions.create(**request))
        except (self._openai.OpenAIError, *NONSENSE) as error:
            raise self._translated(error) from error

    async def aclose(self) -> None:
        """Close the connections that `acomplete` has opened in the running event loop; it may go on with new
        ones."""
        client = self._async_clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _first_model(self) -> str:
        try:
            names = [model.id for model in self._client.models.list()]
        except self._openai.OpenAIError as error:
            raise self._translated(error) from error
        except NONSENSE:
            names = []
        if not names or not isinstance(cast("object", names[0]), str):
            raise ChatError(f"{self._settings['base_url']} lists no model. Pass the name of one.")
        return names[0]

    def _request(self, messages: Sequence[Message], options: Options) -> dict[str, Any]:
        wanted = {**self._sampling, **{key: value for key, value in options.items() if value is not None}}
        given: dict[str, Any] = {key: value for key, value in wanted.items() if value is not None}
        if "max_tokens" in given:
            given[self._limit] = given.pop("max_tokens")
        if not given.get("tools"):
            given = {key: value for key, value in given.items() if key not in ("tools", "tool_choice")}
        for key in {"stop", "tools"} & set(given):
            given[key] = list(given[key])
        return {"model": self.name, "messages": list(messages), **given}

    def _translated(self, error: Exception) -> ChatError:
        where = f"{self.name} at {self._settings['base_url']}"
        patience = self._settings["timeout"]
        if not isinstance(error, self._openai.OpenAIError):
            return ChatError(f"{where} gave an answer that is no chat completion ({error}).")
        if isinstance(error, self._openai.APITimeoutError):
            return ChatError(f"{where} did not answer within {patience} s. Raise timeout_s, or ask for less.")
        if isinstance(error, self._openai.APIConnectionError):
            return ChatError(f"{where} cannot be reached. Is the server running, and the address right?")
        return ChatError(f"{where} refused the request: {error}")


def _read(answer: Any) -> Reply:
    """The reply in a chat completion; a body that is none comes as a string or with parts missing."""
    choices: list[Any] = getattr(answer, "choices", None) or []
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        raise ChatError(
            "the server's answer is no chat completion. Does base_url end in /v1, as most servers want it?"
        )
    calls = tuple(
        ToolCall(call.id or "", call.function.name or "", _text(call.function.arguments))
        for call in message.tool_calls or ()
        if getattr(call, "function", None) is not None
    )
    return Reply(_text(message.content), calls, choices[0].finish_reason or "stop", _usage(answer.usage))


def _text(value: Any) -> str:
    """Some servers send parts instead of a text, or arguments as an object instead of its JSON."""
    if isinstance(value, list):
        parts = cast("list[dict[str, Any]]", value)
        return "".join(str(part.get("text", "")) for part in parts)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None)
    counts = (usage.prompt_tokens, usage.completion_tokens, cached)
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))
