"""tersely for agents that speak the Model Context Protocol: `pip install 'tersely[mcp]'`.

tersely mcp --folder notes --experience lessons.db
"""

from tersely_mcp import _version as _version
from tersely_mcp.server import build_server

__all__ = ["build_server"]
