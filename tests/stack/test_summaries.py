from __future__ import annotations

import pytest

from tersely import Compressor, Document
from tersely_agents.chat import OpenAIChat
from tersely_agents.summaries import Summarizer

DOCS = [
    Document(
        "The ferry leaves Port Maren at seven. It carries forty cars. Bicycles travel free of charge.",
        "Ferry",
    ),
    Document("The museum opened in 1904. Its garden has a pond with three old carps.", "Museum"),
]


@pytest.mark.slow
def test_a_real_model_writes_and_is_checked(small_model: OpenAIChat) -> None:
    compressor = Compressor()
    summarizer = Summarizer(small_model, compressor=compressor, preselect=40, unsupported="drop")
    summary = summarizer.summarize("When does the ferry leave Port Maren?", DOCS, budget=40)
    assert 0 < summary.tokens_after <= 40
    assert summary.tokens_after == compressor.count_tokens(summary.text)
    assert all(sentence.supported for sentence in summary.sentences)
    if summary.backend == "llm":
        assert summary.usage is not None
        assert summary.usage.input_tokens > 100
    else:
        assert summary.reason
    for sentence in summary.sentences:
        for support in sentence.support:
            assert DOCS[support.doc].text[support.start : support.end].strip()
