"""A lock for objects that are copied and pickled."""

from __future__ import annotations

import threading
from types import TracebackType


class Lock:
    """A lock that its thread may take again. A copy of it is a new one, which nobody holds."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
