"""`python -m benchmarks.adapters`: what each adapter adds to the bare call, on ten documents.

Prints a table, writes the JSON and fills RESULTS.md. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from math import floor
from typing import Any

import numpy as np
from haystack import Document as HaystackDocument
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeWithScore, TextNode
from mcp import Client

from benchmarks.latency.texts import QUERY, documents
from benchmarks.progress import Progress
from benchmarks.quality.statistics import bootstrap
from benchmarks.results import add_out, describe, environment, publish, table
from tersely import Compressor
from tersely.compat import PromptCompressor
from tersely.runtime.artifacts import load_artifact
from tersely_haystack import TerselyDocumentCompressor
from tersely_langchain import TerselyCompressor
from tersely_llamaindex import TerselyPostprocessor
from tersely_mcp import build_server

COUNT, WORDS, RATE = 10, 120, 0.25
"""The latency benchmark's smaller case."""

FRAMEWORKS = ("langchain-core", "llama-index-core", "haystack-ai", "mcp")

Call = Callable[[], Awaitable[object]]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adapters", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=13)
    add_out(parser, "adapters")
    options = parser.parse_args(arguments)
    return publish("adapters", lambda: asyncio.run(run(options.rounds, options.seed)), markdown, options.out)


async def run(rounds: int, seed: int) -> dict[str, Any]:
    """The JSON of a run: in every round each adapter, in random order, right after a bare call."""
    artifact = load_artifact(None)
    compressor = Compressor(artifact.path)
    texts = documents(COUNT, WORDS)
    async with Client(build_server(compressor=compressor)) as client:
        calls = _calls(compressor, client, texts)
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
        shuffle = random.Random(seed)
        progress = Progress(rounds + 1)
        for number in range(rounds + 1):
            for name in shuffle.sample(list(calls), len(calls)):
                pair = await _timed(_bare(compressor, texts)), await _timed(calls[name])
                if number:  # the first round warms up
                    seconds[name].append(pair)
            progress.step("rounds")
        progress.close()
    return {
        "benchmark": "adapters",
        "model": f"{artifact.name}@{artifact.fingerprint}",
        "seed": seed,
        "rounds": rounds,
        "environment": environment(),
        "frameworks": {name: version(name) for name in FRAMEWORKS},
        "bare": float(np.median([bare for pairs in seconds.values() for bare, _ in pairs])),
        "adapters": {name: _compared(pairs, seed) for name, pairs in seconds.items()},
    }


def _calls(compressor: Compressor, client: Client, texts: list[str]) -> dict[str, Call]:
    """Every adapter on the same texts, with a result of the same size."""
    budget = floor(RATE * compressor.compress(QUERY, texts, rate=RATE).tokens_before)
    langchain = TerselyCompressor(compressor=compressor, rate=RATE)
    lc_docs = [LangChainDocument(page_content=text) for text in texts]
    llamaindex = TerselyPostprocessor(compressor=compressor, rate=RATE)
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]
    haystack = TerselyDocumentCompressor(rate=RATE)
    haystack.warm_up()
    hs_docs = [HaystackDocument(content=text) for text in texts]
    lingua = PromptCompressor(compressor=compressor)

    async def with_langchain() -> object:
        return langchain.compress_documents(lc_docs, QUERY)

    async def with_llamaindex() -> object:
        return llamaindex.postprocess_nodes(nodes, query_str=QUERY)

    async def with_haystack() -> object:
        return haystack.run(query=QUERY, documents=hs_docs)

    async def over_mcp() -> object:
        return await client.call_tool("compress", {"query": QUERY, "documents": texts, "budget": budget})

    async def as_llmlingua() -> object:
        return lingua.compress_prompt(texts, question=QUERY, rate=RATE)

    return {
        "LangChain, TerselyCompressor": with_langchain,
        "LlamaIndex, TerselyPostprocessor": with_llamaindex,
        "Haystack, TerselyDocumentCompressor": with_haystack,
        "MCP, compress (a client in the process)": over_mcp,
        "tersely.compat, compress_prompt": as_llmlingua,
    }


def _bare(compressor: Compressor, texts: list[str]) -> Call:
    async def call() -> object:
        return compressor.compress(QUERY, texts, rate=RATE)

    return call


async def _timed(call: Call) -> float:
    gc.collect()
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


def _compared(pairs: list[tuple[float, float]], seed: int) -> dict[str, float]:
    """The share of time that the adapter adds, with its interval over rounds, and the milliseconds."""
    bare, adapted = np.array(pairs).T
    share = bootstrap(adapted - bare, bare, seed)
    return {
        "added": round(share.value, 4),
        "low": round(share.low, 4),
        "high": round(share.high, 4),
        "added_ms": round(1000 * float(np.median(adapted - bare)), 2),
    }


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md for a run's JSON."""
    frameworks = ", ".join(f"{name} {found}" for name, found in result["frameworks"].items())
    rows = [
        [
            name,
            f"{100 * a['added']:+.1f}",
            f"{100 * a['low']:+.1f} to {100 * a['high']:+.1f}",
            f"{a['added_ms']:+.1f}",
        ]
        for name, a in result["adapters"].items()
    ]
    return "\n\n".join(
        [
            f"Model {result['model']}, seed {result['seed']}. {describe(result['environment'])}",
            f"{COUNT} documents of {WORDS} words at rate {RATE}, {result['rounds']} rounds, {frameworks}. "
            f"Each call right after a bare `compress`, whose median is {result['bare']:.3f} s: what the "
            "adapter adds, in percent of the bare call with a 95 % bootstrap interval over rounds, and the "
            "median difference.",
            table(["adapter", "added, %", "95 %", "added, ms"], rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
