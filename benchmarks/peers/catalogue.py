"""The peers: what they are, how they are run and what must be known to read their figures.

`worker.py` imports this file in the peers' environment, so it needs the standard library alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """Another compressor, as a package on PyPI."""

    name: str
    """In tables, in the JSON and on the command line."""
    package: str
    version: str
    licence: str
    setup: str
    """How it is run here."""
    takes_size: bool
    """Whether it takes a target size; its output is then brought near the budget."""
    is_slow: bool = False
    """Whether it takes seconds for a question. It then reads the first questions of each set only, and has
    one try to come near the budget."""
    is_trained: bool = True
    """False where the weights are random, so that only times mean anything."""
    caveat: str = ""
    """What limits the comparison."""


PEERS = (
    Peer(
        "llmslim",
        package="llmslim",
        version="0.11.2",
        licence="MIT",
        setup="`compress_documents` with the question; the size is its target ratio",
        takes_size=True,
    ),
    Peer(
        "longllmlingua",
        package="llmlingua",
        version="0.2.2",
        licence="MIT",
        setup="SmolLM2-135M ranks documents and tokens by the question; the size is a number of its tokens",
        takes_size=True,
        is_slow=True,
        caveat="its authors use larger language models",
    ),
    Peer(
        "llmlingua",
        package="llmlingua",
        version="0.2.2",
        licence="MIT",
        setup="SmolLM2-135M ranks tokens; the size is a number of its tokens",
        takes_size=True,
        is_slow=True,
        caveat="its authors use larger language models",
    ),
    Peer(
        "llamaindex",
        package="llama-index-core",
        version="0.14.25",
        licence="MIT",
        setup="`SentenceEmbeddingOptimizer` with MiniLM, all documents in one node, without neighbours; the "
        "size is a share of the sentences",
        takes_size=True,
    ),
    Peer(
        "headroom",
        package="headroom-ai",
        version="0.42.0",
        licence="Apache-2.0",
        setup="the documents are a tool message, followed by the question",
        takes_size=False,
        caveat="it runs without its learned compressor of prose, whose weights have to be fetched from a "
        "hub, and passes plain text on",
    ),
    Peer(
        "claw-compactor",
        package="claw-compactor",
        version="7.1.0",
        licence="MIT",
        setup="`FusionEngine` on all documents as one text",
        takes_size=False,
    ),
    Peer(
        "contextpress",
        package="contextpress",
        version="0.7.8",
        licence="Apache-2.0",
        setup="`ContextManager` for RAG documents with high compression; the size is a number of its tokens",
        takes_size=True,
    ),
    Peer(
        "llmlingua2-shape",
        package="llmlingua",
        version="0.2.2",
        licence="MIT",
        setup="LLMLingua-2's code with an encoder of multilingual BERT's shape",
        takes_size=False,
        is_slow=True,
        is_trained=False,
        caveat="random weights: only its time is measured",
    ),
)

BY_NAME = {peer.name: peer for peer in PEERS}
