"""`python -m benchmarks.adapters`: the time that each adapter adds to a bare call, on ten documents.

Prints a table, writes the JSON and fills RESULTS.md. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version
from math import floor
from pathlib import Path

import numpy as np
from haystack import Document as HaystackDocument
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeWithScore, TextNode
from mcp import Client
from tersely.compat import PromptCompressor

from benchmarks.adapters.report import DOCUMENTS, RATE, WORDS, AdapterRow, AdaptersRun, render
from benchmarks.arguments import add_out, add_seed, make_parser
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.shared.statistics import bootstrap
from tersely import Compressor
from tersely.runtime.artifacts import load_artifact
from tersely_haystack import TerselyDocumentCompressor
from tersely_langchain import TerselyCompressor
from tersely_llamaindex import TerselyPostprocessor
from tersely_mcp import build_server

FRAMEWORKS = ("langchain-core", "llama-index-core", "haystack-ai", "mcp")

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    rounds: int
    seed: int
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.adapters", __doc__)
    parser.add_argument("--rounds", type=int, default=40)
    add_seed(parser)
    add_out(parser, "adapters")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("adapters", lambda: asyncio.run(measure(options)), render, options.out)


async def measure(options: Options) -> AdaptersRun:
    """Time each adapter in every round, in random order, each right after a bare call."""
    artifact = load_artifact(None)
    compressor = Compressor(artifact.path)
    texts = write_documents(DOCUMENTS, WORDS)
    async with Client(build_server(compressor=compressor)) as client:
        calls = _make_calls(compressor, client, texts)
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
        shuffle = random.Random(options.seed)
        progress = Progress(options.rounds + 1)
        for number in range(options.rounds + 1):
            for name in shuffle.sample(list(calls), len(calls)):
                pair = await _time(_make_bare_call(compressor, texts)), await _time(calls[name])
                if number:  # the first round warms up
                    seconds[name].append(pair)
            progress.step("rounds")
        progress.close()
    return AdaptersRun(
        benchmark="adapters",
        model=name_model(artifact),
        seed=options.seed,
        rounds=options.rounds,
        environment=read_environment(),
        frameworks={name: version(name) for name in FRAMEWORKS},
        bare=float(np.median([bare for pairs in seconds.values() for bare, _ in pairs])),
        adapters=tuple(_compare(name, pairs, options.seed) for name, pairs in seconds.items()),
    )


def _make_calls(compressor: Compressor, client: Client, texts: list[str]) -> dict[str, Call]:
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


def _make_bare_call(compressor: Compressor, texts: list[str]) -> Call:
    async def call() -> object:
        return compressor.compress(QUERY, texts, rate=RATE)

    return call


async def _time(call: Call) -> float:
    gc.collect()
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


def _compare(name: str, pairs: list[tuple[float, float]], seed: int) -> AdapterRow:
    """An adapter's row from (bare, adapted) seconds of each round."""
    bare, adapted = np.array(pairs).T
    share = bootstrap(adapted - bare, bare, seed).round()
    added_ms = round(1000 * float(np.median(adapted - bare)), 2)
    return AdapterRow(name, share.value, share.low, share.high, added_ms)


if __name__ == "__main__":
    sys.exit(main())
