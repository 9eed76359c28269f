"""Record calls of the hook in the ledger, and the tokens of the session so far, by its transcript."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tersely.errors import TerselyError
from tersely_hook.answers import read_input
from tersely_hook.request import read_backwards
from tersely_hook.shortening import ShorterText, TextShortener
from tersely_ledger import Entry, Ledger, LedgerSettings, Usage, default_path
from tersely_ledger.store import open_ledger, record_safely, sum_tools
from tersely_ledger.usage import read_usage

CHECK_SESSION = "tersely hook doctor"
"""Session of calls that are only a check, and not recorded."""
_DEFAULT_SHARE = 0.1
_lock = threading.Lock()


class CountingShortener:
    """A shortener that remembers the texts of one call."""

    def __init__(self, shortener: TextShortener) -> None:
        self._shortener = shortener
        self.changes: list[ShorterText] = []

    def shorten(self, text: str, query: str | None, note: str = "") -> ShorterText | None:
        """Return a shorter text; None if the text stays."""
        short = self._shortener.shorten(text, query, note)
        if short is not None:
            self.changes.append(short)
        return short


@dataclass(frozen=True, slots=True)
class Record:
    """The entry of a call in the ledger."""

    ledger: Ledger
    entry: Entry
    transcript: str | None
    """File with the session's usage; None if it is not needed."""

    def write(self) -> None:
        """Write the record, with the tokens that the session has used since the last record."""
        entry = self.entry
        if self.transcript is not None and entry.conversation is not None:
            with _lock, contextlib.suppress(OSError, TerselyError):  # calls of one turn come at once
                usage, model = read_spent(self.transcript)
                known = self.ledger.sum_usage(entry.conversation)
                self.ledger.record(replace(entry, model=model, usage=Usage(*map(int.__sub__, usage, known))))
            return
        record_safely(self.ledger, entry)


def split_mode(sent: bytes) -> tuple[str, bytes]:
    """Return the mode, such as "shadow" or "", and the hook's input."""
    if sent.startswith((b"shadow", b"holdout")):
        mode, _, request = sent.partition(b"\n")
        return mode.decode("ascii", "replace"), request
    return "", sent


def open_if_possible() -> Ledger | None:
    """Open the ledger; None if it cannot be used, because the hook must not fail."""
    try:
        return open_ledger(default_path())
    except TerselyError:
        return None


def make_record(
    ledger: Ledger | None, mode: str, request: bytes, changes: Sequence[ShorterText]
) -> Record | None:
    """Choose the arm of a call, and return its record; None if there is nothing to record."""
    is_compared = mode.startswith("holdout")
    if ledger is None or not (changes or is_compared):
        return None
    try:
        payload = read_input(request)
        tool, session, transcript = (
            str(payload.get(name, "")) for name in ("tool_name", "session_id", "transcript_path")
        )
        settings = LedgerSettings(
            path=default_path(),
            holdout=(float(mode.partition("=")[2] or _DEFAULT_SHARE) if is_compared else 0),
            shadow=mode.startswith("shadow"),
        )
    except (ValueError, AttributeError, TerselyError):  # not a JSON object, or not a share
        return None
    if session == CHECK_SESSION:
        return None
    conversation = ledger.make_id(session)
    entry = Entry(
        source="hook",
        arm=ledger.choose_arm(conversation, settings),
        status="compressed" if changes else "unchanged",
        tools=sum_tools((tool, one.tokens_before, one.tokens_after) for one in changes),
        best_left_out=sum(not one.best_fits for one in changes),
        conversation=conversation,
        share=settings.holdout,
    )
    return Record(ledger, entry, transcript if is_compared and os.path.isfile(transcript) else None)


def read_spent(path: str) -> tuple[Usage, str | None]:
    """Return the tokens that the messages in a transcript of Claude Code have used, and their newest
    model."""
    used: dict[str, Usage] = {}
    model: str | None = None
    for line in read_backwards(path, None):
        if b'"usage"' not in line:
            continue
        try:
            message: Any = json.loads(line).get("message")
            key, usage = message["id"], read_usage(message["usage"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        # A message has a line for each of its parts, the last one with all of its tokens.
        if isinstance(key, str) and usage is not None and key not in used:
            used[key] = usage
            model = model or cast("str | None", message.get("model"))
    return Usage(*map(sum, zip(*used.values(), strict=True))) if used else Usage(0, 0, 0, 0), model
