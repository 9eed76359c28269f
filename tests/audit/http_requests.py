"""Put the server in front of hostile clients: `python -m tests.audit.http_requests --count 1000`.

Schemathesis makes a third of the requests from the server's OpenAPI schema, valid and broken ones. The others
come over raw sockets: malformed, oversized, slow, cut off. The server must not answer any of them with 5xx,
except 503, must not stop, and must not put text of one request into the answer to another. Then 2,000 plain
requests must not make its memory grow.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import random
import re
import socket
import struct
import sys
from collections import Counter

import httpx2
import psutil

from tests.servers import ServerProcess, serve_command

MARKER = re.compile(r"marker\d{6}x")
MAX_GROWTH_MB = 8.0
"""Growth over the second half of the plain requests, when everything is warm."""
PATHS = ("/v1/compress", "/v1/compress/batch", "/v1/messages/compress", "/rerank", "/v1/summarize", "/health")


def marked(number: int) -> bytes:
    """Return a valid body with a word that is in no other request."""
    name = f"marker{number:06d}x"
    document = f"The word is {name}. Other words are here. Nobody reads the rest."
    return json.dumps({"query": f"What is {name}?", "documents": [document]}).encode()


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""]).encode()


def raw_request(number: int) -> bytes:
    """Return bytes for a connection, to which the server may answer anything but a failure."""
    dice = random.Random(number)
    body = marked(number)
    json_type = "Content-Type: application/json"
    length = f"Content-Length: {len(body)}"
    path = dice.choice(PATHS)
    huge = "9" * dice.choice((7, 9, 30))
    return dice.choice(
        (
            head("/v1/compress", json_type, length) + body,
            head("/v1/compress", json_type, length) + body * 2,
            head(path, json_type, f"Content-Length: {huge}") + body,
            head(path, json_type, "Content-Length: -1") + body,
            head(path, json_type, length, length.replace(":", " :")) + body,
            head(path, json_type, "Transfer-Encoding: chunked") + b"5\r\nhello\r\nzz\r\n",
            head(path, json_type, "Transfer-Encoding: chunked", length) + b"0\r\n\r\n",
            head(path, "Content-Type: text/plain; charset=nonsense", length) + body,
            head(path, "Expect: 100-continue", json_type, length) + body,
            head(path, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
            head(path, "X-Long: " + "a" * dice.choice((1_000, 70_000))),
            head("/" + "%00/../" * 50, length) + body,
            head(path, json_type, length) + dice.randbytes(len(body)),
            f"BREW {path} HTTP/1.1\r\n\r\n".encode(),
            f"POST {path} HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n".encode(),
            dice.randbytes(dice.randrange(1, 2_000)),
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + dice.randbytes(200),
            b"",
        )
    )


def read_answer(connection: socket.socket) -> bytes:
    answer = b""
    with contextlib.suppress(OSError):
        while part := connection.recv(65536):
            answer += part
            if b"\r\n\r\n" in answer and is_complete(answer):
                break
    return answer


def is_complete(answer: bytes) -> bool:
    start, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", start)
    return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")


def send_raw(server: ServerProcess, number: int) -> tuple[int, list[str]]:
    """Send a request in a random way; return the status (0 for none) and the problems."""
    dice = random.Random(-number)
    way = dice.choice(("whole", "whole", "slowly", "cut off", "reset"))
    request = raw_request(number)
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=15) as connection:
            connection.settimeout(15 if way == "whole" else 1.5)
            if way == "slowly":
                for start in range(0, len(request), max(1, len(request) // 5)):
                    connection.sendall(request[start : start + max(1, len(request) // 5)])
                    connection.settimeout(0.1)
                    with contextlib.suppress(TimeoutError):
                        connection.recv(1, socket.MSG_PEEK)
                connection.settimeout(1.5)
            else:
                connection.sendall(request if way == "whole" else request[: dice.randrange(len(request) + 1)])
            if way == "reset":
                # The kernel then sends RST and no FIN.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return 0, []
            if way == "whole" and not request:
                connection.settimeout(0.5)
            answer = read_answer(connection)
    except ConnectionError as error:
        return 0, [] if isinstance(error, BrokenPipeError | ConnectionResetError) else [str(error)]
    return check_answer(answer, number)


def check_answer(answer: bytes, number: int) -> tuple[int, list[str]]:
    """Return the status of an answer, and its problems."""
    match = re.match(rb"HTTP/1\.1 (\d{3})", answer)
    status = int(match[1]) if match else 0
    problems: list[str] = []
    if answer and not match:
        problems.append(f"no HTTP: {answer[:60]!r}")
    if status >= 500 and status != 503:
        problems.append(f"status {status}: {answer[-200:]!r}")
    foreign = set(MARKER.findall(answer.decode("utf-8", "replace"))) - {f"marker{number:06d}x"}
    if foreign:
        problems.append(f"text of other requests: {foreign}")
    return status, problems


def send_generated(server: ServerProcess, count: int) -> list[tuple[int, list[str]]]:
    """Send requests that schemathesis makes of the schema, half of them broken."""
    import hypothesis
    import schemathesis
    from schemathesis import GenerationMode

    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    operations = [result.ok() for result in schema.get_all_operations()]
    settings = hypothesis.settings(
        max_examples=max(1, count // (2 * len(operations))),
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    results: list[tuple[int, list[str]]] = []

    def send(case: schemathesis.Case) -> None:
        reply = case.call(timeout=60)
        documented = {404, 405, *map(int, case.operation.definition.raw["responses"])}
        problems: list[str] = []
        if reply.status_code not in documented or (reply.status_code >= 500 and reply.status_code != 503):
            problems.append(f"{case.method} {case.path}: {reply.status_code} {case.body!r:.300}")
        results.append((reply.status_code, problems))

    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            if mode is GenerationMode.POSITIVE or operation.method.upper() != "GET":
                strategy = operation.as_strategy(generation_mode=mode)
                settings(hypothesis.given(case=strategy)(send))()
    return results


def send_plain(server: ServerProcess, count: int) -> float:
    """Send valid requests; return the MB by which the memory grew over the second half of them."""
    process = psutil.Process(server.process.pid)
    middle = 0
    with httpx2.Client(base_url=server.url, timeout=60) as client:
        for number in range(count):
            headers = {"Content-Type": "application/json"}
            reply = client.post("/v1/compress", content=marked(number), headers=headers)
            assert reply.status_code == 200
            if number == count // 2:
                middle = process.memory_info().rss
    return (process.memory_info().rss - middle) / 1e6


def audit(count: int, plain: int) -> list[str]:
    """Return the problems that the server has with this many requests, and print a summary."""
    problems: list[str] = []
    with serve_command("serve", "--max-bytes", "100000", "--timeout", "20") as server:
        generated = send_generated(server, count // 3)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            raw = list(pool.map(lambda n: send_raw(server, n), range(count - len(generated))))
        for _, found in [*generated, *raw]:
            problems += found
        growth = send_plain(server, plain)
        if growth > MAX_GROWTH_MB:
            problems.append(f"memory grew by {growth:.1f} MB over {plain // 2} requests")
        if server.process.poll() is not None:
            problems.append("the server has stopped")
        elif httpx2.get(f"{server.url}/health", timeout=10).status_code != 200:
            problems.append("the server is not well")
    if any("Traceback" in line for line in server.log):
        problems.append(next(line for line in server.log if "Traceback" in line)[-1500:])
    statuses = Counter(status for status, _ in [*generated, *raw])
    print(f"{len(generated)} generated, {len(raw)} raw, statuses {dict(sorted(statuses.items()))}")
    print(f"memory: {growth:+.1f} MB over the last {plain // 2} of {plain} requests")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="hostile requests")
    parser.add_argument("--plain", type=int, default=2000, help="plain requests")
    args = parser.parse_args()
    problems = audit(args.count, args.plain)
    print("\n".join(problems[:50]))
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
