"""Shorten the tool results of a chat for a gateway such as LiteLLM, and keep the originals.

The query of a result depends only on the messages before it, and its id only on its text. So the same result
in the same chat always becomes the same text, and the provider's prompt cache still fits.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tersely import Compression, Compressor
from tersely.adapters import EDIT_TOOLS, ToolLimits
from tersely.messages import join_query
from tersely.user_text import strip_agent_blocks
from tersely_hook.protected import call_prints_file
from tersely_http.recent import Recent
from tersely_ledger import Entry, Ledger
from tersely_ledger.store import SHADOW, SHORTENED, record_safely, sum_tools

LIMITS = ToolLimits(1000, dict.fromkeys(EDIT_TOOLS))
"""Largest number of tokens of a result, by tool."""

Message = dict[str, Any]


def make_hash(text: str) -> str:
    """Return the id of an original: the first 24 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Originals(Recent[str, str]):
    """Texts that were shortened, by their ids."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(lambda text: (text,), clock)

    def keep_text(self, text: str) -> str:
        """Keep a text, and return its id."""
        key = make_hash(text)
        self.keep(key, text)
        return key


@dataclass(frozen=True, slots=True)
class Shortened:
    """The messages of a request with shorter tool results."""

    messages: list[Message]
    tokens_before: int
    """Number of tokens of all texts."""
    tokens_after: int
    results: list[dict[str, Any]]
    """Message of each shortened text, hash of its original, `best_fits` and `answerable`."""
    receipts: list[Compression]


class Gateway:
    """A shortener of tool results that finds their originals again. Threads may share it."""

    def __init__(self, compressor: Compressor, ledger: Ledger | None = None, *, shadow: bool = False) -> None:
        self._compressor, self._ledger, self._is_shadow = compressor, ledger, shadow
        self.originals = Originals()

    def shorten(self, messages: Sequence[Message], frozen: int) -> Shortened:
        """Return the messages with shorter tool results.

        The first `frozen` messages and those with `cache_control` stay as they are. A gateway may leave out
        any message, so a result may come without its call, and without a question of the user.
        """
        count = self._compressor.count_tokens
        after = list(messages)
        results: list[dict[str, Any]] = []
        receipts: list[Compression] = []
        changes: list[tuple[str, int, int]] = []
        for position, tool, query in _find_results(messages):
            limit = LIMITS.get(tool)
            if position < frozen or limit is None or _is_cached(messages[position]):
                continue
            message = after[position] = copy.deepcopy(messages[position])
            for holder, key in _find_texts(message):
                if count(holder[key]) > limit:
                    short, receipt = self._shorten_text(holder[key], limit, query)
                    receipts.append(receipt)
                    if short is not None:
                        results.append(
                            {
                                "message": position,
                                "hash": self.originals.keep_text(holder[key]),
                                "best_fits": receipt.best_fits,
                                "answerable": receipt.answerable,
                            }
                        )
                        changes.append((tool, count(holder[key]), count(short)))
                        holder[key] = short
        if self._ledger is not None:
            arm = SHADOW if self._is_shadow else SHORTENED
            status = "compressed" if changes else "unchanged"
            entry = Entry(
                source="server",
                arm=arm,
                status=status,
                tools=sum_tools(changes),
                best_left_out=sum(result["best_fits"] is False for result in results),
            )
            record_safely(self._ledger, entry)
        if self._is_shadow:
            after, results = list(messages), []
        before, now = (
            sum(count(holder[key]) for m in rows for holder, key in _find_texts(m))
            for rows in (messages, after)
        )
        return Shortened(after, before, now, results, receipts)

    def _shorten_text(self, text: str, limit: int, query: str | None) -> tuple[str | None, Compression]:
        """Return a shorter text, or None if it must stay whole, and the receipt."""
        count = self._compressor.count_tokens
        head = f"[shortened from {count(text)} tokens. Retrieve original: hash={make_hash(text)}]\n"
        result = self._compressor.compress(query, [text], budget=max(1, limit - count(head)))
        short = head + result.text
        # If the model failed, exact matches would decide what the reader of the messages gets.
        is_usable = result.status == "compressed" and count(short) < count(text)
        return (short if is_usable else None), result


def _find_results(messages: Sequence[Message]) -> Iterator[tuple[int, str, str | None]]:
    """Yield position, tool and query of each tool result that is not a file which the agent may edit."""
    question = ""
    calls: dict[str, tuple[str, str]] = {}
    for position, message in enumerate(messages):
        role = message.get("role")
        if role == "user":
            text = " ".join(holder[key] for holder, key in _find_texts(message))
            question = strip_agent_blocks(text) or question
        elif role in ("tool", "function"):
            name = str(message.get("name") or "")
            call_id = message.get("tool_call_id")
            tool, arguments = (isinstance(call_id, str) and calls.get(call_id)) or (name, "")
            if not call_prints_file(arguments, question):
                yield position, tool, join_query(arguments, question)
        calls_made = message.get("tool_calls")
        for call in calls_made if isinstance(calls_made, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(call.get("id"), str):
                calls[call["id"]] = str(function.get("name")), str(function.get("arguments"))


def _find_texts(message: Message) -> list[tuple[dict[str, Any], str]]:
    """Return the places of the texts of a message: a mapping and a key for each."""
    content = message.get("content")
    if isinstance(content, str):
        return [(message, "content")]
    parts = content if isinstance(content, list) else []
    return [(part, "text") for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _is_cached(message: Message) -> bool:
    """Return whether the provider caches the prompt up to this message or a part of it."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("cache_control") for part in (message, *parts))
