"""The interfaces of other compressors, so that a program can switch with one import.

from tersely.compat import PromptCompressor   # for llmlingua's
from tersely.compat import OpenProvenceModel  # for OpenProvence's and Provence's `process`

Arguments without a meaning here are refused, unless they have the default value of the other package. The
models of those packages cannot be used.
"""

from tersely.compat.llmlingua import PromptCompressor
from tersely.compat.openprovence import OpenProvenceModel

__all__ = ["OpenProvenceModel", "PromptCompressor"]
