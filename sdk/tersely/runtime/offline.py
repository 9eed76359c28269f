"""The switch that forbids tersely the network."""

from __future__ import annotations

import os

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Host names of this machine, which are allowed offline."""


def network_forbidden() -> bool:
    """Whether TERSELY_OFFLINE is set, and not to "", "0", "false" or "no"."""
    return os.environ.get("TERSELY_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")
