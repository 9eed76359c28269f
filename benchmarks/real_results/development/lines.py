"""The time at which the written logs begin."""

from __future__ import annotations

from datetime import UTC, datetime

START = datetime(2026, 3, 17, 8, 2, 11, tzinfo=UTC)
