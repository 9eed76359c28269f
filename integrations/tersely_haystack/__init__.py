"""tersely in Haystack: `pip install 'tersely[haystack]'`.

TerselyDocumentCompressor     a component for pipelines, behind a retriever
TerselyCompactor              for an agent's `CompactionHook`: older tool results become shorter
open_original                 the tool with which the agent's model opens what that has shortened
"""

from tersely_haystack import _version as _version
from tersely_haystack.compactor import TerselyCompactor, open_original
from tersely_haystack.component import TerselyDocumentCompressor

__all__ = ["TerselyCompactor", "TerselyDocumentCompressor", "open_original"]
