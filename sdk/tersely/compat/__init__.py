"""Call shapes and results of other compressors, so that switching is one import.

from tersely.compat import PromptCompressor   # for llmlingua's
from tersely.compat import OpenProvenceModel  # for OpenProvence's and Provence's `process`

Arguments that have no meaning here are refused, unless they have the value that they have there when nobody
gives them. Models of theirs cannot be used.
"""

from tersely.compat.llmlingua import PromptCompressor
from tersely.compat.openprovence import OpenProvenceModel

__all__ = ["OpenProvenceModel", "PromptCompressor"]
