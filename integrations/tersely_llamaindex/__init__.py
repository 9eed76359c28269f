"""tersely in LlamaIndex: `pip install '.[llamaindex]'`.

```python
from tersely_llamaindex import TerselyMemoryBlock, TerselyPostprocessor

engine = index.as_query_engine(node_postprocessors=[TerselyPostprocessor(budget=800)])
memory = Memory.from_defaults(memory_blocks=[TerselyMemoryBlock(budget=500)])
```
"""

from tersely.adapters import require_package

require_package("llama-index-core", "llamaindex", (0, 14), (0, 15))

from tersely_llamaindex.memory import TerselyMemoryBlock
from tersely_llamaindex.postprocessor import (
    TerselyCompressionEvent,
    TerselyPostprocessor,
    TerselyPreparer,
)

__all__ = ["TerselyCompressionEvent", "TerselyMemoryBlock", "TerselyPostprocessor", "TerselyPreparer"]
