"""Random transcripts through AgentMemory, each checked after every step.

`python -m tests.audit.transcripts --count 20000` runs many; the same number is always the same case. A run
that is stopped says how far it came.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tersely import Compressor
from tersely.errors import InvalidInputError
from tersely.messages import get_text, measure_tokens
from tersely_agents.chat import ChatError, ScriptedChat
from tersely_agents.memory import AgentMemory, MemoryStore, OverlongError
from tests.sdk.fakes import FakeScorer
from tests.sdk.memory_oracles import (
    check_context,
    check_prefix,
    check_references,
    check_roles,
    count_tokens,
)

WORDS_AROUND_NOTES = 80
"""Largest number of tokens of them."""
COMPRESSOR = Compressor(FakeScorer(), token_counter=count_tokens)
WORDS = [
    "lamp", "tower", "1861", "/data/coast.csv", "ferry", "灯塔", "маяк", "max_docs", "tide's", "№7", "\n\n",
]  # fmt: skip
WORDS += ["lamp.", "tower.", "tide。", "1861.", "|", "a", "| b |", "<notes>", "$x", "{}", "```"]


@dataclass
class Seen:
    """The steps that a case went through."""

    resets: int = 0
    reopened: int = 0
    parallel: int = 0
    images: int = 0
    shortened: int = 0
    references: int = 0
    lowered: int = 0
    given: list[str] = field(default_factory=list[str])
    """The texts of all messages that came in."""
    overlong: bool = False
    tokens: int = 0
    limit: int = 0


def run_case(number: int) -> Seen:
    r = random.Random(number)
    limit = r.choice([200, 300, 512, 600, 1000, 3000])
    seen = Seen(limit=limit)
    # Now and then more than half of the limit, and several messages.
    first: list[Any] = [
        {"role": "user", "content": _content(r, r.choice([30] * 8 + [400, 1500]), seen) or "x"}
        for _ in range(r.choice([1] * 9 + [4]))
    ]
    is_long = sum(
        count_tokens(get_text(m)) + 2000 * isinstance(m["content"], list) for m in first
    ) > limit // 4 - 40 * (limit < 512)
    if r.random() < 0.7:
        first.insert(0, {"role": "system", "content": _text(r, 20)})
    seen.given += [get_text(m) for m in first]
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
    try:
        memory = AgentMemory(first, **settings)
    except InvalidInputError:  # the system message alone may take more than half of a small limit
        assert limit < 300
        return seen
    model = ScriptedChat(lambda _: _answer(r))
    pins: dict[str, tuple[str, int]] = {}
    """Texts by key, and the resets before them."""
    sent: list[Any] = []
    resets = 0
    for turn in range(r.randint(1, 30)):
        if r.random() < 0.1 and len(pins) < 3:
            key = f"pin {turn}"
            text = _text(r, 12) or "keep"
            # Pins that would take more than their share of the limit are refused.
            with suppress(InvalidInputError):
                memory.pin(key, text)
                pins[key] = text, memory.transcript.resets
        try:
            _act(r, memory, turn, seen)
        except InvalidInputError as error:
            if "or pin less" not in str(error):
                raise
        except OverlongError:
            seen.overlong = True
            break
        if store and r.random() < 0.2:
            memory = _reopened(memory, settings)
            seen.reopened += 1
            if r.random() < 0.1:
                memory = _lowered(r, memory, settings, seen)
        if r.random() < 0.2 and turn:
            continue  # the caller does not ask for the context after every message
        try:
            if r.random() < 0.05:
                memory.reset(_text(r, 100))
            messages = memory.prepare(r.choice([model, None]))
        except OverlongError:
            assert memory.transcript.ending == "overlong"
            seen.overlong = True
            break
        check_context(messages, memory)
        seen.references += check_references(messages, memory, seen.given)
        _check_first(first, messages, memory, is_long or seen.lowered > 0)
        if memory.transcript.resets == resets:
            check_prefix(sent, messages)
        else:
            seen.resets += 1
        if memory.transcript.resets:
            check_roles(messages)
            assert str(messages).count("They are a record of work") <= 1
        if memory.transcript.resets != resets:
            texts = [get_text(m) for m in messages]
            for key, (text, before) in pins.items():
                assert memory.transcript.resets == before or any(
                    f"Pinned, {key}:\n{text}\n" in t for t in texts
                ), "a pin was lost"
        sent, resets = messages, memory.transcript.resets
        seen.tokens = max(seen.tokens, memory.transcript.tokens)
    _check_trajectory(memory)
    return seen


def _reopened(memory: AgentMemory, settings: dict[str, Any]) -> AgentMemory:
    """Return the memory as another process would find it."""
    other = AgentMemory(**settings)
    assert other.transcript == memory.transcript, "the store holds something else"
    return other


def _lowered(r: random.Random, memory: AgentMemory, settings: dict[str, Any], seen: Seen) -> AgentMemory:
    """Return the memory, opened with a lower limit if its pins leave room for that."""
    limit = r.choice([200, 512, 600, 1000])
    if limit >= settings["limit"]:
        return memory
    lower = {**settings, "limit": limit, "summary_tokens": None}
    with suppress(InvalidInputError):
        memory = AgentMemory(**lower)
        settings |= lower
        seen.lowered += 1
    return memory


def _check_first(first: list[Any], messages: list[Any], memory: AgentMemory, is_long: bool) -> None:
    """Assert that the first prompt is unchanged, or that only its long messages are shortened."""
    assert [m for m in first if m["role"] != "user"] == messages[: len(first)][: first[0]["role"] == "system"]
    if is_long:
        return
    if not memory.transcript.resets:
        assert messages[: len(first)] == first, "the first prompt changed"
    if _measure_kept(first, messages, memory) > memory.journal.settings.limit // 2:
        return  # pins and system messages go before the task
    shown = "\n".join(get_text(m) for m in messages)
    assert all(get_text(m) in shown for m in first if m["role"] == "user"), "the task changed"


def _measure_kept(first: list[Any], messages: list[Any], memory: AgentMemory) -> int:
    """Return the number of tokens of the first prompt, of all system messages, and of the pins with the words
    around notes."""
    system = [m for m in messages if m["role"] in ("system", "developer") and m not in first]
    pinned = sum(count_tokens(f"Pinned, {key}:\n{text}\n") for key, text in memory.transcript.pins.items())
    return measure_tokens([*first, *system], count_tokens) + pinned + WORDS_AROUND_NOTES


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
        message = {"role": "user", "content": _content(r, r.choice([40] * 9 + [1500]), seen)}
        seen.given.append(get_text(message))
        memory.append(message)
    elif kind < 0.18:
        memory.append({"role": "developer", "content": _text(r, 3)})
    elif kind < 0.25:
        seen.given.append(text := _text(r, 60))
        memory.append({"role": "assistant", "content": text})
    else:
        ids = [f"t{turn}-{i}" for i in range(r.choice([1, 1, 1, 2, 3, 5]))]
        seen.parallel += len(ids) > 1
        calls = [{"id": i, "type": "function", "function": _function(r)} for i in ids]
        message = {"role": "assistant", "content": r.choice([None, "", _text(r, 10)]), "tool_calls": calls}
        seen.given.append(get_text(message))
        memory.append(message)
        for i in r.sample(ids, len(ids)):
            content = _content(r, r.choice([5, 5, 5, 40, 40, 40, 400, 1500]), seen)
            message = {"role": "tool", "tool_call_id": i, "content": content}
            seen.given.append(get_text(message))
            memory.append(message)
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
    parts = [{"type": "text", "text": text}, *[image] * r.choice([1, 1, 1, 5])]
    return r.sample(parts, r.randint(1, len(parts)))


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
    count = resets = failed = 0
    with suppress(KeyboardInterrupt):
        for number in range(arguments.first, arguments.first + arguments.count):
            count += 1
            try:
                resets += run_case(number).resets
            except Exception:  # noqa: BLE001  # whatever it is, the case's number belongs to it
                traceback.print_exc()
                print(f"case {number} failed", file=sys.stderr)
                failed += 1
    print(f"{count} transcripts, {resets} resets, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
