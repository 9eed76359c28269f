"""Admission of requests: some run, some wait, and others are told when to come again."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import ParamSpec, TypeVar

from starlette.requests import Request

from tersely.runtime.cancellation import run_cancellable, time_limit
from tersely_http import CLOSED, RequestError, wait_until_gone

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_SHARE_OF_WORK = 0.8
"""Share of a request's time in which a compression has to end; the rest is for writing the answer."""
_NEWEST_WEIGHT = 0.1
"""Weight of the newest request in the average time."""


class Gate:
    """A gate that runs work on `slots` threads, for at most `slots + queue` requests at once.

    Work is told to stop when its client has gone or its time is up; the model stops soon after.
    """

    def __init__(self, slots: int, queue: int, timeout_s: float) -> None:
        self.slots, self._queue, self._timeout_s = slots, queue, timeout_s
        self.admitted = 0
        """Number of requests that run or wait."""
        self._average_s = 0.5

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start the threads, and keep them for as long as the server runs."""
        # They become the loop's threads. Work that was told to stop, and has not stopped yet, keeps its slot.
        pool = ThreadPoolExecutor(self.slots, "tersely-request")
        asyncio.get_running_loop().set_default_executor(pool)
        try:
            yield
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Take a place for one request. Raises RequestError with 429 if all are taken."""
        if self.admitted >= self.slots + self._queue:
            seconds = max(1, math.ceil(self._average_s * self.admitted / self.slots))
            message = f"The server is busy. Send the request again in {seconds} s."
            raise RequestError(429, message, {"Retry-After": str(seconds)})
        self.admitted += 1
        try:
            yield
        finally:
            self.admitted -= 1

    async def run(
        self,
        request: Request,
        work: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Return the result of `work` for an admitted request whose body has been read.

        Raises RequestError with 503 if the time is up, and with `CLOSED` if the client has gone.
        """
        end = time.monotonic() + _SHARE_OF_WORK * self._timeout_s
        task = asyncio.ensure_future(run_cancellable(self._time, end, work, *args, **kwargs))
        gone = asyncio.ensure_future(wait_until_gone(request.receive))
        try:
            await asyncio.wait({task, gone}, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone.done():
                raise RequestError(CLOSED, "The client has gone.")
            message = f"This took more than {self._timeout_s:g} s. Send less text, or try again later."
            raise RequestError(503, message, {"Retry-After": "1"})
        finally:
            for waiting in (task, gone):
                waiting.cancel()

    def _time(
        self,
        end: float,
        work: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        started = time.monotonic()
        try:
            with time_limit(max(end - started, 0.0)):
                return work(*args, **kwargs)
        finally:
            self._average_s += _NEWEST_WEIGHT * (time.monotonic() - started - self._average_s)
