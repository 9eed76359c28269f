"""Imported first, so that a version that cannot work is said before anything else fails."""

from tersely.adapters import require

require("langchain", "langchain", (1, 4, 5), (2,))
