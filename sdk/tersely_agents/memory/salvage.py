"""What can be read of a damaged store, session by session, and a new store with it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tersely.errors import InvalidInputError
from tersely.messages import Json, get_call_ids
from tersely_agents.memory.events import KINDS
from tersely_agents.memory.store import MemoryStore, StoreError, row_checksum

_LOST = "[no result: it could not be read from a damaged file]"


@dataclass(slots=True)
class SessionCheck:
    """What is left of a session."""

    events: dict[int, Json] = field(default_factory=dict[int, Json])
    """Events that are what was written, by their place."""
    originals: dict[str, str] = field(default_factory=dict[str, str])
    damaged_events: set[int] = field(default_factory=set[int])
    damaged_originals: int = 0
    written: tuple[int, int] = (0, 0)
    """Numbers of events and of originals that were written, where the file still says so."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing_events and not self.missing_originals

    @property
    def missing_events(self) -> list[int]:
        """Places of the events that are damaged or lost."""
        count = max([self.written[0], *(n + 1 for n in (*self.events, *self.damaged_events))])
        return [number for number in range(count) if number not in self.events]

    @property
    def missing_originals(self) -> int:
        """Originals that are damaged or lost."""
        return max(self.damaged_originals, self.written[1] - len(self.originals))

    def rebuild(self) -> list[Json]:
        """Events that make a session again: all that can be read, without results of lost calls, and with a
        note for lost results. None where neither the first prompt nor a reset is left."""
        order = sorted(self.events)
        if 0 not in self.events:
            resets = [number for number in order if self.events[number]["kind"] == "reset"]
            if not resets:
                return []
            order = order[order.index(resets[0]) :]
            first: Json = {"kind": "first", "messages": self.events[resets[0]]["base"][:-1]}
            return [first, *_rebuild([self.events[number] for number in order])]
        return _rebuild([self.events[number] for number in order])


def check_store(path: str | Path) -> dict[str, SessionCheck]:
    """What is left of each session in the file. Raises StoreError where nothing can be read."""
    if not Path(path).is_file():
        raise StoreError(f"{path} does not exist. Name the file of a MemoryStore.")
    try:
        connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}. Restore a copy.") from error
    connection.text_factory = bytes
    sessions: dict[str, SessionCheck] = {}
    with contextlib.closing(connection):
        try:
            columns = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"{path}: {error}. Nothing can be read; restore a copy.") from error
        if not columns:
            raise StoreError(f"{path} holds no sessions that can be read. Restore a copy.")
        has_checksums = b"checksum" in columns
        checksum = "checksum" if has_checksums else "NULL"
        for row in _scan(connection, f"session, number, event, {checksum}", "events", "session, number"):
            check = _session(sessions, row[0])
            if check is not None and type(row[1]) is int and 0 <= row[1] < 2**31:
                value = _value(row, has_checksums)
                if isinstance(value, dict) and cast("Json", value).get("kind") in KINDS:
                    check.events[row[1]] = value
                else:
                    check.damaged_events.add(row[1])
        for row in _scan(connection, f"session, id, text, {checksum}", "originals", "session, id"):
            check = _session(sessions, row[0])
            if check is not None:
                value, key = _value(row, has_checksums), _text(row[1])
                if isinstance(value, str) and key is not None:
                    check.originals[key] = value
                else:
                    check.damaged_originals += 1
        for row in _scan(connection, "session, events, originals, checksum", "sessions", "session"):
            name = _text(row[0])
            if name is not None and _text(row[3]) == row_checksum(name, row[1], row[2]):
                sessions.setdefault(name, SessionCheck()).written = (row[1], row[2])
    return sessions


def save_sessions(sessions: dict[str, SessionCheck], path: str | Path) -> dict[str, int]:
    """Write what is left of each session to a new store at `path`; how many events of each."""
    if Path(path).exists():
        raise InvalidInputError(f"{path} exists. Name a new file to save to.")
    saved: dict[str, int] = {}
    with contextlib.closing(MemoryStore(path)) as store:
        for name, check in sessions.items():
            events = check.rebuild()
            saved[name] = len(events)
            if events:
                store.append(name, 0, events, [*check.originals.items()])
    return saved


def _scan(connection: sqlite3.Connection, columns: str, table: str, key: str) -> Iterator[tuple[Any, ...]]:
    """Rows of a table from both ends, as far as each can be read."""
    for order in ("ASC", "DESC"):
        by = ", ".join(f"{name} {order}" for name in key.split(", "))
        with contextlib.suppress(sqlite3.Error, UnicodeDecodeError, OverflowError):
            yield from connection.execute(f"SELECT {columns} FROM {table} ORDER BY {by}")
            return


def _session(sessions: dict[str, SessionCheck], name: object) -> SessionCheck | None:
    text = _text(name)
    return None if text is None else sessions.setdefault(text, SessionCheck())


def _text(value: object) -> str | None:
    with contextlib.suppress(UnicodeDecodeError):
        return value.decode() if isinstance(value, bytes) else None
    return None


def _value(row: Sequence[Any], has_checksums: bool) -> object:
    """The JSON value of a row (session, place, text, checksum); None where it is not what was written."""
    place = _text(row[1]) if isinstance(row[1], bytes) else row[1]
    text = _text(row[2])
    if text is None or (has_checksums and _text(row[3]) != row_checksum(_text(row[0]), place, text)):
        return None
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _rebuild(events: Sequence[Json]) -> list[Json]:
    rebuilt: list[Json] = []
    waiting: list[str] = []
    for place, event in enumerate(events):
        message: Json = event["message"] if event["kind"] == "message" else {}
        if message.get("role") == "tool":
            if message["tool_call_id"] not in waiting:
                continue
            waiting.remove(message["tool_call_id"])
        elif waiting and event["kind"] in ("message", "reset"):
            lost = [{"role": "tool", "tool_call_id": call, "content": _LOST} for call in waiting]
            rebuilt += [{"kind": "message", "message": result, "full": False} for result in lost]
            waiting = []
        if message:
            waiting = [*waiting, *get_call_ids(message)] if message["role"] == "assistant" else waiting
            following = next((e["kind"] for e in events[place + 1 :] if e["kind"] != "pin"), "reset")
            # Without the reset that followed it, a full context would hold the step back for ever.
            event = {**event, "full": event["full"] and following in ("reset", "outcome")}
        rebuilt.append(event)
    return rebuilt
