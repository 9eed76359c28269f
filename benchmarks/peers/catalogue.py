"""The peers: other compressors, how they are run here, and what limits the comparison.

`worker.py` imports this file in the peers' environment, so it needs the standard library alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """Another compressor, as a package on PyPI."""

    name: str
    """Its name in tables, in the JSON and on the command line."""
    package: str
    version: str
    setup: str
    """The call and the settings of this benchmark, and the limits of the comparison."""
    takes_size: bool
    """True if it takes a target size, so that its output can be brought near the budget."""
    is_slow: bool = False
    """True if it takes seconds for a question. It then gets only the first questions of each set, and one try
    to come near the budget."""


PEERS = (
    Peer(
        "llmslim",
        package="llmslim",
        version="0.11.2",
        setup="`compress_documents` with the question; the size is its target ratio",
        takes_size=True,
    ),
    Peer(
        "longllmlingua",
        package="llmlingua",
        version="0.2.2",
        setup="SmolLM2-135M ranks documents and tokens by the question; the size is a number of its tokens; "
        "its authors use larger language models",
        takes_size=True,
        is_slow=True,
    ),
    Peer(
        "llmlingua",
        package="llmlingua",
        version="0.2.2",
        setup="SmolLM2-135M ranks tokens; the size is a number of its tokens; its authors use larger "
        "language models",
        takes_size=True,
        is_slow=True,
    ),
    Peer(
        "llamaindex",
        package="llama-index-core",
        version="0.14.25",
        setup="`SentenceEmbeddingOptimizer` with MiniLM, all documents in one node, without neighbours; the "
        "size is a share of the sentences",
        takes_size=True,
    ),
    Peer(
        "headroom",
        package="headroom-ai",
        version="0.42.0",
        setup="the documents are a tool message, followed by the question; without its learned compressor of "
        "prose, whose weights have to be fetched from a hub, it passes plain text on",
        takes_size=False,
    ),
    Peer(
        "trimwise",
        package="trimwise",
        version="0.7.0",
        setup="`trim_context` with the question and its default strategy, lexical; the size is a number of "
        "characters; it reads words by cl100k, because its own tokenizer has to be downloaded",
        takes_size=True,
    ),
    Peer(
        "barber",
        package="barber-llm",
        version="0.7.0",
        setup="`trim` of a message of the user with all documents, followed by the question, without an "
        "embedder; the size is the share of paragraphs that it keeps",
        takes_size=True,
    ),
    Peer(
        "claw-compactor",
        package="claw-compactor",
        version="7.1.0",
        setup="`FusionEngine` on all documents as one text, without torch: with it, its model, which comes "
        "without weights, would drop tokens at random",
        takes_size=False,
    ),
    Peer(
        "contextpress",
        package="contextpress",
        version="0.7.8",
        setup="`ContextManager` for RAG documents with high compression; the size is a number of its tokens",
        takes_size=True,
    ),
)

BY_NAME = {peer.name: peer for peer in PEERS}
