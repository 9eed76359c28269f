"""Real transcripts, and the facts that each later step of them needs.

A fact is a value that the agent wrote into a tool call (a name, a number, an id) and that an earlier message,
other than the first prompt, had told it. The transcript shows that it was needed: without it the agent could
not have made the call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tasks.rows import read_lines
from tersely.chat.transcript import text_of

SHORTEST = 3
"""Characters of a fact; shorter values are found everywhere."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Transcript:
    id: str
    first: list[Json]
    """The first prompt, which every memory keeps."""
    rest: list[Json]


def read_transcripts(folder: Path, name: str) -> list[Transcript]:
    """The transcripts of a set in `<folder>/trajectories`, without those that make no tool call."""
    found: list[Transcript] = []
    for row in read_lines(folder / "trajectories" / f"{name}.jsonl.gz"):
        messages = [_plain(m) for m in row["messages"]]
        cut = next((i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages))
        if any(m.get("tool_calls") for m in messages[cut:]):
            found.append(Transcript(row["id"], messages[:cut], list(_paired(messages[cut:]))))
    return found


def needed(transcript: Transcript) -> dict[int, list[str]]:
    """For each message of `rest` that calls tools, the facts that it takes from earlier ones."""
    given = "\n".join(map(text_of, transcript.first))
    told = ""
    found: dict[int, list[str]] = {}
    for place, message in enumerate(transcript.rest):
        values = {v for call in message.get("tool_calls") or () for v in _values(call)}
        facts = sorted(v for v in values if len(v) >= SHORTEST and v in told and v not in given)
        if facts:
            found[place] = facts
        told += "\n" + text_of(message)
    return found


def _values(call: Mapping[str, Any]) -> Iterator[str]:
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        return
    yield from _leaves(arguments)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _plain(message: Mapping[str, Any]) -> Json:
    """The fields that a chat API takes."""
    kept = {
        k: message[k] for k in ("role", "content", "tool_calls", "tool_call_id") if message.get(k) is not None
    }
    return {"content": None, **kept} if kept["role"] == "assistant" else kept


def _paired(messages: list[Json]) -> Iterator[Json]:
    """Messages up to the first that no API would take: a result without its call, or a call without its
    result."""
    waiting: set[str] = set()
    step: list[Json] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                return
            waiting.discard(message["tool_call_id"])
        elif waiting:
            return
        else:
            waiting = {call["id"] for call in message.get("tool_calls") or ()}
            if message["role"] == "assistant" and not waiting and not message.get("content"):
                continue
        step.append(message)
        if not waiting:
            yield from step
            step = []
