"""Imported first, so that a version that does not work is reported before anything else fails."""

from tersely.adapters import require_package

require_package("llama-index-core", "llamaindex", (0, 14), (0, 15))
