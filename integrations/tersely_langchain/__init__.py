"""tersely in LangChain: `pip install 'tersely[langchain]'`.

TerselyCompressor     a document compressor for `ContextualCompressionRetriever` and chains
TerselyPreparer       a document transformer: prepares passages on their way into an index
TerselyReranker       a cross-encoder for `CrossEncoderReranker`
TerselyMiddleware     for `create_agent`: tool results enter the history compressed
TerselyMemory         the same, and a history that never outgrows its limit
TerselyContextEdit    for `ContextEditingMiddleware`: older tool results are shown compressed
open_original         the tool with which the model opens what that has shortened
TerselySummary        for `SummarizationMiddleware(summarizer=...)`: a summary without a call
"""

from tersely_langchain import _version as _version
from tersely_langchain.compressor import TerselyCompressor
from tersely_langchain.editing import TerselyContextEdit, TerselySummary
from tersely_langchain.memory import TerselyMemory, TerselyMemoryState
from tersely_langchain.middleware import TerselyMiddleware, TerselyState
from tersely_langchain.originals import open_original
from tersely_langchain.preparer import TerselyPreparer
from tersely_langchain.reranker import TerselyReranker

__all__ = [
    "TerselyCompressor",
    "TerselyContextEdit",
    "TerselyMemory",
    "TerselyMemoryState",
    "TerselyMiddleware",
    "TerselyPreparer",
    "TerselyReranker",
    "TerselyState",
    "TerselySummary",
    "open_original",
]
