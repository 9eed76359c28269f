"""The file of the ledger: numbers, times, and names of tools and models, and no text of a request."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tersely.errors import TerselyError
from tersely.inputs import check_flag, check_share
from tersely_agents.database import Database
from tersely_ledger.usage import Usage

logger = logging.getLogger("tersely.ledger")

SHORTENED, HELD_OUT, SHADOW = "shortened", "held_out", "shadow"
"""The arms: groups of requests, as in an experiment. The first get shorter texts. The second stay unchanged
for comparison. In shadow no request changes, and the ledger records what would have been shortened."""
MAX_ROWS = 50_000
"""Largest number of requests. The oldest are deleted first. A row has about 300 bytes."""
MAX_TOOLS, MAX_NAME = 16, 64
"""Largest number of tools of a request that are named, and of characters of a name. A client chooses both."""
OTHER_TOOLS = "other tools"

_VERSION = 2
_COLUMNS = (
    "time", "source", "conversation", "arm", "share", "status", "code", "model", "tools",
    "tokens_before", "tokens_after", "best_left_out", "input", "cache_read", "cache_write", "output",
)  # fmt: skip
_SCHEMA = (
    f"CREATE TABLE requests (id INTEGER PRIMARY KEY AUTOINCREMENT, {', '.join(_COLUMNS)})",
    # Without the salt, a known text could be looked for in the file.
    "CREATE TABLE salt (value BLOB)",
    "INSERT INTO salt VALUES (randomblob(16))",
)

Tools = Mapping[str, tuple[int, int, int]]
"""The number of texts of each tool, and their tokens before and after."""


class LedgerError(TerselyError):
    """The file of the ledger cannot be opened, read or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSettings:
    """The file in which a server records its requests, and the requests that it leaves alone.

    Raises InvalidInputError for a value that cannot be used.
    """

    path: str | Path
    holdout: float = 0.1
    """Share of the conversations that are never shortened, for comparison."""
    shadow: bool = False
    """True to shorten nothing, and only record what would have been shortened."""

    def __post_init__(self) -> None:
        if self.holdout != 0:
            check_share(self.holdout, "holdout", "Pass a share of the conversations, such as 0.1, or 0.")
        check_flag(self.shadow, "shadow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row of the ledger: one request."""

    source: str
    """The part of tersely that got it: "proxy", "server", "hook" or "adapter"."""
    arm: str = SHORTENED
    status: str
    tools: Tools = field(default_factory=dict)
    """The texts that were shortened or, in the other arms, would have been: see `Tools`."""
    best_left_out: int = 0
    """Number of these texts that lost the part with the highest score because it exceeded the limit."""
    conversation: str | None = None
    """Id of the conversation; None if it is unknown, and the request is in no comparison."""
    share: float = 0.0
    """Share of conversations that was held out."""
    code: int | None = None
    """HTTP status of the provider's answer."""
    model: str | None = None
    usage: Usage | None = None
    """Tokens that the provider reported; None if it did not report them."""
    time: float = field(default_factory=time.time)

    @property
    def tokens_before(self) -> int:
        """Number of tokens that the shortened texts had before."""
        return sum(before for _, before, _ in self.tools.values())

    @property
    def tokens_after(self) -> int:
        """Number of tokens of their shortened forms."""
        return sum(after for _, _, after in self.tools.values())


def default_path() -> Path:
    """Return the place of the ledger if none is given."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "tersely" / "ledger.db"


def sum_tools(changes: Iterable[tuple[str, int, int]]) -> dict[str, tuple[int, int, int]]:
    """Add up (tool, tokens before, tokens after) by tool. Beyond `MAX_TOOLS`, tools become one."""
    sums: dict[str, tuple[int, int, int]] = {}
    for tool, before, after in changes:
        name = tool[:MAX_NAME]
        if name not in sums and len(sums) >= MAX_TOOLS:
            name = OTHER_TOOLS
        count, all_before, all_after = sums.get(name, (0, 0, 0))
        sums[name] = count + 1, all_before + before, all_after + after
    return sums


class Ledger:
    """The ledger in a file, which is created if it is missing. Threads may share it.

    Several processes may write to it. Raises LedgerError if it cannot be used.
    """

    def __init__(self, path: str | Path) -> None:
        self._database = Database(
            path, _VERSION, _SCHEMA, LedgerError, lambda _: "Name another file, or delete this one."
        )
        # Requests need not wait for the disk. Only a power failure costs the newest rows.
        self._database.connection.execute("PRAGMA synchronous = NORMAL")
        self._salt: bytes = self._database.rows("SELECT value FROM salt")[0][0]

    def make_id(self, opening: str) -> str | None:
        """Return an id for a conversation, from its first words or its session; None if `opening` is
        empty."""
        if not opening:
            return None
        text = opening.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=8, key=self._salt).hexdigest()

    def choose_arm(self, conversation: str | None, settings: LedgerSettings) -> str:
        """Return the arm of a conversation, which is the same at all times."""
        if settings.shadow:
            return SHADOW
        # An unknown conversation could be held out in one turn and shortened in the next.
        is_held_out = conversation is not None and int(conversation, 16) < settings.holdout * 2**64
        return HELD_OUT if is_held_out else SHORTENED

    def record(self, entry: Entry) -> None:
        """Write an entry, and delete the oldest beyond `MAX_ROWS`."""
        usage = entry.usage
        values = (
            entry.time, entry.source, entry.conversation, entry.arm, entry.share, entry.status, entry.code,
            (entry.model or "")[:MAX_NAME] or None, json.dumps(entry.tools),
            entry.tokens_before, entry.tokens_after, entry.best_left_out,
            *((usage.input, usage.cache_read, usage.cache_write, usage.output) if usage else [None] * 4),
        )  # fmt: skip
        statement = f"INSERT INTO requests ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
        with self._database.transaction() as connection:
            number = connection.execute(statement, values).lastrowid or 0
            connection.execute("DELETE FROM requests WHERE id <= ?", (number - MAX_ROWS,))

    def read(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        rows = self._database.rows(f"SELECT {', '.join(_COLUMNS)} FROM requests ORDER BY id")
        return [_read_row(dict(zip(_COLUMNS, row, strict=True))) for row in rows]

    def sum_usage(self, conversation: str) -> Usage:
        """Return the tokens that are recorded of a conversation."""
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in Usage._fields)
        return Usage(
            *self._database.rows(f"SELECT {sums} FROM requests WHERE conversation = ?", [conversation])[0]
        )

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def open_ledger(path: str | Path) -> Ledger:
    """Open a ledger for writing, with its folder. Raises LedgerError if it cannot be used."""
    try:
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"{path}: {error}. Name another file.") from error
    return Ledger(path)


def record_safely(ledger: Ledger, entry: Entry) -> None:
    """Write an entry; a failure is only logged, because it must not stop a request."""
    try:
        ledger.record(entry)
    except Exception as error:  # noqa: BLE001
        logger.warning("not recorded", extra={"fields": {"reason": type(error).__name__}})


def _read_row(row: dict[str, Any]) -> Entry:
    del row["tokens_before"], row["tokens_after"]
    counts = [row.pop(name) for name in ("input", "cache_read", "cache_write", "output")]
    tools = {name: tuple(sums) for name, sums in json.loads(row.pop("tools")).items()}
    return Entry(**row, tools=tools, usage=None if counts[0] is None else Usage(*counts))
