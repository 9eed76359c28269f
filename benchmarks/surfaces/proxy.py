"""`python -m benchmarks.surfaces.proxy`: the time that `tersely proxy` adds to a request.

Proxy and model run in separate processes; the model is a stand-in that answers at once. Every request is
sent directly and through the proxy, in turns. The CPU time of the proxy is measured too, because it does not
depend on other work on the machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.metadata import version

import httpx2
import numpy as np
import psutil
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.shared.statistics import bootstrap_mean
from benchmarks.surfaces.processes import TERSELY, start_process
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely_http import listen

PATH = "/v1/chat/completions"
LIMIT = 1000
"""Largest number of tokens of a tool result, the proxy's default."""
RESULTS = 20
"""Tool results of a long request."""
UPSTREAM = (sys.executable, "-c", "from benchmarks.surfaces.proxy import serve_upstream; serve_upstream()")


COLUMNS = (
    Column("request"),
    Column("size", "kB"),
    Column("without the proxy, median", "ms", format=".1f"),
    Column("added, median", "ms", format=".1f"),
    Column("added, mean", "ms", format=".1f", interval="bootstrap"),
    Column("CPU of the proxy", "ms", format=".1f"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    return run(make_parser("benchmarks.surfaces.proxy", __doc__, rounds=200), arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Time each kind of request directly and through the proxy, in turns."""
    short, long = make_request([]), make_request(write_documents(RESULTS, 600))
    shortened = make_request(write_documents(RESULTS, 900))
    timers: dict[str, tuple[bytes, Callable[[httpx2.Client, bytes], float]]] = {
        "a question, to the end of the answer": (short, time_answer),
        "a question, to the first token": (short, time_first_token),
        f"{RESULTS} results below the limit, to the first token": (long, time_first_token),
        f"{RESULTS} results that were shortened before, to the first token": (shortened, time_first_token),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in timers}
    cpu: dict[str, float] = {}
    with start_process(UPSTREAM) as direct:
        command = [*TERSELY, "proxy", "--upstream", direct.url, "--port", "0", "--over", str(LIMIT)]
        with (
            start_process([*command, "--timeout", "600"]) as proxied,
            httpx2.Client(base_url=direct.url, timeout=600) as to_model,
            httpx2.Client(base_url=proxied.url, timeout=600) as to_proxy,
        ):
            for content in (short, long, shortened):
                check(to_proxy.post(PATH, content=content), shorter=content is shortened)
            for _ in track(range(options.rounds), "rounds"):
                for name, (content, timer) in timers.items():
                    taken[name].append((timer(to_model, content), timer(to_proxy, content)))
            for name, (content, timer) in timers.items():
                started = read_cpu(proxied.pid)
                for _ in range(options.rounds):
                    timer(to_proxy, content)
                cpu[name] = 1000 * (read_cpu(proxied.pid) - started) / options.rounds
    sizes = {name: len(content) // 1000 for name, (content, _) in timers.items()}
    rows = tuple(compare(name, sizes[name], pairs, cpu[name], options.seed) for name, pairs in taken.items())
    frameworks = {name: version(name) for name in ("starlette", "uvicorn", "httpx2")}
    settings = {"rounds": options.rounds, **frameworks}
    return Measured([Table("Requests", COLUMNS, rows)], Compressor().model, settings)


def make_request(results: Sequence[str]) -> bytes:
    """Return the request of an agent with these tool results."""
    messages: list[dict[str, object]] = [{"role": "user", "content": QUERY}]
    for number, text in enumerate(results):
        function = {"name": "fetch", "arguments": json.dumps({"page": number})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return json.dumps({"model": "m", "stream": True, "messages": messages}).encode()


def check(reply: httpx2.Response, *, shorter: bool) -> None:
    """Raise RuntimeError unless the proxy shortened the request, or left it unchanged if `shorter` is
    false."""
    expected = "compressed" if shorter else "unchanged"
    if reply.headers.get("x-tersely-status") != expected:
        raise RuntimeError(f"the proxy says {reply.headers.get('x-tersely-status')}, and not {expected}")


def time_answer(client: httpx2.Client, content: bytes) -> float:
    """Return the seconds to the end of the answer."""
    started = time.perf_counter()
    client.post(PATH, content=content).raise_for_status()
    return time.perf_counter() - started


def time_first_token(client: httpx2.Client, content: bytes) -> float:
    """Return the seconds to the first piece of the answer's body."""
    started = time.perf_counter()
    with client.stream("POST", PATH, content=content) as reply:
        parts = reply.iter_raw()
        next(parts)
        seconds = time.perf_counter() - started
        for _ in parts:
            pass
    return seconds


def read_cpu(pid: int) -> float:
    """Return the CPU seconds that a process has taken."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def compare(name: str, kilobytes: int, pairs: Sequence[tuple[float, float]], cpu: float, seed: int) -> Row:
    """Return the row of a kind of request. `pairs` holds the seconds without and with the proxy."""
    added = [1000 * (proxied - direct) for direct, proxied in pairs]
    return {
        "request": name,
        "size": kilobytes,
        "without the proxy, median": round(float(np.median([1000 * direct for direct, _ in pairs])), 2),
        "added, median": round(float(np.median(added)), 2),
        "added, mean": bootstrap_mean(added, seed).round(2),
        "CPU of the proxy": round(cpu, 2),
    }


def serve_upstream() -> None:
    """Serve in place of a model: answer at once, in two pieces."""

    async def answer(request: Request) -> StreamingResponse:
        await request.body()

        async def parts() -> AsyncIterator[bytes]:
            yield b'data: {"choices": [{"delta": {"content": "Yes"}}]}\n\n'
            await asyncio.sleep(0)
            yield b"data: [DONE]\n\n"

        return StreamingResponse(parts(), media_type="text/event-stream")

    app = Starlette(routes=[Route(PATH, answer, methods=["POST"])])
    with listen("127.0.0.1", 0, "port") as opened:
        print(f"http://127.0.0.1:{opened.getsockname()[1]}", file=sys.stderr, flush=True)
        uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[opened])


if __name__ == "__main__":
    sys.exit(main())
