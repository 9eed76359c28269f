"""tersely in LangChain: `pip install '.[langchain]'`.

- `TerselyCompressor`: a document compressor for `ContextualCompressionRetriever` and chains
- `TerselyPreparer`: a document transformer that prepares passages on their way into an index
- `TerselyReranker`: a cross-encoder for `CrossEncoderReranker`
- `TerselyMiddleware`: compresses tool results before they enter the history, in `create_agent`
- `TerselyMemory`: does the same, and never shows the model more than a limit
- `TerselyContextEdit`: shows the model older tool results compressed, in `ContextEditingMiddleware`
- `open_original`: a tool that lets the model read the originals
- `TerselySummary`: a summary without a model call, for `SummarizationMiddleware(summarizer=...)`
"""

from tersely.adapters import require_package

require_package("langchain", "langchain", (1, 4, 5), (2,))

from tersely_langchain.documents import TerselyCompressor, TerselyPreparer, TerselyReranker
from tersely_langchain.editing import TerselyContextEdit, TerselySummary
from tersely_langchain.memory import TerselyMemory, TerselyMemoryState
from tersely_langchain.middleware import TerselyMiddleware, TerselyState, open_original

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
