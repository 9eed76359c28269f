"""Summaries that say where every sentence comes from.

    from tersely.summarize import Summarizer

    summary = Summarizer().summarize("When does the ferry leave?", documents, budget=120)

Without a chat model the summary is made of the documents' own sentences. With one it is written by the model,
and every sentence of it is checked against the documents.
"""

from tersely.summarize.summarizer import Summarizer
from tersely.summarize.types import ASPECTS, Summary, SummarySentence, Support

__all__ = ["ASPECTS", "Summarizer", "Summary", "SummarySentence", "Support"]
