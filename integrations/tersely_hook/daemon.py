"""The process that shortens: it listens on a socket that only the user can open, and ends when it is idle."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import signal
import socket
import socketserver
import sys
from typing import cast

from tersely_hook.answers import Shortener, answer
from tersely_hook.client import UNCHANGED, folder, is_private
from tersely_hook.records import CountingShortener, make_record, open_if_possible, split_mode
from tersely_hook.shortening import TextShortener
from tersely_hook.store import Originals, originals_folder
from tersely_ledger.store import SHORTENED

IDLE_S = 900.0
"""Seconds without a call after which the process ends."""
_READ_S = 5.0


def make_reply(request: bytes, shortener: Shortener) -> bytes:
    """Return the line that the client prints. After any failure, the tool's output stays unchanged."""
    try:
        return json.dumps(answer(request, shortener)).encode("ascii") + b"\n"
    except Exception as error:  # noqa: BLE001 - a call that fails must not end the process
        # Without the message, which may quote the output of a tool.
        print(f"tersely hook: {type(error).__name__}", file=sys.stderr, flush=True)
        return UNCHANGED


class _Handler(socketserver.StreamRequestHandler):
    timeout = _READ_S

    def handle(self) -> None:
        server = cast("_Server", self.server)
        mode, request = split_mode(self.rfile.read())
        shortener = CountingShortener(server.shortener)
        reply = make_reply(request, shortener)
        record = make_record(server.ledger, mode, request, shortener.changes)
        if mode.startswith("shadow") or (record is not None and record.entry.arm != SHORTENED):
            reply = UNCHANGED
        with contextlib.suppress(OSError):  # the client has given up
            self.wfile.write(reply)
            self.request.shutdown(socket.SHUT_WR)  # the tool need not wait for the record
        if record is not None:
            record.write()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64
    timeout = IDLE_S
    is_idle = False

    def __init__(self, path: str) -> None:
        super().__init__(path, _Handler)
        self.shortener = TextShortener(Originals(originals_folder()))
        self.ledger = open_if_possible()

    def handle_timeout(self) -> None:
        self.is_idle = True


def serve() -> int:
    """Serve until no call has come for `IDLE_S`. Return 1 if another process already serves."""
    os.umask(0o077)
    logging.getLogger("tersely").addHandler(logging.NullHandler())
    place = folder()
    os.makedirs(place, 0o700, exist_ok=True)
    if not is_private(place):
        print(f"tersely hook: {place} can be opened by others; chmod 700 it", file=sys.stderr)
        return 1
    with open(os.path.join(place, "lock"), "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 1
        lock.truncate(0)
        print(os.getpid(), file=lock, flush=True)
        path = os.path.join(place, "socket")
        if os.path.lexists(path):  # of a process that was killed
            os.unlink(path)
        with _Server(path) as server:
            try:
                while not server.is_idle:
                    server.handle_request()
            finally:
                os.unlink(path)
    return 0


def stop() -> None:
    """End the process that serves, if there is one. The next call starts a new one."""
    with contextlib.suppress(FileNotFoundError), open(os.path.join(folder(), "lock")) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # so the id in the file is that of the process that has the lock
            os.kill(int(lock.read()), signal.SIGTERM)
