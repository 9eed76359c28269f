"""Rerankers: score documents for a query.

Without a reranker, the selector's own relevance ranks the documents, in the pass that scores their
sentences. A reranker comes before that pass. With `max_docs`, the selector reads only the documents that the
reranker ranks highest.

```python
compressor = Compressor(reranker=CrossEncoder("path/to/onnx-folder"))
compressor.compress(query, docs, max_docs=5)
```
"""

from tersely.rerank.cross_encoder import CrossEncoder
from tersely.rerank.relevance import Relevance
from tersely.rerank.servers import DecisionEndpoint, RerankEndpoint
from tersely.score.protocol import Reranker

__all__ = ["CrossEncoder", "DecisionEndpoint", "Relevance", "RerankEndpoint", "Reranker"]
