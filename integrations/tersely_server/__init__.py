"""tersely over HTTP: `pip install 'tersely[server]'`.

tersely serve --port 8080
"""

from tersely_server import _version as _version
from tersely_server.app import build_app
from tersely_server.serve import serve
from tersely_server.settings import ServerSettings

__all__ = ["ServerSettings", "build_app", "serve"]
