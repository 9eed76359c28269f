"""Summaries with a source for every sentence.

```python
from tersely_agents.summaries import Summarizer

summary = Summarizer().summarize("When does the ferry leave?", documents, budget=120)
```

Without a chat model, the summary consists of the documents' own sentences. With one, the model writes it, and
every sentence is checked against the documents.
"""

from tersely_agents.summaries.summarizer import Summarizer
from tersely_agents.summaries.types import ASPECTS, Summary, SummarySentence, Support

__all__ = ["ASPECTS", "Summarizer", "Summary", "SummarySentence", "Support"]
