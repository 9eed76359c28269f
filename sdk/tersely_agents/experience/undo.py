"""Bring back what removed experiences had replaced."""

from __future__ import annotations

import sqlite3

import numpy as np

from tersely_agents.database import Database
from tersely_agents.experience import storage
from tersely_agents.experience.merging import replay


def undo_replacements(
    database: Database, connection: sqlite3.Connection, removed: set[str], dimension: int
) -> bool:
    """Replace as if the removed entries had never been added. Returns whether nothing else changes."""
    entries, before = storage.read_kept(database, dimension)
    if not any(new in removed or old in removed for new, old in before.items()):
        return True
    own = np.stack([entry.own for entry in entries])
    after = replay(entries, before, removed, lambda: own)
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    for key in changed:
        if key in before and before[key] not in removed:
            storage.set_replacement(connection, before[key], None)
    for key in changed:
        if key in after:
            storage.set_replacement(connection, after[key], key)
        if key not in removed:
            storage.set_replaces(connection, key, after.get(key))
    return False
