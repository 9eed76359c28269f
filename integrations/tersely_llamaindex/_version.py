"""Imported first, so that a version that cannot work is said before anything else fails."""

from tersely.adapters import require

require("llama-index-core", "llamaindex", (0, 14), (0, 15))
