"""Results that cost time and do not depend on tersely, kept outside the repository."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path


def open_cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/tersely/benchmarks`, by default under ~/.cache. Safe to delete."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tersely" / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest(*parts: str) -> bytes:
    """Return a key for a value that was computed from `parts`."""
    whole = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        whole.update(len(encoded).to_bytes(8, "big") + encoded)
    return whole.digest()[:16]


def fetch(table: str, keys: Iterable[bytes]) -> dict[bytes, bytes]:
    """Return the stored values among `keys`."""
    values: dict[bytes, bytes] = {}
    with closing(_open(table)) as store:
        for key in set(keys):
            row = store.execute(f"select value from {table} where key = ?", (key,)).fetchone()
            if row:
                values[key] = row[0]
    return values


def keep(table: str, values: Mapping[bytes, bytes]) -> None:
    """Store every value under its key."""
    with closing(_open(table)) as store, store:
        store.executemany(f"replace into {table} values (?, ?)", values.items())


def _open(table: str) -> sqlite3.Connection:
    store = sqlite3.connect(open_cache_folder() / f"{table}.sqlite", timeout=60)
    store.execute(f"create table if not exists {table} (key blob primary key, value blob) without rowid")
    return store
