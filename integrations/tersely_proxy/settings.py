"""What a proxy shortens, and who may use it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tersely.adapters import ToolLimits
from tersely.inputs import check_count, check_flag, check_kind, check_time_limit
from tersely.runtime.limits import check_key


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Where requests go, and what becomes of their texts.

    Raises:
        InvalidInputError: a value cannot be used.
    """

    upstream: str
    """Address of the server behind the proxy, without the paths of its interface."""
    limits: ToolLimits = field(default_factory=lambda: ToolLimits(1000))
    """Most tokens of a tool's result. Blocks of context in messages are called "context"."""
    key: str | None = field(default=None, repr=False)
    """What clients send as `x-tersely-key: KEY`; None for a proxy that everybody may use."""
    local_only: bool = True
    """Whether requests must name this machine as their host."""
    slots: int | None = None
    """Most requests that are shortened at once; None for one on each usable core."""
    queue: int = 8
    """Most requests that wait for a slot. Further ones are forwarded as they are."""
    timeout_s: float = 10.0
    """Most seconds that a request waits for its texts to be shortened. Then it is forwarded as it is."""
    max_bytes: int = 64 * 2**20
    """Most bytes of a request's body."""

    def __post_init__(self) -> None:
        for name, unit in (("slots", "requests"), ("queue", "requests"), ("max_bytes", "bytes")):
            if getattr(self, name) is not None or name != "slots":
                check_count(getattr(self, name), name, unit)
        check_time_limit(self.timeout_s)
        check_flag(self.local_only, "local_only")
        check_kind(self.limits, ToolLimits, "limits")
        if self.key is not None:
            check_key(self.key)
