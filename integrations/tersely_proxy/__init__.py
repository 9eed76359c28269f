"""A proxy in front of a chat API: `pip install 'tersely[server]'`.

tersely proxy --upstream https://api.openai.com
"""

from tersely_proxy import _version as _version
from tersely_proxy.app import build_app
from tersely_proxy.serve import serve
from tersely_proxy.settings import ProxySettings

__all__ = ["ProxySettings", "build_app", "serve"]
