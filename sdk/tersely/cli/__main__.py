"""`python -m tersely.cli`."""

import sys

from tersely.cli import main

sys.exit(main())
