"""Worker threads, and the number of cores that this process may use."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from tersely.errors import InvalidInputError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_CPU_TOPOLOGY = Path("/sys/devices/system/cpu")

Job = TypeVar("Job")
Result = TypeVar("Result")


class Workers:
    """Threads that run many small jobs in parallel. They start again after a fork or after pickling.

    One job on each core is faster than one job on all cores, because the cores need not wait for each other
    after every operator.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0

    def map(self, work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """Return the results of `work` on every job, in order. Raises what `work` raises."""
        if self.count == 1 or len(jobs) < 2:
            return [work(job) for job in jobs]
        try:
            results = self._get_pool().map(work, jobs)
        except RuntimeError:  # the interpreter is shutting down and starts no threads
            return [work(job) for job in jobs]
        return list(results)

    def _get_pool(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # `import tersely` need not wait for it

        if self._pool is None or self._pid != os.getpid():
            with self._lock:
                if self._pool is None or self._pid != os.getpid():
                    self._pool, self._pid = ThreadPoolExecutor(self.count, "tersely"), os.getpid()
        return self._pool

    def __reduce__(self) -> tuple[type[Workers], tuple[int]]:
        return Workers, (self.count,)


def allowed_threads(maximum: int | None) -> int:
    """Return the number of threads to use: one for each usable core, up to `maximum`.

    Raises InvalidInputError unless `maximum` is None, for no limit, or a whole number above 0.
    """
    if maximum is None:
        return usable_cores()
    if isinstance(maximum, bool) or not isinstance(cast("object", maximum), Integral) or maximum < 1:
        raise InvalidInputError(f"threads is {maximum!r}. Pass a whole number of threads, 1 or more.")
    return min(usable_cores(), int(maximum))


def usable_cores() -> int:
    """Return the number of cores that this process may use.

    It is the smallest of three numbers: the cores that the process may run on, the quota of the container,
    and the physical cores. If there is only one physical core, its two hyper-threads count as two.
    """
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    # Hyper-threads of a core share its arithmetic units, so they help only if there is a single core.
    return max(1, min(len(allowed), _read_quota(), max(2, _count_physical_cores(allowed))))


def _read_quota() -> int:
    """Return the whole cores of the container's CPU quota, at least 1; `sys.maxsize` without a quota."""
    try:
        limit, period = _CGROUP_QUOTA.read_text().split()
        return max(1, int(limit) // int(period))
    except (OSError, ValueError):  # no container, another kernel, or "max"
        return sys.maxsize


def _count_physical_cores(cpus: set[int]) -> int:
    """Count the physical cores among logical CPUs; all CPUs if the kernel does not list them."""
    try:
        return len({(_CPU_TOPOLOGY / f"cpu{n}/topology/thread_siblings_list").read_text() for n in cpus})
    except OSError:
        return len(cpus)
