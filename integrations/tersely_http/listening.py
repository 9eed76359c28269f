"""A socket that listens, or an error that names the remedy."""

from __future__ import annotations

import errno
import socket

from tersely import InvalidInputError


def listen(host: str, port: int, option: str) -> socket.socket:
    """A socket that is bound to the address. `option` is that of the port, to stand in the message.

    Raises InvalidInputError where that cannot be.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small parts at once only where the protocol is named, not left at 0.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Not on Windows, where it would let two programs have one port.
        if hasattr(socket, "AF_UNIX"):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen()
    except (OSError, OverflowError) as error:
        opened.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is taken" if taken else f"cannot be opened ({error})"
        raise InvalidInputError(
            f"Port {port} {why}. Stop the program that has it, or pass another port to {option}."
        ) from error
    return opened
