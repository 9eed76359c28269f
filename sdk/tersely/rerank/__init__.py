"""Rerankers: which documents matter for a query.

Without one, the selector's own relevance ranks the documents, in the pass that scores their sentences
anyway. A reranker of one's own goes in front: with `max_docs`, only the documents that it ranks highest are
read at all.

    compressor = Compressor(reranker=CrossEncoder("path/to/onnx-folder"))
    compressor.compress(query, docs, max_docs=5)
"""

from tersely.rerank.cross_encoder import CrossEncoder
from tersely.rerank.endpoint import RerankEndpoint
from tersely.rerank.protocol import Reranker
from tersely.rerank.relevance import Relevance

__all__ = ["CrossEncoder", "Relevance", "RerankEndpoint", "Reranker"]
