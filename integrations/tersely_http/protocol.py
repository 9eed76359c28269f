"""HTTP/1.1 with limits on how slow a client may be."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0
"""Seconds in which a request has to arrive, head and body."""
STALL_S = 30.0
"""Seconds for which a client may leave an answer unread."""


class TimedProtocol(H11Protocol):
    """A protocol that closes a connection if its request is not complete `REQUEST_S` after it began, or could
    have begun.

    It also closes a connection whose client leaves an answer unread for `STALL_S`.
    """

    _arrival: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_arrival()

    def data_received(self, data: bytes) -> None:
        self._start_arrival()
        super().data_received(data)
        if not self._is_waiting():
            self._stop_arrival()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP, unless an answer has begun.

        The application may already work on the request that they belong to. It is told that nobody waits for
        its answer.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(STALL_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_stall()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_arrival()
        self._stop_stall()
        super().connection_lost(exc)

    def _start_arrival(self) -> None:
        # One timer for the whole request: a byte now and then does not prolong it.
        if self._arrival is None:
            self._arrival = self.loop.call_later(REQUEST_S, self._end_arrival)

    def _stop_arrival(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _stop_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _end_arrival(self) -> None:
        self._arrival = None
        if self._is_waiting() and not self.transport.is_closing():
            self.transport.close()

    def _is_waiting(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
