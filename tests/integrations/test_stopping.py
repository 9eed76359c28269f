"""A server that is told to stop answers every client before its process ends."""

from __future__ import annotations

import concurrent.futures
import signal
import subprocess
import sys

import pytest

pytest.importorskip("uvicorn")
import httpx2

PROGRAM = """
import asyncio, sys, time
from starlette.responses import PlainTextResponse
from tersely_http.serving import run_command
from tests.servers import start_and_stop

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return await start_and_stop(receive, send)
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 60)
    print("begun", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0.9)  # as on a busy machine
        await PlainTextResponse("stopped", 503)(scope, receive, send)

run_command("serve", lambda: app, "127.0.0.1", 0, None)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot ask a process to stop")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_late_refusal_is_sent_before_the_process_ends(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(httpx2.get, url, timeout=30)
            assert process.stderr.readline() == "begun\n"
            process.send_signal(number)
            assert asked.result().text == "stopped"
        assert process.wait(20) in (-number, 128 + number), "the thread sleeps for a minute"
