"""tersely in Haystack: `pip install '.[haystack]'`.

- `TerselyDocumentCompressor`: a component for pipelines, after a retriever
- `TerselyCompactor`: shortens older tool results, in an agent's `CompactionHook`
- `open_original`: a tool that lets the agent's model read the originals
"""

from tersely.adapters import require_package

require_package("haystack-ai", "haystack", (3, 4), (4,))

from tersely_haystack.compactor import TerselyCompactor, open_original
from tersely_haystack.component import TerselyDocumentCompressor

__all__ = ["TerselyCompactor", "TerselyDocumentCompressor", "open_original"]
