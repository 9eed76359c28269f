"""The server refuses requests that it cannot serve, and tells clients what to do."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx2

from tersely import Compressor
from tersely.cli import main
from tersely_server import ServerSettings, build_app
from tests.integrations.samples import HARBOUR, MUSEUM, QUESTION
from tests.sdk.fakes import FakeScorer, HeldScorer
from tests.servers import HOST, serve_app, serve_command, wait_until_admitted

BODY = {"query": QUESTION, "documents": [HARBOUR, MUSEUM]}
KEY = "k-5f2c9d"
WORD = "Thursdays"
TEXT = f"Entry is free on {WORD}. " * 40


def post(url: str, body: Any = BODY, path: str = "/v1/compress", **options: Any) -> httpx2.Response:
    return httpx2.post(f"{url}{path}", json=body, timeout=30, **options)


def post_bytes(url: str, body: Any) -> httpx2.Response:
    return httpx2.post(f"{url}/v1/compress", content=body, headers={"Content-Type": "application/json"})


def error_of(reply: httpx2.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]["type"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    settings = ServerSettings(max_bytes=4000, max_documents=3)
    with serve_app(build_app(Compressor(FakeScorer()), settings)) as url:
        yield url


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({**BODY, "rate": 2.0}, "rate is 2.0"),
        ({**BODY, "budget": 5, "rate": 0.5}, "Both budget and rate"),
        ({**BODY, "budget": "5"}, "budget: "),
        ({**BODY, "ratio": 0.5}, "ratio: "),
        ({**BODY, "query": "  "}, "The query is empty"),
        ({"query": "q"}, "documents: "),
        ({**BODY, "documents": [{"title": "no text"}]}, "documents.0"),
        ([], "the body: "),
    ],
)
def test_unusable_values_are_named(url: str, body: Any, words: str) -> None:
    reply = post(url, body)
    assert error_of(reply) == (422, "invalid_input")
    assert words in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("compress", TEXT),
        ("compress", {"query": [TEXT], "documents": [TEXT]}),
        ("compress", {"query": TEXT, "documents": [TEXT, 5]}),
        ("compress", {"query": TEXT, "documents": [{"text": 5, "title": TEXT}]}),
        ("compress", {"query": TEXT, "documents": [TEXT], "budget": 0}),
        ("compress/batch", {"requests": [{"query": TEXT, "documents": TEXT}]}),
        ("messages/compress", {"messages": [{"role": "x", "content": TEXT}], "budget": 5}),
        ("messages/compress", {"messages": [{"role": "user", "content": 5, "name": TEXT}], "budget": 5}),
        ("summarize", {"query": TEXT, "documents": [TEXT], "aspect": "x"}),
    ],
)
def test_an_error_repeats_no_query_and_no_document(url: str, path: str, body: Any) -> None:
    reply = post(url, body, f"/v1/{path}")
    assert reply.status_code == 422, reply.text
    assert WORD not in reply.text
    assert set(reply.json()) == {"error"}
    assert set(reply.json()["error"]) == {"type", "message"}


CALL = {"id": TEXT, "type": "function", "function": {"name": "read", "arguments": 5}}
PLAIN = {"query": "q", "documents": ["x"]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *(("compress", {**PLAIN, name: TEXT}) for name in ("budget", "level", "marks")),
        ("compress", {**PLAIN, TEXT: 5}),
        ("messages/compress", {"messages": [{"role": TEXT, "content": "x"}]}),
        ("messages/compress", {"messages": [{"role": "tool", "tool_call_id": TEXT, "content": "x"}]}),
        ("messages/compress", {"messages": [{"role": "assistant", "tool_calls": [CALL]}]}),
        ("summarize", {**PLAIN, "aspect": TEXT}),
    ],
)
def test_an_error_repeats_little_of_another_value(url: str, path: str, body: Any) -> None:
    reply = post(url, {"budget": 50, **body}, f"/v1/{path}")
    assert reply.status_code == 422, reply.text
    assert reply.text.count(WORD) <= 80 // len(WORD)
    assert len(reply.text) < 500


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"\xff\xfe",
        b'{"query": ' + b"9" * 1900,
        b"[" * 1900,
        b"{}trailing",
        *(b'{"query": "q", "documents": [%b]}' % number for number in (b"NaN", b"-Infinity")),
    ],
)
def test_bodies_that_are_not_json_are_refused(url: str, raw: bytes) -> None:
    assert error_of(post_bytes(url, raw)) == (400, "malformed")


def test_lone_surrogates_come_back_as_they_came(url: str) -> None:
    raw = '{"query": "q", "documents": [{"text": "The q.", "metadata": {"x": "\\ud800"}}]}'
    reply = post_bytes(url, raw)
    assert reply.status_code == 200
    assert b'"\\ud800"' in reply.content


def test_too_large_a_body_is_refused_announced_or_not(url: str) -> None:
    body = json.dumps({**BODY, "documents": ["x" * 5000]}).encode()
    assert error_of(post_bytes(url, body)) == (413, "too_large")
    parts = (body[i : i + 500] for i in range(0, len(body), 500))
    assert error_of(post_bytes(url, parts)) == (413, "too_large")


def test_too_many_documents_are_refused_in_every_endpoint(url: str) -> None:
    many = ["A."] * 4
    messages = [{"role": "user", "content": "A."}] * 4
    for path, body, counted in (
        ("/v1/compress", {"query": "q", "documents": many}, "documents"),
        ("/v1/compress", {"messages": messages, "model": "m"}, "messages"),
        ("/v1/compress/batch", {"requests": [{"query": "q", "documents": many[:2]}] * 2}, "documents"),
        ("/v1/messages/compress", {"messages": messages}, "messages"),
        ("/rerank", {"query": "q", "texts": many}, "texts"),
        ("/v1/summarize", {"query": "q", "documents": many}, "documents"),
    ):
        reply = post(url, body, path)
        assert error_of(reply) == (413, "too_large"), path
        assert f"There are 4 {counted}, and at most 3" in reply.json()["error"]["message"], path


def test_other_paths_and_methods_are_refused_in_the_same_form(url: str) -> None:
    assert error_of(httpx2.get(f"{url}/v2/compress")) == (404, "not_found")
    assert error_of(httpx2.get(f"{url}/v1/compress")) == (405, "method_not_allowed")


def test_a_web_page_cannot_reach_the_server_by_a_host_name(url: str) -> None:
    assert error_of(post(url, headers={"Host": "rebound.example.org"})) == (400, "malformed")
    assert error_of(post(url, headers={"Host": ""})) == (400, "malformed")
    for host in ("localhost:1", "127.0.0.1", "[::1]:8080"):
        assert post(url, headers={"Host": host}).status_code == 200


def test_no_other_web_page_can_read_an_answer(url: str) -> None:
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    answers = [
        post(url, headers=headers),
        httpx2.get(f"{url}/health", headers=headers),
        httpx2.request("OPTIONS", f"{url}/v1/compress", headers=headers),
    ]
    assert answers[0].status_code == 200
    assert not any(name.startswith("access-control") for answer in answers for name in answer.headers)


def test_a_server_with_a_key_asks_for_it() -> None:
    app = build_app(Compressor(FakeScorer()), ServerSettings(key=KEY, local_only=False))
    with serve_app(app) as url:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {KEY}"}):
            assert error_of(post(url, headers=headers)) == (401, "unauthorized")
            assert httpx2.get(f"{url}/metrics", headers=headers).status_code == 401
        allowed = {"Authorization": f"Bearer {KEY}", "Host": "compress.example.org"}
        assert post(url, headers=allowed).status_code == 200
        assert httpx2.get(f"{url}/health").status_code == 200


def test_the_command_listens_nowhere_else_without_a_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TERSELY_API_KEY", raising=False)
    assert main(["serve", "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "clients must send a key. Pass --key-file" in capsys.readouterr().err


def test_a_busy_server_refuses_and_says_when_to_come_again() -> None:
    scorer = HeldScorer()
    app = build_app(Compressor(scorer), ServerSettings(slots=1, queue=1))
    with serve_app(app) as url, concurrent.futures.ThreadPoolExecutor(2) as pool:
        accepted = [pool.submit(post, url) for _ in range(2)]
        wait_until_admitted(url, 2)
        refused = post(url)
        assert error_of(refused) == (429, "busy")
        assert int(refused.headers["Retry-After"]) >= 1
        assert post(url, {"requests": [BODY]}, "/v1/compress/batch").status_code == 429
        scorer.go_on.set()
        assert [reply.result().status_code for reply in accepted] == [200, 200]
        assert post(url).status_code == 200, "its place is free again"


def test_a_model_that_takes_too_long_gets_no_more_than_its_time() -> None:
    scorer = HeldScorer()
    app = build_app(Compressor(scorer), ServerSettings(slots=1, queue=1, timeout_s=1.5))
    with serve_app(app) as url:
        late = post(url)
        scorer.go_on.set()
        assert late.status_code == 200
        assert late.json()["status"] == "failed_open"
        assert post(url).json()["status"] == "compressed"


def test_a_request_that_takes_too_long_is_given_up() -> None:
    go_on = threading.Event()

    def count(text: str) -> int:
        assert go_on.wait(60)
        return len(text)

    app = build_app(Compressor(token_counter=count), ServerSettings(slots=1, queue=1, timeout_s=1.5))
    with serve_app(app) as url:
        late = post(url)
        go_on.set()
        assert error_of(late) == (503, "unavailable")
        assert "1.5 s" in late.json()["error"]["message"]
        assert late.headers["Retry-After"] == "1"
        assert post(url).status_code == 200


def test_a_client_that_goes_away_frees_its_place() -> None:
    scorer = HeldScorer()
    app = build_app(Compressor(scorer), ServerSettings(slots=1, queue=1))
    with serve_app(app) as url:
        for path, body in (("/v1/compress", BODY), ("/v1/compress/batch", {"requests": [BODY, BODY]})):
            for _ in range(4):
                with pytest.raises(httpx2.ReadTimeout):
                    httpx2.post(f"{url}{path}", json=body, timeout=0.2)
                wait_until_admitted(url, 0)
        scorer.go_on.set()
        assert post(url).status_code == 200


def test_no_request_gets_text_of_another() -> None:
    def ask(number: int) -> None:
        name = f"secret{number:03d}"
        body = {"query": f"What is {name}?", "documents": [f"The word is {name}. Other words are here."] * 2}
        reply = post(url, {**body, "rate": 0.6})
        assert reply.text.count("secret") == reply.text.count(name) > 0

    app = build_app(Compressor(FakeScorer()), ServerSettings(queue=100))
    with serve_app(app) as url, concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(32)))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot ask a process to stop")
def test_a_stopping_server_answers_accepted_requests(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text(f"{KEY}\n", encoding="utf-8")
    # Long enough that the first request is not answered before the third is seen.
    line = f"{MUSEUM} {HARBOUR} Line {{}} of a long text about nothing. "
    documents = ["".join(line.format(8 * number + doc) for number in range(40)) for doc in range(8)]
    head = {"Authorization": f"Bearer {KEY}"}
    with serve_command("serve", "--key-file", str(secret), "--threads", "1") as server:
        assert post(server.url).status_code == 401
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            body = {"query": QUESTION, "documents": documents, "rate": 0.1}
            accepted = [pool.submit(post, server.url, body, headers=head) for _ in range(3)]
            wait_until_admitted(server.url, 3, headers=head)
            assert not any(reply.done() for reply in accepted)
            assert server.stop(60) == -signal.SIGTERM
            codes = [reply.result().status_code for reply in accepted]
            assert set(codes) <= {200, 503}, "within a second, or told to come again"
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((HOST, server.port), timeout=5)
    lines = [json.loads(line) for line in server.log]
    done = [line for line in lines if line.get("status") == 200 and line["path"] == "/v1/compress"]
    assert len(done) == codes.count(200)
    assert all(line["documents"] == 8 and line["tokens_after"] > 0 for line in done)
    everything = "".join(server.log)
    assert not any(word in everything for word in ("museum", WORD, KEY))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot ask a process to stop")
@pytest.mark.parametrize("command", ["serve", "proxy"])
def test_a_stopping_server_gives_up_what_takes_long(command: str) -> None:
    """The end of the process does not wait for a thread that works."""
    text = "\n".join(f"{number} The harbour has a crane, and {number * 7} ships." for number in range(60_000))
    body: dict[str, Any] = {"query": QUESTION, "documents": [text], "budget": 100}
    arguments, path = [command], "/v1/compress"
    if command == "proxy":  # the upstream server never answers
        arguments += ["--upstream", "http://127.0.0.1:9", "--timeout", "300"]
        path, rows = "/v1/messages", [{"type": "tool_result", "tool_use_id": "a", "content": text}]
        body = {"messages": [{"role": "user", "content": QUESTION}, {"role": "user", "content": rows}]}
    with serve_command(*arguments) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx2.post, f"{server.url}{path}", json=body, timeout=60)
        wait_until_admitted(server.url + "/tersely" * (command == "proxy"), 1)
        assert server.stop(20) in (-signal.SIGTERM, 128 + signal.SIGTERM)
        assert asked.result().status_code == 503
        assert "Send the request again" in asked.result().text


def test_the_log_has_queries_if_asked_for() -> None:
    env = {**os.environ, "TERSELY_API_KEY": KEY}
    with serve_command("serve", "--log-text", env=env) as server:
        reply = post(server.url, headers={"Authorization": f"Bearer {KEY}"})
        server.stop()
    (line,) = [json.loads(line) for line in server.log]
    assert line["queries"] == [QUESTION]
    assert line["id"] == reply.headers["x-request-id"]
    assert WORD not in "".join(server.log)
