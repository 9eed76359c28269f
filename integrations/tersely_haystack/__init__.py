"""tersely in Haystack: `pip install 'tersely[haystack]'`.

TerselyDocumentCompressor     a component for pipelines, behind a retriever
TerselyCompactor              for an agent's `CompactionHook`: older tool results become shorter
"""

from tersely_haystack import _version as _version
from tersely_haystack.compactor import TerselyCompactor
from tersely_haystack.component import TerselyDocumentCompressor

__all__ = ["TerselyCompactor", "TerselyDocumentCompressor"]
