"""Recorded transcripts, and the facts that their later steps need.

A fact is a value (a name, a number, an id) that the agent writes into a tool call and that came in an
earlier message after the first prompt. The agent could not have made the call without it. In a meeting, the
facts are the sentences that answer the questions at its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks.shared.tasks import Example, load
from benchmarks.shared.tasks.rows import read_lines
from tersely.messages import Json, get_text
from tersely.split.sentences import split_units

SHORTEST = 3
"""Number of characters of a fact; shorter values occur everywhere."""
SHORTEST_SENTENCE = 40
"""Number of characters of a sentence that is a fact; shorter ones are like "Yeah." or "I think so."."""
TURNS_PER_CALL = 10
"""Number of turns of a meeting between two calls of the model."""
FEWEST = 12
"""Number of messages of a search run; most runs are shorter and need no memory."""

_ACTION = re.compile(r"Action: *(\w+)\[(.*)\]\s*\Z", re.DOTALL)
_NAME = re.compile(r"[A-Z0-9][\w.'-]*(?: [A-Z0-9][\w.'-]*)*")


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation that is replayed, and the facts that it needs."""

    id: str
    first: list[Json]
    """The first prompt, which every memory keeps."""
    rest: list[Json]
    facts: dict[int, list[str]]
    """The facts that a message of `rest` needs, by its place."""


def read_transcripts(folder: Path, name: str, seed: int) -> list[Transcript]:
    """Return the transcripts of a set that need some fact.

    "taubench" and "fireact" are runs of tool use in `<folder>/trajectories`; "qmsum" are meetings of the
    eval split.
    """
    transcripts = _read_meetings(folder, seed) if name == "qmsum" else _read_runs(folder, name)
    return [t for t in transcripts if t.facts]


def _read_runs(folder: Path, name: str) -> Iterator[Transcript]:
    for row in read_lines(folder / "trajectories" / f"traj_{name}.jsonl.gz"):
        if name == "fireact":
            messages = _parse_react(row["messages"]) if len(row["messages"]) >= FEWEST else []
        else:
            messages = [_keep_api_fields(m) for m in row["messages"]]
        cut = next((i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages))
        first, rest = messages[:cut], list(_cut_at_orphan(messages[cut:]))
        yield Transcript(row["id"], first, rest, find_facts(first, rest))


def _read_meetings(folder: Path, seed: int) -> Iterator[Transcript]:
    """Yield meetings, in which each turn is a message of the user. All questions come at the end."""
    by_meeting: dict[str, list[Example]] = {}
    for example in load("qmsum", "eval", data=folder, seed=seed):
        by_meeting.setdefault(example.documents[0].text, []).append(example)
    prompt = "Listen to this meeting. At its end you will be asked about it."
    for text, examples in by_meeting.items():
        rest: list[Json] = []
        for number, turn in enumerate(filter(str.strip, text.split("\n")), 1):
            rest.append({"role": "user", "content": turn})
            if number % TURNS_PER_CALL == 0:
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
            [{"role": "user", "content": prompt}],
            [*rest, answer],
            {len(rest): sorted(facts)} if facts else {},
        )


def find_facts(first: Sequence[Json], rest: Sequence[Json]) -> dict[int, list[str]]:
    """Return, for each message of `rest` that calls tools, the facts that it takes from earlier ones.

    Values of the first prompt do not count. A value that did not come literally, such as a search, counts by
    the names in it.
    """
    prompt = "\n".join(map(get_text, first))
    earlier = ""
    facts: dict[int, list[str]] = {}
    for place, message in enumerate(rest):
        values = {v for call in message.get("tool_calls") or () for v in _list_values(call)}
        values |= {name for v in values if v not in earlier for name in _NAME.findall(v)}
        known = sorted(v for v in values if len(v) >= SHORTEST and v in earlier and v not in prompt)
        if known:
            facts[place] = known
        earlier += "\n" + get_text(message)
    return facts


def _list_values(call: Mapping[str, Any]) -> Iterator[str]:
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        return
    yield from _list_leaves(arguments)


def _list_leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _list_leaves(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _list_leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _parse_react(messages: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Parse a ReAct log ("Thought: ... Action: search[...]", "Observation: ...") into calls and results."""
    parsed: list[Json] = []
    for number, message in enumerate(messages):
        text = str(message["content"])
        action = _ACTION.search(text) if message["role"] == "assistant" else None
        if action:
            function = {"name": action[1], "arguments": json.dumps({"text": action[2]})}
            call = {"id": str(number), "type": "function", "function": function}
            parsed.append({"role": "assistant", "content": text[: action.start()], "tool_calls": [call]})
        elif message["role"] == "user" and parsed and parsed[-1].get("tool_calls"):
            content = text.removeprefix("Observation: ")
            parsed.append({"role": "tool", "tool_call_id": str(number - 1), "content": content})
        else:
            parsed.append({"role": message["role"], "content": text})
    return parsed


def _keep_api_fields(message: Mapping[str, Any]) -> Json:
    """Return a message with the fields that a chat API accepts."""
    kept = {
        k: message[k] for k in ("role", "content", "tool_calls", "tool_call_id") if message.get(k) is not None
    }
    return {"content": None, **kept} if kept["role"] == "assistant" else kept


def _cut_at_orphan(messages: list[Json]) -> Iterator[Json]:
    """Yield messages up to the first that no API accepts: a result without its call, or the reverse."""
    unanswered: set[str] = set()
    step: list[Json] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in unanswered:
                return
            unanswered.discard(message["tool_call_id"])
        elif unanswered:
            return
        else:
            unanswered = {call["id"] for call in message.get("tool_calls") or ()}
            if message["role"] == "assistant" and not unanswered and not message.get("content"):
                continue
        step.append(message)
        if not unanswered:
            yield from step
            step = []
