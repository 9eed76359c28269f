"""The one switch that keeps tersely off the network."""

from __future__ import annotations

import os

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that are this machine, and no network."""


def network_forbidden() -> bool:
    """Whether TERSELY_OFFLINE is set to anything but a no."""
    return os.environ.get("TERSELY_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")
