"""`python -m tersely.cli`."""

import sys

from tersely.cli.commands import main

sys.exit(main())
