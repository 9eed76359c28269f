"""Locks that the standard library lacks: `Lock` can be copied and pickled, `ProcessLock` survives a fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType


class Lock:
    """A lock that a thread may take again while it holds it. A copy is a new lock that no thread holds."""

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


class ProcessLock:
    """A lock for a module. A process that was forked gets a new one.

    The thread that held it does not exist there, so waiting for it would never end.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def hold(self) -> Generator[None]:
        """Hold the lock inside a `with`."""
        with self._lock:
            yield
