"""`tersely proxy`."""

from __future__ import annotations

from tersely import Compressor
from tersely_http import run_command
from tersely_proxy.app import build_app
from tersely_proxy.settings import ProxySettings


def serve(compressor: Compressor, *, host: str, port: int, settings: ProxySettings) -> None:
    """Serve until the process is told to stop. Raises InvalidInputError for an unusable address."""
    # The date is that of the server behind the proxy.
    run_command("proxy", lambda: build_app(compressor, settings), host, port, settings.key, date_header=False)
