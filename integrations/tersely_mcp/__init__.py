"""tersely for agents that speak the Model Context Protocol: `pip install '.[mcp]'`.

```sh
tersely mcp --folder notes --experience lessons.db
```
"""

from tersely.adapters import require_package

require_package("mcp", "mcp", (2, 3), (3,))

from tersely_mcp.server import build_server

__all__ = ["build_server"]
