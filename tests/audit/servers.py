"""Let the clients of tersely call hostile servers: `python -m tests.audit.servers`.

Every call must end, with a `TerselyError` or with a complete reply, and must not take much memory.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import sys
import time
from collections.abc import Sequence

from tersely import TerselyError
from tersely_agents.chat import OpenAIChat
from tests.audit.hostile_answers import HostileAnswer, list_answers
from tests.loopback import RawServer
from tests.sdk.http_clients import Open, open_async_chat, open_chat, open_reranker

TIMEOUT_S = 0.5
SLACK_S = 20.0
"""Time beyond the limit for a busy machine. Many of the answers never end."""
MAX_GROWTH = 300 * 2**20
"""Number of bytes by which the peak memory may grow, over all answers together."""

PASSWORD = "hunter2-secret"
CLIENTS: dict[str, Open] = {
    "complete": open_chat,
    "acomplete": open_async_chat,
    "models": lambda url, **options: lambda: OpenAIChat(base_url=url, **options).name,
    "rank": open_reranker,
}


def call(client: Open, url: str) -> object:
    return client(url, api_key=PASSWORD, timeout_s=TIMEOUT_S, retries=1)()


def measure_peak() -> int:
    """Return the bytes of the process's peak memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def check_answer(answer: HostileAnswer, client: Open) -> list[str]:
    """Return the problems of a call to a server with this answer."""
    server = RawServer(lambda connection: answer.play(server, connection))
    problems: list[str] = []
    started = time.monotonic()
    try:
        result = call(client, server.url.replace("http://", f"http://user:{PASSWORD}@"))
        if not answer.is_harmless:
            problems.append(f"it was accepted: {str(result)[:80]}")
        if isinstance(result, str):
            result.encode()
    except TerselyError as error:
        if PASSWORD in str(error):
            problems.append("the message shows the password")
        if not str(error).isprintable() or len(str(error)) > 1000:
            problems.append(f"the message cannot be shown: {str(error)[:200]!r}")
    except Exception as error:  # noqa: BLE001 - the audit looks for these
        problems.append(f"{type(error).__name__}: {error}")
    finally:
        seconds = time.monotonic() - started
        server.stop()
    if seconds > TIMEOUT_S + SLACK_S:
        problems.append(f"it took {seconds:.1f} s")
    return problems


def run_audit(answers: Sequence[HostileAnswer], clients: dict[str, Open]) -> list[str]:
    """Return the problems of all clients with all answers."""
    for client in clients.values():
        with contextlib.suppress(TerselyError):
            call(client, "http://127.0.0.1:9")  # imports what the first call imports
    before = measure_peak()
    problems: list[str] = []
    for answer in answers:
        for name, client in clients.items():
            problems += [f"{name}, {answer.name}: {p}" for p in check_answer(answer, client)]
            growth = measure_peak() - before
            if growth > MAX_GROWTH:
                problems.append(f"{name}, {answer.name}: peak memory grew by {growth / 2**20:.0f} MiB")
                before = measure_peak()
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of the answers to try")
    args = parser.parse_args()
    answers = [answer for answer in list_answers() if args.only in answer.name]
    before = measure_peak()
    problems = run_audit(answers, CLIENTS)
    print("\n".join(problems))
    growth = (measure_peak() - before) / 2**20
    print(
        f"{len(answers)} answers, {len(CLIENTS)} clients, {len(problems)} problems, "
        f"peak memory {growth:.0f} MiB above the start"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
