"""Measure the proxy and the server under load, on this machine alone.

    python -m tests.load clients    64 clients at once, each with a tool result of 15 KB
    python -m tests.load growth     20,000 requests to each of proxy and server: does the memory grow?
    python -m tests.load large      20 MB in one request

Every line of the output has the load average of the machine, because other programs slow all of this down.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tersely import Compressor
from tersely.adapters import ToolLimits
from tersely_proxy import ProxySettings, build_app
from tersely_server import build_app as build_server
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app, serve_command

JSON = {"content-type": "application/json"}
QUESTION = "Which worker failed in the night, and why?"
ROOT = Path(__file__).resolve().parents[1]


def make_log(size: int, seed: int) -> str:
    """Return lines of a log with at least `size` bytes; one of them answers the question."""
    draw = random.Random(seed)
    lines: list[str] = []
    length = 0
    while length < size:
        job, kind = draw.randrange(10**6), draw.choice(["read", "sent", "closed", "opened"])
        lines.append(
            f"02:{draw.randrange(60):02}:{draw.randrange(60):02} worker-{draw.randrange(9)} {kind} job {job}"
        )
        length += len(lines[-1]) + 1
    lines.insert(len(lines) // 2, f"03:11:07 worker-4 failed: no space for job {seed}")
    return "\n".join(lines)


def make_body(size: int, seed: int) -> bytes:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat night.log"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": make_log(size, seed)}
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    return json.dumps({"model": "m", "max_tokens": 9, "messages": messages}).encode()


@contextmanager
def serve_upstream() -> Iterator[str]:
    async def reply(request: Request) -> JSONResponse:
        await request.body()
        return JSONResponse({"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}})

    with serve_app(Starlette(routes=[Route("/v1/messages", reply, methods=["POST"])])) as url:
        yield url


def show(name: str, **values: Any) -> None:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    shown = "  ".join(
        f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
        for key, value in values.items()
    )
    print(f"{name}: {shown}  (load average {load})", flush=True)


def find_percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def read_ram(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure_clients(count: int) -> None:
    """Let each of `count` clients send two requests, the second after the answer to the first.

    They may wait as long as it takes: a request waits for all that came before it.
    """

    async def run(url: str, rounds: int) -> list[tuple[float, str]]:
        async with httpx2.AsyncClient(timeout=900, limits=httpx2.Limits(max_connections=None)) as client:

            async def ask(number: int) -> list[tuple[float, str]]:
                times: list[tuple[float, str]] = []
                for turn in range(rounds):
                    body = make_body(15_000, number * 1000 + turn)
                    start = time.perf_counter()
                    reply = await client.post(f"{url}/v1/messages", content=body)
                    times.append((time.perf_counter() - start, reply.headers["x-tersely-status"]))
                return times

            return [one for times in await asyncio.gather(*map(ask, range(count))) for one in times]

    command = ("proxy", "--timeout", "900")
    with serve_upstream() as upstream, serve_command(*command, "--upstream", upstream) as proxy:
        asked = asyncio.run(run(proxy.url, 2))
        times = [seconds for seconds, _ in asked]
        codes = [status for _, status in asked]
        show(
            f"{count} clients, 15 KB",
            requests=len(times),
            shortened=codes.count("compressed"),
            whole=codes.count("failed"),
            median_s=statistics.median(times),
            p99_s=find_percentile(times, 0.99),
            ram_mb=read_ram(proxy.process.pid),
        )


def measure_growth(count: int) -> None:
    """Send requests with results that are all different. The model is a stand-in, and everything else is
    real."""
    with serve_upstream() as upstream:
        send_many("proxy", upstream, count)
    send_many("server", "", count)


def send_many(name: str, upstream: str, count: int) -> None:
    program = "import sys; from tests import load; load.serve_stand_in(*sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", program, name, upstream], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with httpx2.Client(timeout=60) as client:
            for number in range(1, count + 1):
                if name == "proxy":
                    path, body = "/v1/messages", make_body(4000, number)
                else:
                    path, body = "/v1/compress", make_gateway_body(number)
                client.post(f"{url}{path}", content=body, headers=JSON).raise_for_status()
                if number % max(1, count // 8) == 0:
                    show(f"growth {name}", requests=number, ram_mb=read_ram(process.pid))
    finally:
        process.kill()


def make_gateway_body(seed: int) -> bytes:
    """Return a gateway's request with a result to shorten or, every second time, one with documents."""
    log = make_log(6000, seed)
    if seed % 2:
        return json.dumps({"query": QUESTION, "documents": [log], "budget": 200}).encode()
    messages = [{"role": "user", "content": QUESTION}, {"role": "tool", "content": log}]
    return json.dumps({"messages": messages, "model": "m"}).encode()


def serve_stand_in(name: str, upstream: str) -> None:
    compressor = Compressor(FakeScorer())
    app: Any = build_server(compressor)
    if name == "proxy":
        app = build_app(compressor, ProxySettings(upstream=upstream, limits=ToolLimits(200)))
    with serve_app(app) as url:
        print(url, flush=True)
        time.sleep(3600)


def measure_large(megabytes: int) -> None:
    body = make_body(megabytes * 1_000_000, 1)
    with serve_upstream() as upstream, serve_command("proxy", "--upstream", upstream) as proxy:
        httpx2.post(f"{proxy.url}/v1/messages", content=make_body(5000, 1), timeout=60)
        start = time.perf_counter()
        reply = httpx2.post(f"{proxy.url}/v1/messages", content=body, timeout=600)
        seconds = time.perf_counter() - start
        status = reply.headers["x-tersely-status"]
        show(f"proxy, {megabytes} MB", status=status, seconds=seconds, ram_mb=read_ram(proxy.process.pid))
    with serve_command("serve", "--max-bytes", str(2 * len(body))) as server:
        documents = [make_log(megabytes * 1_000_000, 1)]
        question = {"query": QUESTION, "documents": documents, "budget": 1000, "timeout": 30}
        start = time.perf_counter()
        reply = httpx2.post(f"{server.url}/v1/compress", json=question, timeout=600)
        seconds = time.perf_counter() - start
        show(
            f"serve, {megabytes} MB",
            code=reply.status_code,
            timeout=30,
            seconds=seconds,
            ram_mb=read_ram(server.process.pid),
        )


MEASURES: dict[str, tuple[Callable[[int], None], int]] = {
    "clients": (measure_clients, 64),
    "growth": (measure_growth, 20_000),
    "large": (measure_large, 20),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=MEASURES)
    parser.add_argument("--count", type=int, help="clients, requests or megabytes")
    given = parser.parse_args()
    measure, usual = MEASURES[given.what]
    measure(given.count or usual)


if __name__ == "__main__":
    main()
