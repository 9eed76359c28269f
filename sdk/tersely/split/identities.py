"""Keys that say which record they belong to, such as `id` or `hostname`."""

from __future__ import annotations

import re

MOST_IDENTITIES = 2
"""Largest number of keys of a record that are kept with each of its others."""
LONGEST_IDENTITY = 140
"""Largest number of code points of such a key with its value."""

_IDENTITY = re.compile(
    r"(?:.*[:_-])?(?:id|uid|uuid|guid|dn|sku|name|title|label|subject|symbol|key|code|kind|path|file|filename|url|loc"
    r"|host|hostname|email|username|(?:group|artifact|package|bundle|module|operation)-?id)",
    re.IGNORECASE,
)


def is_identity(key: str) -> bool:
    """Return whether a key says which record it belongs to."""
    return _IDENTITY.fullmatch(key) is not None
