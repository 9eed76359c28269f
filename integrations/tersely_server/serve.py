"""`tersely serve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tersely import Compressor, InvalidInputError
from tersely.adapters import decode_utf8, is_loopback
from tersely_http import listen, run
from tersely_server.app import build_app
from tersely_server.logs import log_to_stderr
from tersely_server.settings import ServerSettings

KEY_VARIABLE = "TERSELY_API_KEY"
MAX_CONNECTIONS = 500
"""Open connections, idle ones included. Further ones are answered with 503."""


def read_key(file: str | None) -> str | None:
    """The key in the file, or in the environment; None where there is neither."""
    if file is not None:
        key = decode_utf8(Path(file).read_bytes(), file).strip()
        if not key:
            raise InvalidInputError(f"{file}: there is no key in it. Write one line.")
        return key
    return os.environ.get(KEY_VARIABLE) or None


def check_exposed(host: str, key: str | None) -> None:
    """Raises InvalidInputError where others could reach the server without a key."""
    if key is None and not is_loopback(host):
        raise InvalidInputError(
            f"{host} can be reached from other machines, so clients must send a key. Pass --key-file, or set "
            f"{KEY_VARIABLE}."
        )


def serve(compressor: Compressor, *, host: str, port: int, settings: ServerSettings) -> None:
    """Serve until the process is told to stop. Raises InvalidInputError for an unusable address."""
    check_exposed(host, settings.key)
    with listen(host, port, "--port") as opened:
        log_to_stderr()
        app = build_app(compressor, settings)
        shown = f"[{host}]" if ":" in host else host
        print(f"tersely serve: http://{shown}:{opened.getsockname()[1]}", file=sys.stderr, flush=True)
        run(app, opened, log_config=None, limit_concurrency=MAX_CONNECTIONS, timeout_keep_alive=5)
