"""Random transcripts through AgentMemory, each checked after every step.

`python -m tests.sdk.memory_fuzz --count 100000` runs many; the same number is always the same case.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tersely import Compressor
from tersely.chat import ChatError, ScriptedChat
from tersely.chat.messages import get_call_ids, measure_tokens
from tersely.errors import InvalidInputError
from tersely.memory import AgentMemory, MemoryStore, OverlongError
from tersely.text.approximate import ApproximateCounter
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer(), token_counter=lru_cache(50_000)(ApproximateCounter().count))
"""The built-in counter, with a memory, because every check counts the same messages again."""
WORDS = [
    "lamp",
    "tower",
    "1861",
    "/data/coast.csv",
    "ferry",
    "灯塔",
    "маяк",
    "max_docs",
    "tide's",
    "№7",
    "\n\n",
]
WORDS += ["lamp.", "tower.", "tide。", "1861.", "|", "a", "| b |", "<notes>", "$x", "{}", "```"]


@dataclass
class Seen:
    """What a case went through."""

    resets: int = 0
    reopened: int = 0
    parallel: int = 0
    images: int = 0
    shortened: int = 0
    overlong: bool = False
    tokens: int = 0
    limit: int = 0


def run_case(number: int) -> Seen:
    r = random.Random(number)
    limit = r.choice([512, 600, 1000, 3000])
    first = [{"role": "user", "content": _text(r, 30) or "x"}]
    if r.random() < 0.7:
        first.insert(0, {"role": "system", "content": _text(r, 20)})
    store = MemoryStore(":memory:") if r.random() < 0.3 else None
    settings: dict[str, Any] = {
        "limit": limit,
        "max_summaries": r.choice([None, None, 1, 5]),
        "summary_tokens": r.choice([None, 20, limit // 4]),
        "compress_over": r.choice([None, None, 30, 200]),
        "compressor": COMPRESSOR,
        "replay": r.random() < 0.8,
        "store": store,
    }
    memory = AgentMemory(first, **settings)
    model = ScriptedChat(lambda _: _answer(r))
    pins: dict[str, str] = {}
    seen = Seen(limit=limit)
    sent: list[Any] = []
    for turn in range(r.randint(1, 30)):
        if r.random() < 0.1 and len(pins) < 3:
            key = f"pin {turn}"
            text = _text(r, 12) or "keep"
            # Pins that would take more than their share of the limit are refused.
            with suppress(InvalidInputError):
                memory.pin(key, text)
                pins[key] = text
        _act(r, memory, turn, seen)
        if store and r.random() < 0.2:
            memory = _reopened(memory, settings)
            seen.reopened += 1
        resets = memory.transcript.resets
        try:
            if r.random() < 0.05:
                memory.reset(_text(r, 100))
            messages = memory.prepare(r.choice([model, None]))
        except OverlongError:
            assert memory.transcript.ending == "overlong"
            seen.overlong = True
            break
        check_context(messages, memory)
        assert messages[: len(first)] == first, "the first prompt changed"
        if memory.transcript.resets == resets:
            assert messages[: len(sent)] == sent, "bytes before the last reset changed"
        else:
            seen.resets += 1
            notes = [m["content"] for m in messages if "These notes stand for" in str(m["content"])]
            assert len(notes) == 1
            for key, text in pins.items():
                assert f"Pinned, {key}:\n{text}\n" in notes[0], "a pin was lost"
        sent = messages
        seen.tokens = max(seen.tokens, memory.transcript.tokens)
    _check_trajectory(memory)
    return seen


def _reopened(memory: AgentMemory, settings: dict[str, Any]) -> AgentMemory:
    """The memory as another process would find it."""
    other = AgentMemory(**settings)
    assert other.transcript == memory.transcript, "the store holds something else"
    return other


def check_context(messages: Sequence[Any], memory: AgentMemory) -> None:
    """No call without its results, no result without its call, and nothing beyond the limit."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, "a result without its call"
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting, "a call without its result"
            waiting = get_call_ids(message)
    assert not waiting, "a call without its result"
    used = measure_tokens(messages, COMPRESSOR.count_tokens)
    assert used == memory.transcript.tokens
    assert used < memory.journal.settings.limit, f"{used} tokens of {memory.journal.settings.limit}"


def _check_trajectory(memory: AgentMemory) -> None:
    parts = list(memory.transcript.trajectory())
    assert len(parts) == memory.transcript.resets + 1
    for part in parts:
        assert len(part.response) == len(part.mask) == len(part.steps)
        assert all(m["role"] == "assistant" for m, ours in zip(part.response, part.mask, strict=True) if ours)
        known = [s for s in part.steps if s is not None]
        assert known == sorted(known)


def _act(r: random.Random, memory: AgentMemory, turn: int, seen: Seen) -> None:
    kind = r.random()
    if kind < 0.15:
        memory.append({"role": "user", "content": _content(r, 40, seen)})
    elif kind < 0.18:
        memory.append({"role": "developer", "content": _text(r, 3)})
    elif kind < 0.25:
        memory.append({"role": "assistant", "content": _text(r, 60)})
    else:
        ids = [f"t{turn}-{i}" for i in range(r.choice([1, 1, 1, 2, 3, 5]))]
        seen.parallel += len(ids) > 1
        calls = [{"id": i, "type": "function", "function": _function(r)} for i in ids]
        memory.append(
            {"role": "assistant", "content": r.choice([None, "", _text(r, 10)]), "tool_calls": calls}
        )
        for i in r.sample(ids, len(ids)):
            content = _content(r, r.choice([5, 5, 5, 40, 40, 40, 400, 1500]), seen)
            memory.append({"role": "tool", "tool_call_id": i, "content": content})
        last = memory.transcript.messages if not memory.transcript.is_full else []
        seen.shortened += "id of the original" in str(last[-len(ids) :])


def _function(r: random.Random) -> dict[str, str]:
    return {"name": "search", "arguments": json.dumps({"query": _text(r, r.choice([3] * 20 + [900]))})}


def _content(r: random.Random, words: int, seen: Seen) -> Any:
    text = _text(r, words)
    if r.random() < 0.9:
        return text
    seen.images += 1
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    return r.sample([{"type": "text", "text": text}, image], r.choice([1, 2]))


def _text(r: random.Random, words: int) -> str:
    return " ".join(r.choices(WORDS, k=r.randint(0, words)))


def _answer(r: random.Random) -> Any:
    return r.choice(
        [_text(r, 30), _text(r, 800), "", "<think>x</think>", ChatError("down"), "A fact. " * 300]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    arguments = parser.parse_args()
    resets = failed = 0
    for number in range(arguments.first, arguments.first + arguments.count):
        try:
            resets += run_case(number).resets
        except Exception:  # noqa: BLE001  # whatever it is, the case's number belongs to it
            traceback.print_exc()
            print(f"case {number} failed", file=sys.stderr)
            failed += 1
    print(f"{arguments.count} transcripts, {resets} resets, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
