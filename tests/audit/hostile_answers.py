"""Hostile answers of a server: functions that play an answer on a connection."""

from __future__ import annotations

import gzip
import itertools
import json
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.loopback import RawServer

Play = Callable[[RawServer, socket.socket], None]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
TICK_S = 0.1
"""Pause between the bytes of a slow answer, shorter than any time limit of a single read."""
BLOCK = b" " * 65536


@dataclass(frozen=True)
class HostileAnswer:
    name: str
    play: Play
    is_harmless: bool = False
    """True if a client may read it as a reply."""


def completion(**message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi", **message}}]}


def send(data: bytes) -> Play:
    return lambda _, connection: connection.sendall(data)


def send_body(body: bytes, headers: bytes = b"", status: bytes = b"200 OK") -> Play:
    length = b"Content-Length: %d\r\n" % len(body)
    kind = b"Content-Type: application/json\r\n"
    return send(b"HTTP/1.1 " + status + b"\r\n" + kind + headers + length + b"\r\n" + body)


def send_slowly(start: bytes, parts: Callable[[], Iterable[bytes]]) -> Play:
    def play(server: RawServer, connection: socket.socket) -> None:
        connection.sendall(start)
        server.send_slowly(connection, parts(), TICK_S)

    return play


def send_endlessly(start: bytes, block: bytes) -> Play:
    def play(server: RawServer, connection: socket.socket) -> None:
        connection.sendall(start)
        while not server.stopped.is_set():
            connection.sendall(block)

    return play


def send_and_reset(data: bytes) -> Play:
    def play(_: RawServer, connection: socket.socket) -> None:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return play


def redirect(status: bytes, location: bytes) -> Play:
    return send_body(b"", b"Location: " + location + b"\r\n", status)


def list_answers() -> Iterator[HostileAnswer]:
    for family in (_slow, _large, _deep, _malformed, _broken, _bad_heads, _redirects, _refusals):
        for name, play in family().items():
            yield HostileAnswer(f"{family.__name__[1:]}: {name}", play)
    for name, play in _odd_but_readable().items():
        yield HostileAnswer(f"odd: {name}", play, is_harmless=True)


def _slow() -> dict[str, Play]:
    def letters(text: bytes) -> Callable[[], Iterable[bytes]]:
        return lambda: (bytes([byte]) for byte in itertools.cycle(text))

    head = b"HTTP/1.1 200 OK\r\nX-Long: "
    answer = json.dumps(completion()).encode()
    return {
        "silence": lambda server, _: server.stopped.wait() and None,
        "status line": send_slowly(b"HTTP/1.1 200 ", letters(b"O")),
        "header": send_slowly(head, letters(b"x")),
        "many headers": send_slowly(OK, letters(b"A: b\r\n")),
        "body without a length": send_slowly(OK + b"\r\n", letters(b" ")),
        "body with a length": send_slowly(OK + b"Content-Length: 5000\r\n\r\n", letters(answer)),
        "chunks": send_slowly(CHUNKED, lambda: itertools.repeat(b"1\r\n \r\n")),
        "size of a chunk": send_slowly(CHUNKED, letters(b"0")),
        "extension of a chunk": send_slowly(CHUNKED + b"5;", letters(b"x")),
        "trailer": send_slowly(CHUNKED + b"2\r\n{}\r\n0\r\n", letters(b"A: b\r\n")),
        "body of an error": send_slowly(b"HTTP/1.1 500 No\r\n\r\n", letters(b"x")),
        "body of a refusal": send_slowly(b"HTTP/1.1 400 No\r\nContent-Length: 5000\r\n\r\n", letters(b"x")),
        "body of a redirect": send_slowly(b"HTTP/1.1 302 No\r\nContent-Length: 5000\r\n\r\n", letters(b"x")),
        "interim answers": send_slowly(b"", lambda: itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n")),
        "stops in the body": lambda server, connection: (
            connection.sendall(OK + b"Content-Length: 500\r\n\r\n" + answer),
            server.stopped.wait(),
        )[0],
    }


def _large() -> dict[str, Play]:
    zeros = gzip.compress(bytes(40 * 2**20))
    chunk = b"10000\r\n" + BLOCK + b"\r\n"
    list_of_objects = b"[" + b"{}," * 2_000_000 + b"{}]"
    return {
        "1.5 GB with a length": send_endlessly(OK + b"Content-Length: 1500000000\r\n\r\n", BLOCK),
        "an endless body": send_endlessly(OK + b"\r\n", BLOCK),
        "endless chunks": send_endlessly(CHUNKED, chunk),
        "an endless text": send_endlessly(OK + b'\r\n{"choices": [{"message": {"content": "', b"x" * 65536),
        "an endless error": send_endlessly(b"HTTP/1.1 500 No\r\n\r\n", BLOCK),
        "an endless refusal": send_endlessly(b"HTTP/1.1 400 No\r\n\r\n", BLOCK),
        "an endless header": send_endlessly(b"HTTP/1.1 200 OK\r\nA: ", b"x" * 65536),
        "endless headers": send_endlessly(OK, b"A: b\r\n" * 10_000),
        "endless interim answers": send_endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        "a length beyond any memory": send_endlessly(OK + b"Content-Length: %d\r\n\r\n" % 10**18, BLOCK),
        "a chunk beyond any memory": send_endlessly(CHUNKED + b"fffffffffffffff\r\n", BLOCK),
        "a gzip bomb": send_body(zeros, b"Content-Encoding: gzip\r\n"),
        "a bomb in an error": send_body(zeros, b"Content-Encoding: gzip\r\n", b"400 No"),
        "six million bytes of objects": send_body(list_of_objects),
        "as many choices": send_body(b'{"choices": [{"a": ' + list_of_objects + b"}]}"),
        "a number of a million digits": send_body(b"1" * 10**6),
    }


def _deep() -> dict[str, Play]:
    deep = b"[" * 100_000
    return {
        "lists": send_body(deep),
        "objects": send_body(b'{"a":' * 100_000),
        "lists in a content": send_body(b'{"choices": [{"message": {"content": ' + deep),
        "lists in a refusal": send_body(deep, status=b"400 No"),
        "lists in a redirect": send_body(deep, status=b"302 No"),
    }


def _malformed() -> dict[str, Play]:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    bodies: list[object] = [
        None,
        7,
        [[]],
        {},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        completion(content=[5]),
        completion(tool_calls=5),
        completion(tool_calls=[{"function": 5}]),
        completion(tool_calls=[{"function": {"name": ["f"], "arguments": ""}}]),
        completion(tool_calls=[{**call, "id": {"a": 1}}]),
        completion(tool_calls=[{**call, "function": {"name": "f"}}]),
        {"choices": [{**completion()["choices"][0], "finish_reason": {"a": 1}}]},
        {"results": None},
        {"results": {"index": 0}},
        {"results": [{"index": 10**400, "score": 1}]},
        {"data": [{"index": [], "score": {}}]},
        {"error": {"message": "no"}},
    ]
    plays = {json.dumps(body)[:70]: send_body(json.dumps(body).encode()) for body in bodies}
    texts = {
        "infinite scores": b'[{"index": 0, "score": Infinity}, {"index": 1e999, "score": NaN}]',
        "no UTF-8": b'{"choices": "\xff\xfe\xfa"}',
        "NUL bytes": bytes(1000),
        "nothing": b"",
        "two values": b"{}{}",
        "half an object": b'{"choi',
        "a page": b"<html><body>Log in</body></html>",
        "a stream of events": b'data: {"choices": []}\n\ndata: [DONE]\n\n',
    }
    return plays | {name: send_body(body) for name, body in texts.items()}


def _broken() -> dict[str, Play]:
    body = json.dumps(completion()).encode()
    long = OK + b"Content-Length: 5000\r\n\r\n" + body
    return {
        "nothing": send(b""),
        "a reset": send_and_reset(b""),
        "half a header": send(OK[:30]),
        "a reset in the body": send_and_reset(long),
        "less than its length": send(long),
        "half a chunk": send(CHUNKED + b"ff\r\n" + body[:20]),
        "no size of a chunk": send(CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n"),
        "a negative chunk": send(CHUNKED + b"-5\r\n{}\r\n0\r\n\r\n"),
    }


def _bad_heads() -> dict[str, Play]:
    def with_header(header: bytes) -> Play:
        return send(OK + header + b"\r\n\r\n[]")

    return {
        "another protocol": send(b"SSH-2.0-OpenSSH_9.6\r\n"),
        "HTTP/0.9": send(b"<html>hello</html>"),
        "no status": send(b"HTTP/1.1 \r\n\r\n{}"),
        "status 42": send(b"HTTP/1.1 42 OK\r\n\r\n{}"),
        "status 204": send(b"HTTP/1.1 204 No Content\r\n\r\n"),
        "status 101": send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
        "a negative length": with_header(b"Content-Length: -1"),
        "two lengths": with_header(b"Content-Length: 2\r\nContent-Length: 3"),
        "a header without a colon": with_header(b"no colon"),
        "a header with NUL": with_header(b"A: \x00"),
        "a long header": with_header(b"A: " + b"x" * 300_000),
        "10,000 headers": with_header(b"A: b\r\n" * 10_000 + b"A: b"),
        "an unknown coding": with_header(b"Content-Encoding: br"),
        "an unknown transfer": with_header(b"Transfer-Encoding: rot13"),
        "control characters": send(b"HTTP/1.1 400 \x1b[31mred\r\nContent-Length: 0\r\n\r\n"),
    }


def _redirects() -> dict[str, Play]:
    plays = {
        status.decode(): redirect(status, b"/again") for status in (b"301 M", b"302 F", b"303 S", b"307 T")
    }
    places = (b"http://example.org/", b"file:///etc/passwd", b"//[", b"", b"javascript:1", b"http://a:b@h/")
    return plays | {f"308 to {place.decode()!r}": redirect(b"308 P", place) for place in places}


def _refusals() -> dict[str, Play]:
    error = b'{"error": {"message": "no", "code": 5}}'
    plays = {code: send_body(error, status=code.encode() + b" No") for code in ("400", "401", "404", "418")}
    waits = (b"3600", b"-1", b"nan", b"inf", b"1e400", b"Wed, 21 Oct 2099 07:28:00 GMT")
    for wait in waits:
        plays[f"429 with Retry-After {wait.decode()}"] = send_body(
            error, b"Retry-After: " + wait + b"\r\n", b"429 Busy"
        )
    bodies = (b'{"error": []}', b'{"error": {"message": {}}}', b"\xff\xfe", b"\x1b]0;title\x07" * 50)
    for body in bodies:
        plays[f"500 with {body[:30]!r}"] = send_body(body, status=b"500 No")
    return plays


def _odd_but_readable() -> dict[str, Play]:
    usage = {"prompt_tokens": -5, "completion_tokens": "many", "prompt_tokens_details": [1]}
    bodies: dict[str, object] = {
        "wrong usage": {**completion(), "usage": usage},
        "usage beyond any database": {**completion(), "usage": {"prompt_tokens": 10**30}},
        "usage that is a text": {**completion(), "usage": "12"},
        "a content that is an object": completion(content={"a": [1, 2]}),
        "no content": completion(content=None),
        "lone surrogates": completion(content="a\ud800b", tool_calls=None),
        "NUL in the content": completion(content="a\0b"),
        "a long content": completion(content="x" * 7_000_000),
    }
    plays = {name: send_body(json.dumps(body).encode()) for name, body in bodies.items()}
    plays["UTF-16"] = send_body(json.dumps(completion()).encode("utf-16"))
    plays["a byte order mark"] = send_body(json.dumps(completion()).encode("utf-8-sig"))
    plays["not a number"] = send_body(
        b'{"usage": {"prompt_tokens": NaN}, ' + json.dumps(completion()).encode()[1:]
    )
    return plays
