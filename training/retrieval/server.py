"""Serve a corpus over HTTP.

POST /search   {"queries": [string, ...], "k": 5} -> {"results": [[{"docid", "title", "passage", "score",
               "url"}, ...], ...]}
POST /open     {"key": docid or url} -> {"docid", "title", "text", "url"}; 404 if there is no such passage
"""

from __future__ import annotations

import json
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from training.retrieval.bm25 import DiskBM25
from training.retrieval.encoders import open_encoder
from training.retrieval.store import Store

if TYPE_CHECKING:
    from training.retrieval.dense import DenseIndex

Method = Literal["dense", "bm25"]
MAX_REQUEST_BYTES = 1 << 20


class Corpus:
    """A built corpus that can be searched."""

    def __init__(self, folder: Path, method: Method) -> None:
        self._store = Store(folder / "passages.db")
        self._dense: DenseIndex | None = None
        if method == "bm25":
            self._bm25 = DiskBM25(folder / "bm25")
        else:
            from training.retrieval.dense import DenseIndex  # needs faiss

            facts = json.loads((folder / "index.json").read_text(encoding="utf-8"))
            self._dense = DenseIndex(folder / "vectors.faiss", open_encoder(facts["encoder"]).encode_queries)

    def search(self, queries: list[str], k: int) -> list[list[dict[str, Any]]]:
        """Return the `k` best passages of each query, best first."""
        found = self._dense.search(queries, k) if self._dense else [self._bm25.search(q, k) for q in queries]
        return [
            [
                {"docid": p.docid, "title": p.title, "passage": p.text, "score": score, "url": p.url}
                for (_, score), p in zip(row, self._store.find([number for number, _ in row]), strict=True)
            ]
            for row in found
        ]

    def open(self, key: str) -> dict[str, Any] | None:
        """Return the passage with this id, or all passages with this url as one; None for an unknown key."""
        passage = self._store.open(key)
        return None if passage is None else asdict(passage)


def make_server(corpus: Corpus, host: str, port: int) -> ThreadingHTTPServer:
    """Return a server for a corpus. Call its `serve_forever` to run it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            try:
                size = int(self.headers.get("Content-Length", 0))
                if not 0 <= size <= MAX_REQUEST_BYTES:
                    self.close_connection = True  # the body is not read
                    raise ValueError(f"a request may have at most {MAX_REQUEST_BYTES} bytes")
                self._answer(json.loads(self.rfile.read(size)))
            except (ValueError, KeyError, TypeError) as error:
                self._send(400, {"error": repr(error)})

        def _answer(self, request: Any) -> None:
            if self.path == "/search":
                queries, k = [str(query) for query in request["queries"]], int(request.get("k", 5))
                self._send(200, {"results": corpus.search(queries, k)})
            elif self.path == "/open" and (found := corpus.open(str(request["key"]))) is not None:
                self._send(200, found)
            else:
                self._send(404, {"error": "there is no such path or passage"})

        def _send(self, code: int, values: Any) -> None:
            body = json.dumps(values, ensure_ascii=False).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Log nothing: training sends thousands of requests."""

    return ThreadingHTTPServer((host, port), Handler)
