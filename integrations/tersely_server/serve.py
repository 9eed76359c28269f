"""`tersely serve`."""

from __future__ import annotations

from tersely import Compressor
from tersely_http import run_command
from tersely_server.app import build_app
from tersely_server.settings import ServerSettings


def serve(compressor: Compressor, *, host: str, port: int, settings: ServerSettings) -> None:
    """Serve until the process is told to stop. Raises InvalidInputError for an unusable address."""
    run_command("serve", lambda: build_app(compressor, settings), host, port, settings.key)
