"""tersely over HTTP: `pip install '.[server]'`.

```sh
tersely serve --port 8080
```
"""

from tersely.adapters import require_package

require_package("fastapi", "server", (0, 130), (1,))

from tersely_server.app import build_app, serve
from tersely_server.settings import ServerSettings

__all__ = ["ServerSettings", "build_app", "serve"]
