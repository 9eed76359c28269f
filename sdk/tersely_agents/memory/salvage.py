"""Read what is left of a damaged store, session by session, and write a new store with it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tersely.errors import InvalidInputError
from tersely.messages import Json, get_call_ids
from tersely_agents.database import open_damaged, scan
from tersely_agents.memory.store import MemoryStore, StoreError, row_checksum
from tersely_agents.memory.transcript import KINDS

_LOST = "[no result: it could not be read from a damaged file]"


@dataclass(slots=True)
class SessionCheck:
    """The rows of a session that can be read, and how many are lost."""

    events: dict[int, Json] = field(default_factory=dict[int, Json])
    """Intact events by their number."""
    originals: dict[str, str] = field(default_factory=dict[str, str])
    """Intact originals by their id."""
    event_count: int = 0
    """Events that were written, as far as the file says so."""
    original_count: int = 0

    @property
    def missing_events(self) -> list[int]:
        """Numbers of the events that are damaged or lost."""
        return [number for number in range(self.event_count) if number not in self.events]

    @property
    def missing_originals(self) -> int:
        """Originals that are damaged or lost."""
        return self.original_count - len(self.originals)

    def rebuild(self) -> list[Json]:
        """Return events that make a session again: the intact ones, without results of lost calls, and with a
        note for lost results. Empty if neither the first prompt nor a reset is left."""
        events = [self.events[number] for number in sorted(self.events)]
        if 0 in self.events:
            return _mend(events)
        resets = [place for place, event in enumerate(events) if event["kind"] == "reset"]
        if not resets:
            return []
        first = {"kind": "first", "messages": events[resets[0]]["base"][:-1]}
        return [first, *_mend(events[resets[0] :])]


@dataclass(slots=True)
class StoreCheck:
    """What is left of a store."""

    sessions: dict[str, SessionCheck]
    damage: str | None
    """What SQLite finds wrong with the file; None for a sound one, whose rows may be damaged all the same."""

    @property
    def damaged_sessions(self) -> list[str]:
        return [name for name, s in self.sessions.items() if s.missing_events or s.missing_originals]


def check_store(path: str | Path) -> StoreCheck:
    """Check every row of a store. Raises StoreError if nothing can be read."""
    sessions: dict[str, SessionCheck] = {}
    with open_damaged(path, StoreError) as (connection, damage):
        if b"checksum" not in [row[1] for row in connection.execute("PRAGMA table_info(events)")]:
            raise StoreError(f"{path} holds no sessions that can be read. Restore a copy.")
        for row in scan(connection, "SELECT session, number, event, checksum FROM events"):
            session, number = _find_session(sessions, row[0]), row[1]
            if session is not None and type(number) is int and 0 <= number < 2**31:
                session.event_count = max(session.event_count, number + 1)
                value = _read_value(row)
                if isinstance(value, dict) and cast("Json", value).get("kind") in KINDS:
                    session.events[number] = value
        for row in scan(connection, "SELECT session, id, text, checksum FROM originals"):
            if (session := _find_session(sessions, row[0])) is not None:
                session.original_count += 1
                value, key = _read_value(row), _decode(row[1])
                if isinstance(value, str) and key is not None:
                    session.originals[key] = value
        for name, events, originals, checksum in scan(connection, "SELECT * FROM sessions"):
            session = _find_session(sessions, name)
            if session is not None and _decode(checksum) == row_checksum(_decode(name), events, originals):
                session.event_count = max(session.event_count, events)
                session.original_count = max(session.original_count, originals)
    return StoreCheck(sessions, damage)


def save_sessions(sessions: dict[str, SessionCheck], path: str | Path) -> dict[str, int]:
    """Write what is left of each session to a new store. Returns how many events each has there."""
    if Path(path).exists():
        raise InvalidInputError(f"{path} exists. Name a new file to save to.")
    saved: dict[str, int] = {}
    with contextlib.closing(MemoryStore(path)) as store:
        for name, session in sessions.items():
            events = session.rebuild()
            saved[name] = len(events)
            if events:
                store.append(name, 0, events, [*session.originals.items()])
    return saved


def _find_session(sessions: dict[str, SessionCheck], name: object) -> SessionCheck | None:
    text = _decode(name)
    return None if text is None else sessions.setdefault(text, SessionCheck())


def _decode(value: object) -> str | None:
    with contextlib.suppress(UnicodeDecodeError):
        return value.decode() if isinstance(value, bytes) else None
    return None


def _read_value(row: Sequence[Any]) -> object:
    """Return the JSON value of a row (session, place, text, checksum); None if it is not what was written."""
    place = _decode(row[1]) if isinstance(row[1], bytes) else row[1]
    text = _decode(row[2])
    if text is None or _decode(row[3]) != row_checksum(_decode(row[0]), place, text):
        return None
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _mend(events: Sequence[Json]) -> list[Json]:
    mended: list[Json] = []
    waiting: list[str] = []
    for place, event in enumerate(events):
        message: Json = event["message"] if event["kind"] == "message" else {}
        if message.get("role") == "tool":
            if message["tool_call_id"] not in waiting:
                continue
            waiting.remove(message["tool_call_id"])
        elif waiting and event["kind"] in ("message", "reset"):
            lost = [{"role": "tool", "tool_call_id": call, "content": _LOST} for call in waiting]
            mended += [{"kind": "message", "message": result, "full": False} for result in lost]
            waiting = []
        if message:
            waiting = [*waiting, *get_call_ids(message)] if message["role"] == "assistant" else waiting
            following = next((e["kind"] for e in events[place + 1 :] if e["kind"] != "pin"), "reset")
            # Without the reset that followed it, a full context would hold the step back for ever.
            event = {**event, "full": event["full"] and following in ("reset", "outcome")}
        mended.append(event)
    return mended
