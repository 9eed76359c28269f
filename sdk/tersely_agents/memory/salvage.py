"""Read the intact parts of a damaged store, session by session, and write a new store with them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tersely.errors import InvalidInputError
from tersely.messages import Json, get_call_ids
from tersely_agents.database import open_damaged, scan
from tersely_agents.memory.store import MemoryStore, StoreError, row_checksum

_LOST = "[no result: it could not be read from a damaged file]"


@dataclass(slots=True)
class SessionCheck:
    """The intact rows of a session, and how many were written."""

    events: dict[int, Json] = field(default_factory=dict[int, Json])
    """Intact events by their number."""
    originals: dict[str, str] = field(default_factory=dict[str, str])
    """Intact originals by their id."""
    written: tuple[int, int] = (0, 0)
    """Numbers of events and of originals that were written; zeros if the row that counts them is damaged."""

    @property
    def event_count(self) -> int:
        return max([self.written[0], *(number + 1 for number in self.events)])

    @property
    def missing_events(self) -> list[int]:
        """Numbers of the events that are damaged or lost."""
        return [number for number in range(self.event_count) if number not in self.events]

    @property
    def missing_originals(self) -> int:
        """Originals that are damaged or lost."""
        return max(0, self.written[1] - len(self.originals))

    def rebuild(self) -> list[Json]:
        """Return the intact events, mended so that they make a session again. Empty if neither the first
        prompt nor a reset is left."""
        events = [self.events[number] for number in sorted(self.events)]
        if 0 in self.events:
            return _mend(events)
        resets = [place for place, event in enumerate(events) if event["kind"] == "reset"]
        if not resets:
            return []
        first = {"kind": "first", "messages": events[resets[0]]["base"][:-1]}
        return [first, *_mend(events[resets[0] :])]


class StoreCheck(NamedTuple):
    """The intact part of a store, and its damage."""

    sessions: dict[str, SessionCheck]
    damaged_rows: int
    """Number of rows with a wrong checksum."""
    damage: str | None
    """SQLite's report of damage to the file; None without any. Rows may be damaged even then."""


def check_store(path: str | Path) -> StoreCheck:
    """Check every row of a store. Raises StoreError if nothing can be read."""
    sessions: dict[str, SessionCheck] = {}
    damaged = 0
    with open_damaged(path, StoreError) as (connection, damage):
        if "checksum" not in [row[1] for row in connection.execute("PRAGMA table_info(events)")]:
            raise StoreError(f"{path} holds no sessions that can be read. Restore a copy.")
        for query in (
            "SELECT 'event', checksum, session, number, event FROM events",
            "SELECT 'original', checksum, session, id, text FROM originals",
            "SELECT 'session', checksum, session, events, originals FROM sessions",
        ):
            for kind, checksum, *row in scan(connection, query):
                if checksum != row_checksum(*row):
                    damaged += 1
                    continue
                session = sessions.setdefault(row[0], SessionCheck())
                if kind == "event":
                    session.events[row[1]] = json.loads(row[2])
                elif kind == "original":
                    session.originals[row[1]] = json.loads(row[2])
                else:
                    session.written = (row[1], row[2])
    return StoreCheck(sessions, damaged, damage)


def save_sessions(sessions: dict[str, SessionCheck], path: str | Path) -> dict[str, int]:
    """Write the intact part of each session to a new store. Return the number of its events there."""
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


def _mend(events: Sequence[Json]) -> list[Json]:
    """Return events that can be replayed: leave out results of lost calls, and add notes for lost results."""
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
