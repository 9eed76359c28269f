"""Chat models behind a server with OpenAI's chat completions: vLLM, llama.cpp, Ollama, hosted ones."""

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
MALFORMED_ERRORS = (ValueError, AttributeError, TypeError, KeyError, IndexError)
"""What parsing may raise if a server's answer is not a chat completion."""


class OpenAIChat:
    """Chat completions of `model` at `base_url`.

    Args:
        model: its name on the server; None for the first model that the server lists.
        base_url: such as "http://127.0.0.1:8000/v1"; by default OPENAI_BASE_URL, or else OpenAI's own.
        api_key: by default OPENAI_API_KEY; a server of your own usually needs none.
        timeout_s: seconds for one attempt.
        retries: further attempts, with growing pauses, if the server is busy, the connection breaks or the
            time is up.
        sampling: max_tokens, temperature and stop of calls that do not give their own.

    Raises:
        MissingDependencyError: the openai package is not installed.
        OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
        InvalidInputError: `base_url` is not an HTTP address.
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
                f"TERSELY_OFFLINE is set, and {host} is not this machine. Unset it, or use a local server."
            )
        self._openai = openai
        self._settings: dict[str, Any] = {
            "base_url": url,
            "api_key": api_key or os.environ.get("OPENAI_API_KEY") or "none",
            "timeout": timeout_s,
            "max_retries": retries,
        }
        # OpenAI's newer models accept only the new name, other servers often only the old one.
        self._limit = (
            "max_completion_tokens" if host == urllib.parse.urlsplit(_OPENAI).hostname else "max_tokens"
        )
        self._sampling = sampling
        self._client = openai.OpenAI(**self._settings)
        self.name = "the server"
        self.name = self._find_first_model() if model is None else model
        # A connection belongs to the event loop that opened it.
        self._async_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The model's next message. Raises ChatError if there is none."""
        request = self._build_request(messages, options)
        try:
            return _parse_reply(self._client.chat.completions.create(**request))
        except (self._openai.OpenAIError, *MALFORMED_ERRORS) as error:
            raise self._translate_error(error) from error

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """`complete` without blocking the event loop. Raises ChatError if there is no message."""
        request = self._build_request(messages, options)
        loop = asyncio.get_running_loop()
        client = self._async_clients.get(loop)
        if client is None:
            client = self._async_clients[loop] = self._openai.AsyncOpenAI(**self._settings)
        try:
            return _parse_reply(await client.chat.completions.create(**request))
        except (self._openai.OpenAIError, *MALFORMED_ERRORS) as error:
            raise self._translate_error(error) from error

    async def aclose(self) -> None:
        """Close the connections of `acomplete` in the running event loop. Later calls open new ones."""
        client = self._async_clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _find_first_model(self) -> str:
        try:
            names = [model.id for model in self._client.models.list()]
        except self._openai.OpenAIError as error:
            raise self._translate_error(error) from error
        except MALFORMED_ERRORS:
            names = []
        if not names or not isinstance(cast("object", names[0]), str):
            raise ChatError(f"{self._settings['base_url']} lists no model. Pass the name of one.")
        return names[0]

    def _build_request(self, messages: Sequence[Message], options: Options) -> dict[str, Any]:
        own = {key: value for key, value in options.items() if value is not None}
        merged: dict[str, Any] = {k: v for k, v in {**self._sampling, **own}.items() if v is not None}
        if "max_tokens" in merged:
            merged[self._limit] = merged.pop("max_tokens")
        if not merged.get("tools"):
            merged = {key: value for key, value in merged.items() if key not in ("tools", "tool_choice")}
        for key in {"stop", "tools"} & set(merged):
            merged[key] = list(merged[key])
        return {"model": self.name, "messages": list(messages), **merged}

    def _translate_error(self, error: Exception) -> ChatError:
        where = f"{self.name} at {self._settings['base_url']}"
        timeout = self._settings["timeout"]
        if not isinstance(error, self._openai.OpenAIError):
            return ChatError(
                f"{where} gave an answer that is not a chat completion ({error}). Check base_url."
            )
        if isinstance(error, self._openai.APITimeoutError):
            return ChatError(
                f"{where} did not answer within {timeout} s. Raise timeout_s, or lower max_tokens."
            )
        if isinstance(error, self._openai.APIConnectionError):
            return ChatError(f"{where} cannot be reached. Check that the server runs at this address.")
        return ChatError(f"{where} refused the request: {error}")


def _parse_reply(answer: Any) -> Reply:
    """The reply in a chat completion. Anything else arrives as a string or lacks parts."""
    choices: list[Any] = getattr(answer, "choices", None) or []
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        raise ChatError(
            "The server's answer is not a chat completion. Check base_url; it usually has to end in /v1."
        )
    calls = tuple(
        ToolCall(call.id or "", call.function.name or "", _read_text(call.function.arguments))
        for call in message.tool_calls or ()
        if getattr(call, "function", None) is not None
    )
    return Reply(
        _read_text(message.content), calls, choices[0].finish_reason or "stop", _read_usage(answer.usage)
    )


def _read_text(value: Any) -> str:
    """A text that some servers send as a list of parts or, if it is JSON, as an object."""
    if isinstance(value, list):
        parts = cast("list[dict[str, Any]]", value)
        return "".join(str(part.get("text", "")) for part in parts)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _read_usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None)
    counts = (usage.prompt_tokens, usage.completion_tokens, cached)
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))
