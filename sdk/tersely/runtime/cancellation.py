"""Stop the work on a request if it was cancelled or its time is up.

Python cannot stop a thread. So the caller puts a `Cancellation` or a `TimeLimit` into the context of the
work, and the work checks it between two steps.
"""

from __future__ import annotations

import contextvars
import math
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_GRACE = 0.1
"""Share of the remaining time that is reserved to finish the current step before the caller stops waiting."""


class WorkCancelledError(BaseException):
    """The request was cancelled. This is not an `Exception`, so that it is not taken for a failed model."""


class TimeIsUpError(Exception):
    """The time limit of a request was up before there was any result to continue with."""


class Cancellation:
    """A flag that tells the threads that work on a request to stop. They raise `WorkCancelledError`.

    `outer` is the cancellation of a larger request that contains this one.
    """

    def __init__(self, outer: Cancellation | None = None) -> None:
        self._event = threading.Event()
        self._outer = outer

    def cancel(self) -> None:
        """Tell all threads that check this flag to stop."""
        self._event.set()

    def check(self) -> None:
        """Raise WorkCancelledError if `cancel` was called."""
        if self._event.is_set():
            raise WorkCancelledError
        if self._outer is not None:
            self._outer.check()


class TimeLimit:
    """The time at which work on a request has to stop: `seconds` from now, or never if that is None.

    With `outer`, the limit of a larger request that contains this one, it is never later than that limit.
    """

    def __init__(self, seconds: float | None = None, outer: TimeLimit | None = None) -> None:
        self._end: float = math.inf if seconds is None else time.monotonic() + seconds
        if outer is not None and outer._end < self._end:
            seconds, self._end = outer.seconds, outer._end
        self.seconds: float | None = seconds
        """Seconds of the limit that ends first, for messages; None without any limit."""
        self.was_reached = False
        """True if the time was up before all work was done."""
        self._stop = math.inf
        self.reserve(0.0)

    @property
    def remaining(self) -> float:
        """Seconds until the caller stops waiting for the work; at least 0.0."""
        return max(0.0, self._end - time.monotonic())

    def reserve(self, seconds: float) -> None:
        """Stop this many seconds earlier, to leave time for the steps after the work."""
        self._end -= seconds
        if self.seconds is not None:
            self._stop = self._end - _GRACE * self.remaining

    def is_up(self, step: float = 0.0) -> bool:
        """Return whether to stop, because another step of `step` seconds would end too late.

        Callers that see True stop early, and `was_reached` records it.
        """
        if time.monotonic() + step >= self._stop:
            self.was_reached = True
        return self.was_reached

    def check(self) -> None:
        """Raise TimeIsUpError if the time is up. Use this for work that is useless when half done."""
        if self.is_up():
            raise TimeIsUpError(
                f"the time limit of {self.seconds:g} s was up before the model had any scores"
            )


_NEVER = Cancellation()
_current: ContextVar[Cancellation] = ContextVar("tersely_cancellation", default=_NEVER)
_UNLIMITED = TimeLimit()
_current_limit: ContextVar[TimeLimit] = ContextVar("tersely_time_limit", default=_UNLIMITED)


def current_cancellation() -> Cancellation:
    """Return the cancellation of the request that this thread works on."""
    return _current.get()


def check_cancelled() -> None:
    """Raise WorkCancelledError if the request that this thread works on was cancelled."""
    _current.get().check()


def current_time_limit() -> TimeLimit:
    """Return the time limit of the request that this thread works on."""
    return _current_limit.get()


@contextmanager
def cancellable() -> Generator[Cancellation]:
    """Set a new cancellation for the block, and for work that starts there with a copy of its context."""
    cancellation = Cancellation(_current.get())
    token = _current.set(cancellation)
    try:
        yield cancellation
    finally:
        _current.reset(token)


@contextmanager
def time_limit(seconds: float | None) -> Generator[TimeLimit]:
    """Set a time limit for all work inside the block. It never ends later than the limit around the block."""
    limit = TimeLimit(seconds, _current_limit.get())
    token = _current_limit.set(limit)
    try:
        yield limit
    finally:
        _current_limit.reset(token)


async def run_cancellable(
    work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """Run `work` on a worker thread. If the task is cancelled, so is the work."""
    import asyncio  # here, because it would double the time of `import tersely`, and not all callers await

    with cancellable() as cancellation:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except asyncio.CancelledError:
            cancellation.cancel()
            raise


def run_in_time(work: Callable[[], Result]) -> Result:
    """Return the result of `work`, or raise what it raises.

    If it is not done when the time is up, cancel it, do not wait for its thread, and raise TimeIsUpError.
    """
    limit = current_time_limit()
    if limit.seconds is None:
        return work()
    from concurrent.futures import Future, wait  # imported here, because `import tersely` does not need it

    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            future.set_exception(error)

    with cancellable() as cancellation:
        context = contextvars.copy_context()
        # A daemon, because a model that hangs must not keep the process from ending.
        threading.Thread(target=context.run, args=(run,), name="tersely-limited", daemon=True).start()
        try:
            wait([future], limit.remaining)
        finally:
            if not future.done():
                cancellation.cancel()
    if not future.done():
        limit.check()
    return future.result()
