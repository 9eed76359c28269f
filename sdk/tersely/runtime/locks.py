"""Locks that the standard library lacks: `Lock` can be copied and pickled, `ProcessLock` survives a fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager


class Lock:
    """A lock that a thread may take again while it holds it. A copy is a new lock that no thread holds."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


class ProcessLock:
    """A lock for a module. After a fork, the new process has a free lock.

    The thread that held the old lock does not exist in the new process, so nobody would release it.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def hold(self) -> Generator[None]:
        with self._lock:
            yield
