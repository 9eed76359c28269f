"""The settings of all property tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def ignore_clocks() -> None:
    """Let no property test fail because it is slow: a shared machine may pause it.

    `tests.audit.requests` finds what is really slow.
    """
    settings.register_profile("tersely", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("tersely")
