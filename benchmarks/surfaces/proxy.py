"""`python -m benchmarks.surfaces.proxy`: the time that `tersely proxy` adds to a request.

Proxy and model run in processes of their own; the model is a stand-in that answers at once. Every request is
sent directly and through the proxy, in turns. What the proxy computes for a request is measured too, because
that does not depend on who else uses the machine. Prints a table, writes the JSON and fills RESULTS.md.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import httpx2
import numpy as np
import psutil
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.markdown import format_table
from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.shared.statistics import Estimate, bootstrap_mean
from benchmarks.surfaces.processes import TERSELY, Options, read_options, start_process
from tersely.runtime.artifacts import load_artifact
from tersely_http import listen

PATH = "/v1/chat/completions"
LIMIT = 1000
"""Most tokens of a result, the proxy's default."""
RESULTS = 20
"""Tool results of a long request."""
UPSTREAM = (sys.executable, "-c", "from benchmarks.surfaces.proxy import serve_upstream; serve_upstream()")


@dataclass(frozen=True, slots=True)
class ProxyRow:
    """One kind of request."""

    name: str
    kilobytes: int
    direct: float
    """Median milliseconds without the proxy."""
    added: float
    """Median milliseconds that it adds."""
    mean: Estimate
    """Mean of them, over rounds."""
    cpu: float
    """Milliseconds of CPU time that the proxy takes."""


@dataclass(frozen=True, slots=True)
class ProxyRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    seed: int
    rounds: int
    environment: Environment
    frameworks: dict[str, str]
    """Version by distribution."""
    rows: tuple[ProxyRow, ...]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = read_options("proxy", __doc__, 200, arguments)
    return publish("proxy", lambda: measure(options), render, options.out)


def measure(options: Options) -> ProxyRun:
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
            progress = Progress(options.rounds)
            for _ in range(options.rounds):
                for name, (content, timer) in timers.items():
                    taken[name].append((timer(to_model, content), timer(to_proxy, content)))
                progress.step("rounds")
            progress.close()
            for name, (content, timer) in timers.items():
                started = read_cpu(proxied.pid)
                for _ in range(options.rounds):
                    timer(to_proxy, content)
                cpu[name] = 1000 * (read_cpu(proxied.pid) - started) / options.rounds
    sizes = {name: len(content) // 1000 for name, (content, _) in timers.items()}
    return ProxyRun(
        benchmark="proxy",
        model=name_model(load_artifact(None)),
        seed=options.seed,
        rounds=options.rounds,
        environment=read_environment(),
        frameworks={name: version(name) for name in ("starlette", "uvicorn", "httpx2")},
        rows=tuple(
            compare(name, sizes[name], pairs, cpu[name], options.seed) for name, pairs in taken.items()
        ),
    )


def make_request(results: Sequence[str]) -> bytes:
    """The request of an agent with these tool results."""
    messages: list[dict[str, object]] = [{"role": "user", "content": QUERY}]
    for number, text in enumerate(results):
        function = {"name": "read", "arguments": json.dumps({"page": number})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return json.dumps({"model": "m", "stream": True, "messages": messages}).encode()


def check(reply: httpx2.Response, *, shorter: bool) -> None:
    """Raises RuntimeError where the proxy does not do what is to be measured."""
    expected = "compressed" if shorter else "unchanged"
    if reply.headers.get("x-tersely-status") != expected:
        raise RuntimeError(f"the proxy says {reply.headers.get('x-tersely-status')}, and not {expected}")


def time_answer(client: httpx2.Client, content: bytes) -> float:
    """Seconds to the end of the answer."""
    started = time.perf_counter()
    client.post(PATH, content=content).raise_for_status()
    return time.perf_counter() - started


def time_first_token(client: httpx2.Client, content: bytes) -> float:
    """Seconds to the first piece of the answer's body."""
    started = time.perf_counter()
    with client.stream("POST", PATH, content=content) as reply:
        parts = reply.iter_raw()
        next(parts)
        seconds = time.perf_counter() - started
        for _ in parts:
            pass
    return seconds


def read_cpu(pid: int) -> float:
    """Seconds of CPU time that a process has taken."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def compare(
    name: str, kilobytes: int, pairs: Sequence[tuple[float, float]], cpu: float, seed: int
) -> ProxyRow:
    """A row, in milliseconds."""
    added = [1000 * (proxied - direct) for direct, proxied in pairs]
    direct = float(np.median([1000 * direct for direct, _ in pairs]))
    median = float(np.median(added))
    mean = bootstrap_mean(added, seed).round(2)
    return ProxyRow(name, kilobytes, round(direct, 2), round(median, 2), mean, round(cpu, 2))


def serve_upstream() -> None:
    """A stand-in for a model that answers at once, in two pieces."""

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


def render(run: ProxyRun) -> str:
    """The section of RESULTS.md."""
    frameworks = ", ".join(f"{name} {number}" for name, number in run.frameworks.items())
    rows = [
        [
            row.name,
            str(row.kilobytes),
            f"{row.direct:.1f}",
            f"{row.added:.1f}",
            f"{row.mean.value:.1f} ({row.mean.low:.1f} to {row.mean.high:.1f})",
            f"{row.cpu:.1f}",
        ]
        for row in run.rows
    ]
    header = ["request", "kB", "without, ms", "added, ms, median", "mean, 95 %", "CPU of the proxy, ms"]
    return "\n\n".join(
        [
            f"Model {run.model}, seed {run.seed}. {run.environment.describe()}",
            f"{run.rounds} rounds in turns, {frameworks}. The model behind the proxy answers at once. The "
            f"limit is {LIMIT} tokens.",
            format_table(header, rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
