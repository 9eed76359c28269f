"""Stop the work of a request that nobody waits for any more.

Python cannot stop a thread. So whoever starts the work leaves a `Cancellation` in its context, and the work
looks at it between two steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class WorkCancelledError(BaseException):
    """The request was cancelled. Not an `Exception`, because it is no failure that a model could cause."""


class Cancellation:
    """Tells the threads that work on a request to stop. They raise `WorkCancelledError`."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raises WorkCancelledError after `cancel`."""
        if self._event.is_set():
            raise WorkCancelledError


_NEVER = Cancellation()
_current: ContextVar[Cancellation] = ContextVar("tersely_cancellation", default=_NEVER)


def current_cancellation() -> Cancellation:
    """That of the request which this thread works on."""
    return _current.get()


@contextmanager
def cancellable() -> Generator[Cancellation]:
    """A new cancellation for all work that starts inside the block, with a copy of its context."""
    cancellation = Cancellation()
    token = _current.set(cancellation)
    try:
        yield cancellation
    finally:
        _current.reset(token)


async def run_cancellable(
    work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """The result of `work` on a worker thread. If the task is cancelled, so is the work."""
    import asyncio  # it takes half of the time of `import tersely`; whoever awaits has it already

    with cancellable() as cancellation:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except asyncio.CancelledError:
            cancellation.cancel()
            raise
