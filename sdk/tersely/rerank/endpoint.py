"""A reranker behind HTTP: Text Embeddings Inference, vLLM, llama.cpp, Jina, Cohere and compatible servers."""

from __future__ import annotations

import http.client
import json
import math
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, Literal, cast

from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import check_time_limit, type_name
from tersely.rerank.protocol import check_ranked, format_passage
from tersely.runtime.limits import (
    MAX_ANSWER_BYTES,
    Deadline,
    OversizeError,
    check_key,
    check_retries,
    check_size,
    clean,
    parse_json,
)
from tersely.runtime.offline import build_opener, check_address
from tersely.types import Document

_BUSY = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP codes after which another attempt may succeed."""
_PAUSE_S = 0.2
_TEI_BATCH = 32
"""Texts per request that Text Embeddings Inference accepts by default."""


class _Connection(http.client.HTTPConnection):
    """A connection that a deadline watches."""

    deadline: Deadline

    def connect(self) -> None:
        super().connect()
        self.deadline.watch(self.sock)


class _SecureConnection(http.client.HTTPSConnection, _Connection):
    """The same with TLS: `HTTPSConnection.connect` calls the one above, and then wraps its socket."""


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens connections that `deadline` watches."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._watched(_Connection), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._watched(_SecureConnection), req)

    def _watched(self, kind: type[_Connection]) -> Any:
        def connect(host: str, **options: Any) -> _Connection:
            connection = kind(host, **options)
            connection.deadline = self._deadline
            return connection

        return connect


class RerankEndpoint:
    """A reranker that posts the query and the documents to `url`.

    An answer of more than 8 MiB is an error, and so is a redirect. Proxies of the environment are used only
    for servers on other machines.

    Args:
        url: the full address, such as "http://127.0.0.1:8080/rerank" or "https://api.jina.ai/v1/rerank".
        style: "openai" sends {"model", "query", "documents"} (vLLM, llama.cpp, Jina, Cohere), "tei" sends
            {"query", "texts"} (Text Embeddings Inference). Both kinds of answers are understood.
        model: name of the model, for servers with several models.
        api_key: sent as a bearer token.
        timeout_s: seconds for a request, including further attempts. Text Embeddings Inference gets 32 texts
            per request.
        retries: further attempts if the server is busy or the connection breaks.

    Raises:
        InvalidInputError: `url` is not an HTTP address, or another argument cannot be used.
        OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
    """

    def __init__(
        self,
        url: str,
        *,
        style: Literal["openai", "tei"] = "openai",
        model: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 2,
    ) -> None:
        self._address = check_address(url)
        if style not in ("openai", "tei"):
            raise InvalidInputError(f"style is {style!r}. Pass 'openai' or 'tei'.")
        if not isinstance(cast("object", model), str | None):
            raise InvalidInputError(f"model is {type_name(model)}. Pass a name, or None.")
        if api_key:
            check_key(api_key)
        self._authorization = f"Bearer {api_key}" if api_key else self._address.authorization
        self._url, self._style, self._model = url, style, model
        self._timeout_s, self._retries = check_time_limit(timeout_s), check_retries(retries)

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        """The server's scores, unchanged.

        Raises TerselyError if the server is down or its answer is malformed, and InvalidInputError for a
        query that is no text, and for anything but documents.
        """
        documents = check_ranked(query, documents)
        texts = [format_passage(document) for document in documents]
        size = _TEI_BATCH if self._style == "tei" else max(1, len(texts))
        parts = [texts[i : i + size] for i in range(0, len(texts), size)]
        return [score for part in parts for score in self._rank_part(query, part)]

    def _rank_part(self, query: str, texts: list[str]) -> list[float]:
        body: dict[str, Any] = {"query": query}
        if self._style == "tei":
            body |= {"texts": texts, "truncate": True}
        else:
            body["documents"] = texts
        if self._model is not None:
            body["model"] = self._model
        return _read_scores(self._post(body), len(texts), self._address.shown)

    def _post(self, body: dict[str, Any]) -> object:
        address = check_address(self._url)
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        cause = ""
        with Deadline(self._timeout_s) as deadline:
            opener = build_opener(address, _Handler(deadline))
            for attempt in range(self._retries + 1):
                if attempt and not deadline.pause(_PAUSE_S * 2 ** (attempt - 1)):
                    break
                request = urllib.request.Request(address.url, json.dumps(body).encode(), headers)
                try:
                    return _read_answer(opener, request, deadline)
                except urllib.error.HTTPError as error:
                    error.close()
                    cause = f"HTTP {error.code} {clean(error.reason)}"
                    if error.code not in _BUSY:
                        break
                except OversizeError as error:
                    cause = clean(error)
                    break
                except (OSError, http.client.HTTPException, ValueError) as error:
                    # No connection, or an answer that is not JSON.
                    cause = f"{type(error).__name__}: {clean(error)}"
                if deadline.has_passed:
                    cause = f"timed out after {self._timeout_s} s"
                    break
        raise TerselyError(f"the reranker at {address.shown} gave no answer ({cause}). Check the server.")


def _read_answer(
    opener: urllib.request.OpenerDirector, request: urllib.request.Request, deadline: Deadline
) -> object:
    with opener.open(request, timeout=deadline.remaining) as answer:
        if answer.headers.get("Content-Encoding", "").strip().lower() not in ("", "identity"):
            raise OversizeError("the answer is compressed, so its size is not known")
        data = answer.read(MAX_ANSWER_BYTES + 1)
        check_size(len(data))
        if deadline.has_passed or answer.length:
            raise http.client.IncompleteRead(b"", answer.length)
    return parse_json(data)


def _read_scores(answer: object, count: int, url: str) -> list[float]:
    """Scores in the order of the documents, from a list of {index, score} or an object that contains one."""
    if isinstance(answer, dict):
        values = cast("dict[str, object]", answer)
        answer = values.get("results", values.get("data"))
    scores: list[tuple[int, float]] = []
    for item in cast("list[Any]", answer) if isinstance(answer, list) else []:
        try:
            score = float(item.get("relevance_score", item.get("score")))
            if not math.isfinite(score):
                break
            scores.append((int(item["index"]), score))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            break
    scores.sort()
    if [index for index, _ in scores] != list(range(count)):
        raise TerselyError(f"the reranker at {url} did not score each of {count} documents once.")
    return [score for _, score in scores]
