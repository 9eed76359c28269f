"""Real transcripts, and the facts that each later step of them needs.

A fact is a value that the agent wrote into a tool call (a name, a number, an id) and that an earlier message,
other than the first prompt, had told it. The transcript shows that it was needed: without it the agent could
not have made the call. Of a meeting, the facts are the sentences that answer the questions asked at its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.shared.tasks import Example, load
from benchmarks.shared.tasks.rows import read_lines
from tersely.chat.transcript import Json, text_of
from tersely.text.sentences import split_units

SHORTEST = 3
"""Characters of a fact; shorter values are found everywhere."""
SHORTEST_SENTENCE = 40
"""Characters of a sentence that is a fact; shorter ones are "Yeah." and "I think so."."""
LISTENED = 10
"""Turns of a meeting between two calls of the model."""
FEWEST = 12
"""Messages of a search run; most are shorter, and need no memory."""

_ACTION = re.compile(r"Action: *(\w+)\[(.*)\]\s*\Z", re.DOTALL)
_NAME = re.compile(r"[A-Z0-9][\w.'-]*(?: [A-Z0-9][\w.'-]*)*")


@dataclass(frozen=True, slots=True)
class Transcript:
    id: str
    first: list[Json]
    """The first prompt, which every memory keeps."""
    rest: list[Json]
    facts: dict[int, list[str]]
    """For each message of `rest`, by its place, what has to be known for it."""


def read_transcripts(folder: Path, name: str, seed: int) -> list[Transcript]:
    """The transcripts of a set that need some fact. "taubench" and "fireact" are tool-use runs in
    `<folder>/trajectories`, "qmsum" are meetings of the evaluation part.
    """
    found = _meetings(folder, seed) if name == "qmsum" else _runs(folder, name)
    return [t for t in found if t.facts]


def _runs(folder: Path, name: str) -> Iterator[Transcript]:
    for row in read_lines(folder / "trajectories" / f"traj_{name}.jsonl.gz"):
        if name == "fireact":
            messages = _called(row["messages"]) if len(row["messages"]) >= FEWEST else []
        else:
            messages = [_plain(m) for m in row["messages"]]
        cut = next((i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages))
        first, rest = messages[:cut], list(_paired(messages[cut:]))
        yield Transcript(row["id"], first, rest, needed(first, rest))


def _meetings(folder: Path, seed: int) -> Iterator[Transcript]:
    """Each speaker's turn is a message of the user's; at the end come the meeting's questions, together."""
    asked: dict[str, list[Example]] = {}
    for example in load("qmsum", "eval", data=folder, seed=seed):
        asked.setdefault(example.documents[0].text, []).append(example)
    ask = "Listen to this meeting. At its end you will be asked about it."
    for text, examples in asked.items():
        rest: list[Json] = []
        for number, turn in enumerate(filter(str.strip, text.split("\n")), 1):
            rest.append({"role": "user", "content": turn})
            if number % LISTENED == 0:
                rest.append({"role": "assistant", "content": "I am listening."})
        rest.append({"role": "user", "content": "\n".join(e.question for e in examples)})
        spans = {span for e in examples for span in e.support or ()}
        relevant = (text[start:end] for _, start, end in sorted(spans))
        facts = {
            part[u.start : u.end].strip()
            for part in relevant
            for u in split_units(part)
            if u.end - u.start >= SHORTEST_SENTENCE
        }
        answer: Json = {"role": "assistant", "content": "These are my answers."}
        yield Transcript(
            examples[0].id,
            [{"role": "user", "content": ask}],
            [*rest, answer],
            {len(rest): sorted(facts)} if facts else {},
        )


def needed(first: Sequence[Json], rest: Sequence[Json]) -> dict[int, list[str]]:
    """For each message of `rest` that calls tools, the facts that it takes from earlier ones, those of the
    first prompt left out; of a value that was not told as it is, such as a search, the names in it."""
    given = "\n".join(map(text_of, first))
    told = ""
    found: dict[int, list[str]] = {}
    for place, message in enumerate(rest):
        values = {v for call in message.get("tool_calls") or () for v in _values(call)}
        values |= {name for v in values if v not in told for name in _NAME.findall(v)}
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


def _called(messages: Sequence[Mapping[str, Any]]) -> list[Json]:
    """A ReAct log, "Thought: ... Action: search[...]" and "Observation: ...", as calls and results."""
    found: list[Json] = []
    for number, message in enumerate(messages):
        text = str(message["content"])
        action = _ACTION.search(text) if message["role"] == "assistant" else None
        if action:
            function = {"name": action[1], "arguments": json.dumps({"text": action[2]})}
            call = {"id": str(number), "type": "function", "function": function}
            found.append({"role": "assistant", "content": text[: action.start()], "tool_calls": [call]})
        elif message["role"] == "user" and found and found[-1].get("tool_calls"):
            content = text.removeprefix("Observation: ")
            found.append({"role": "tool", "tool_call_id": str(number - 1), "content": content})
        else:
            found.append({"role": message["role"], "content": text})
    return found


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
