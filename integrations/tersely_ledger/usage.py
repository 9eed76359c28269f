"""The tokens that a provider reports in its answers: OpenAI's and Anthropic's, streamed or not."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

MAX_BYTES = 16 * 2**20
"""Largest number of bytes of an answer, or of one line of a stream, that are kept to be read."""


class Usage(NamedTuple):
    """Tokens of a request by their price."""

    input: int
    """Number of tokens of the prompt that were neither read from a cache nor written to one."""
    cache_read: int
    cache_write: int
    output: int

    @property
    def prompt(self) -> int:
        """Number of all tokens of the prompt."""
        return self.input + self.cache_read + self.cache_write


@dataclass(slots=True)
class Reported:
    """The tokens and the model that an answer reports."""

    usage: Usage | None = None
    model: str | None = None


class UsageReader:
    """A reader of the usage that an answer reports, while the answer's bytes pass.

    Args:
        content_type: header of the answer. Only answers in JSON, and streams of events, are read.
        encoding: header of the answer. Only answers in gzip, or without an encoding, are read.
    """

    def __init__(self, content_type: str, encoding: str = "") -> None:
        self._is_stream = content_type.startswith("text/event-stream")
        self._is_read = self._is_stream or "json" in content_type
        self._unzip = None
        if encoding.lower() == "gzip":
            self._unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif encoding.lower() not in ("", "identity"):
            self._is_read = False
        self._rest = bytearray()
        self._first = self._last = b""
        """Lines of a stream with the tokens of the prompt and of the whole answer."""

    def feed(self, part: bytes) -> None:
        """Take the next bytes of the answer."""
        if not self._is_read:
            return
        if self._unzip is not None:
            try:
                part = self._unzip.decompress(part, MAX_BYTES + 1)
            except zlib.error:
                part = b" " * (MAX_BYTES + 1)
        self._rest += part
        if len(self._rest) > MAX_BYTES:
            self._is_read, self._rest = False, bytearray()
        elif self._is_stream and b"\n" in part:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                # Inside of a JSON string the quotation marks would be escaped.
                if b'"usage"' in line and b'"usage":null' not in line.replace(b" ", b""):
                    self._first, self._last = self._first or bytes(line), bytes(line)

    def read(self) -> Reported:
        """Return the usage reported so far, even if the answer has broken off."""
        reported = Reported()
        if not self._is_stream:
            lines = [bytes(self._rest)]
        else:
            lines = [line.partition(b":")[2] for line in dict.fromkeys((self._first, self._last))]
        merged: dict[str, Any] = {}
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            for holder in (
                (event, *map(event.get, ("message", "response"))) if isinstance(event, dict) else ()
            ):
                if isinstance(holder, dict):
                    merged.update(_drop_nulls(holder.get("usage")))
                    model = holder.get("model")
                    reported.model = model if isinstance(model, str) else reported.model
        reported.usage = read_usage(merged)
        return reported


def read_usage(fields: Mapping[str, Any]) -> Usage | None:
    """Return the tokens of a usage object of OpenAI or Anthropic; None if it lists no tokens."""
    details = fields.get("prompt_tokens_details", fields.get("input_tokens_details"))
    read = _get(fields, "cache_read_input_tokens")
    written = _get(fields, "cache_creation_input_tokens")
    output = _get(fields, "completion_tokens", "output_tokens")
    if "cache_read_input_tokens" in fields or "cache_creation_input_tokens" in fields:
        return Usage(_get(fields, "input_tokens"), read, written, output)
    if not {"prompt_tokens", "input_tokens"} & set(fields):
        return None
    # OpenAI counts cached tokens among those of the prompt; Anthropic does not.
    prompt = _get(fields, "prompt_tokens", "input_tokens")
    cached = min(prompt, _get(details if isinstance(details, dict) else {}, "cached_tokens"))
    return Usage(prompt - cached, cached, 0, output)


def _drop_nulls(usage: Any) -> dict[str, Any]:
    given = usage if isinstance(usage, dict) else {}
    return {name: value for name, value in given.items() if value is not None}


def _get(fields: Mapping[str, Any], *names: str) -> int:
    """Return the first of the counts that is there; 0 without one."""
    found = (fields[name] for name in names if name in fields)
    value = next(found, 0)
    return max(0, value) if type(value) is int else 0
