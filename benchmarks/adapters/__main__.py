"""`python -m benchmarks.adapters`: the time that each adapter adds to a bare call, on ten documents.

Run it on an otherwise idle machine.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from math import floor

import numpy as np
from haystack import Document as HaystackDocument
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeWithScore, TextNode
from mcp import Client

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.shared.statistics import bootstrap
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely_haystack import TerselyDocumentCompressor
from tersely_langchain import TerselyCompressor
from tersely_llamaindex import TerselyPostprocessor
from tersely_mcp import build_server

DOCUMENTS, WORDS, RATE = 10, 120, 0.25
"""The smaller request of the latency benchmark."""
FRAMEWORKS = ("langchain-core", "llama-index-core", "haystack-ai", "mcp")
COLUMNS = (
    Column("adapter"),
    Column("added", "%", format="+.1f", interval="bootstrap"),
    Column("added at the median", "ms", format="+.1f"),
)
"""Share of the bare call's time, with an interval over rounds, and the median difference."""

Call = Callable[[], Awaitable[object]]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.adapters", __doc__, rounds=40)
    return run(parser, arguments, Options(), lambda options: asyncio.run(measure(options)))


async def measure(options: Options) -> Measured:
    """Time each adapter in every round, in random order, each right after a bare call."""
    compressor = Compressor()
    texts = write_documents(DOCUMENTS, WORDS)
    async with Client(build_server(compressor=compressor)) as client:
        calls = _make_calls(compressor, client, texts)
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
        shuffle = random.Random(options.seed)

        async def compress() -> object:
            return compressor.compress(QUERY, texts, rate=RATE)

        gc.freeze()  # so that a collection before each call takes no time over what was imported
        for number in track(range(options.rounds + 1), "rounds"):
            for name in shuffle.sample(list(calls), len(calls)):
                pair = await _time(compress), await _time(calls[name])
                if number:  # the first round warms up
                    seconds[name].append(pair)
        gc.unfreeze()
    rows = tuple(_compare(name, pairs, options.seed) for name, pairs in seconds.items())
    bare = float(np.median([bare for pairs in seconds.values() for bare, _ in pairs]))
    settings = {"rounds": options.rounds, "seconds of a bare call": round(bare, 4)}
    frameworks = {name: version(name) for name in FRAMEWORKS}
    return Measured([Table("Added time", COLUMNS, rows)], compressor.model, {**settings, **frameworks})


def _make_calls(compressor: Compressor, client: Client, texts: list[str]) -> dict[str, Call]:
    """Return every adapter's call on the same texts, with a result of the same size."""
    budget = floor(RATE * compressor.compress(QUERY, texts, rate=RATE).tokens_before)
    langchain = TerselyCompressor(compressor=compressor, rate=RATE)
    lc_docs = [LangChainDocument(page_content=text) for text in texts]
    llamaindex = TerselyPostprocessor(compressor=compressor, rate=RATE)
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]
    haystack = TerselyDocumentCompressor(rate=RATE)
    haystack.warm_up()
    hs_docs = [HaystackDocument(content=text) for text in texts]

    async def with_langchain() -> object:
        return langchain.compress_documents(lc_docs, QUERY)

    async def with_llamaindex() -> object:
        return llamaindex.postprocess_nodes(nodes, query_str=QUERY)

    async def with_haystack() -> object:
        return haystack.run(query=QUERY, documents=hs_docs)

    async def over_mcp() -> object:
        return await client.call_tool("compress", {"query": QUERY, "documents": texts, "budget": budget})

    return {
        "LangChain, TerselyCompressor": with_langchain,
        "LlamaIndex, TerselyPostprocessor": with_llamaindex,
        "Haystack, TerselyDocumentCompressor": with_haystack,
        "MCP, compress (a client in the process)": over_mcp,
    }


async def _time(call: Call) -> float:
    gc.collect()
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


def _compare(name: str, pairs: list[tuple[float, float]], seed: int) -> Row:
    """Return an adapter's row from (bare, adapted) seconds of each round."""
    bare, adapted = np.array(pairs).T
    added_ms = round(1000 * float(np.median(adapted - bare)), 2)
    added = bootstrap(adapted - bare, bare, seed).round()
    return {"adapter": name, "added": added, "added at the median": added_ms}


if __name__ == "__main__":
    sys.exit(main())
