"""`python -m tersely_hook` runs the daemon."""

import sys

from tersely_hook.daemon import serve

sys.exit(serve())
