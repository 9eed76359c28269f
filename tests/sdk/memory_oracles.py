"""Rules that every context of a memory must obey, checked apart from the memory."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from tersely.messages import get_call_ids, get_text, measure_tokens
from tersely.tokens import ApproximateCounter
from tersely_agents.memory import AgentMemory

count_tokens = lru_cache(50_000)(ApproximateCounter().count)
"""The built-in counter, with a memory, because every check counts the same messages again."""

REFERENCE = re.compile(r"tokens[^\n\]]*; id of the original: ([0-9a-f]{12})\]")


def check_context(messages: Sequence[Any], memory: AgentMemory) -> None:
    """Assert that every call has its results, every result its call, and that the limit holds."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, "a result without its call"
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting, "a call without its result"
            waiting = get_call_ids(message)
    assert not waiting, "a call without its result"
    used = measure_tokens(messages, count_tokens)
    assert used == memory.transcript.tokens
    assert used < memory.journal.settings.limit, f"{used} tokens of {memory.journal.settings.limit}"


def check_roles(messages: Sequence[Any]) -> None:
    """Assert that the user's messages after a reset do not follow each other, up to the first message of
    another role."""
    roles = [m["role"] for m in messages]
    others = [place for place, role in enumerate(roles) if role in ("assistant", "tool")]
    begin = roles[: others[0]] if others else roles
    assert ("user", "user") not in pairwise(begin), "two messages of the user in a row"


def check_prefix(sent: Sequence[Any], messages: Sequence[Any]) -> None:
    """Assert that `messages` begin with `sent`, byte for byte. The user's last message may have grown at its
    end."""
    if not sent:
        return
    kept = messages[: len(sent)]
    assert len(kept) == len(sent), "messages were taken away without a reset"
    assert kept[:-1] == sent[:-1], "bytes before the last reset changed"
    if kept[-1] != sent[-1]:
        before, after = _parts(sent[-1]), _parts(kept[-1])
        assert kept[-1]["role"] == sent[-1]["role"] == "user", "bytes before the last reset changed"
        assert after[: len(before) - 1] == before[:-1], "bytes before the last reset changed"
        assert get_text({"content": after}).startswith(get_text({"content": before})), "the texts changed"


def check_references(messages: Sequence[Any], memory: AgentMemory, given: Sequence[str]) -> int:
    """Assert that every id leads to given texts, word for word, and to no shortened text. Return the number
    of ids.

    `given` are the texts of all messages as they were given.
    """
    keys = [key for message in messages for key in REFERENCE.findall(str(message["content"]))]
    for key in keys:
        original = memory.original(key)
        assert original is not None, f"the id {key} leads nowhere"
        assert not REFERENCE.search(original), f"the id {key} leads to a shortened text"
        if original not in given:
            for line in original.split("\n"):  # a whole step, or the parts of a message with images
                value = json.loads(line)
                message = {"content": value} if isinstance(value, list) else value
                assert get_text(message) in given, "an original holds a text that never came in"
    return len(keys)


def _parts(message: Any) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
