"""A proxy in front of a chat API: `pip install '.[server]'`.

```sh
tersely proxy --upstream https://api.openai.com
```
"""

from tersely.adapters import require_package

require_package("httpx2", "server", (2, 10), (3,))

from tersely_proxy.app import build_app, serve
from tersely_proxy.forwarding import ProxySettings
from tersely_proxy.wrapping import wrap

__all__ = ["ProxySettings", "build_app", "serve", "wrap"]
