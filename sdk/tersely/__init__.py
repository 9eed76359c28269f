"""Context compression for language models on a plain CPU.

```python
from tersely import Compressor

result = Compressor().compress(query, documents, rate=0.25)
result.text
```

`Compressor` loads the model once and can be shared between threads.
"""

from tersely.compressor import Compressor
from tersely.errors import (
    ArtifactError,
    InvalidInputError,
    MissingDependencyError,
    OfflineError,
    TerselyError,
)
from tersely.lossless import condense, expand
from tersely.options import CompressionArguments, CompressionOptions
from tersely.prepared import PreparedDocument
from tersely.tokens import TokenCounter
from tersely.types import Citation, Citations, CompressedDocument, Compression, Document, Span

__version__ = "0.1.0"

__all__ = [
    "ArtifactError",
    "Citation",
    "Citations",
    "CompressedDocument",
    "Compression",
    "CompressionArguments",
    "CompressionOptions",
    "Compressor",
    "Document",
    "InvalidInputError",
    "MissingDependencyError",
    "OfflineError",
    "PreparedDocument",
    "Span",
    "TerselyError",
    "TokenCounter",
    "__version__",
    "condense",
    "expand",
]
