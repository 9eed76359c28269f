"""Imported first, so that a version that cannot work is said before anything else fails."""

from tersely.adapters import require

require("haystack-ai", "haystack", (3, 4), (4,))
