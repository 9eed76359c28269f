"""Limits of a server, and the key of its clients."""

from __future__ import annotations

from dataclasses import dataclass, field

from tersely.inputs import check_count, check_flag, check_kind, check_time_limit
from tersely.runtime.limits import check_key
from tersely_ledger import LedgerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Limits of a server, and who may use it.

    Raises:
        InvalidInputError: a value cannot be used.
    """

    key: str | None = field(default=None, repr=False)
    """Key that clients send as `Authorization: Bearer KEY`; None if everybody may use the server."""
    local_only: bool = True
    """True if requests must name this machine as their host. Otherwise a web page could reach the server
    through a host name that it controls."""
    slots: int | None = None
    """Largest number of requests that run at once; None for one on each usable core."""
    queue: int = 32
    """Largest number of requests that wait for a slot. Further ones are refused with 429."""
    timeout_s: float = 60.0
    """Longest time from the arrival of a request to its result; in a batch, for each of its requests."""
    max_bytes: int = 8 * 2**20
    """Largest number of bytes of a request's body."""
    max_documents: int = 1000
    """Largest number of documents of a request, or of its messages, texts or questions. The documents of all
    requests of a batch count together."""
    log_text: bool = False
    """True if the log has queries. It never has documents."""
    ledger: LedgerSettings | None = None
    """Settings of the ledger that records requests; None to record nothing.

    No conversation is held out, because the server does not see what a request costs later."""

    def __post_init__(self) -> None:
        if self.slots is not None:
            check_count(self.slots, "slots", "requests")
        check_count(self.queue, "queue", "requests")
        check_count(self.max_bytes, "max_bytes", "bytes")
        check_count(self.max_documents, "max_documents", "documents")
        check_time_limit(self.timeout_s)
        check_flag(self.local_only, "local_only")
        check_flag(self.log_text, "log_text")
        if self.ledger is not None:
            check_kind(self.ledger, LedgerSettings, "ledger")
        if self.key is not None:
            check_key(self.key)
