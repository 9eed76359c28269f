"""A reranker behind HTTP: Text Embeddings Inference, vLLM, llama.cpp, Jina, Cohere and compatible servers."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any, Literal, cast

from tersely.errors import InvalidInputError, OfflineError, TerselyError
from tersely.rerank.protocol import format_passage
from tersely.runtime.offline import LOOPBACK, network_forbidden
from tersely.types import Document

_BUSY = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP codes after which another attempt may succeed."""
_PAUSE_S = 0.2
_TEI_BATCH = 32
"""Texts per request that Text Embeddings Inference accepts by default."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would send the texts and the key to a host that the caller did not name."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class RerankEndpoint:
    """A reranker that posts the query and the documents to `url`.

    Args:
        url: the full address, such as "http://127.0.0.1:8080/rerank" or "https://api.jina.ai/v1/rerank".
        style: "openai" sends {"model", "query", "documents"} (vLLM, llama.cpp, Jina, Cohere), "tei" sends
            {"query", "texts"} (Text Embeddings Inference). Both kinds of answers are understood.
        model: name of the model, for servers with several models.
        api_key: sent as a bearer token.
        timeout_s: seconds for one attempt.
        retries: further attempts if the server is busy, the connection breaks or the time is up.

    Raises:
        InvalidInputError: `url` is not an HTTP address, or `style` is unknown.
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
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInputError(
                f"{url!r} is not an HTTP address. Pass one like http://127.0.0.1:8080/rerank."
            )
        if style not in ("openai", "tei"):
            raise InvalidInputError(f"style is {style!r}. Pass 'openai' or 'tei'.")
        if network_forbidden() and parts.hostname not in LOOPBACK:
            raise OfflineError(
                f"{url!r} is on the network, which TERSELY_OFFLINE forbids. Unset it, or use a local server."
            )
        self._url, self._style, self._model, self._api_key = url, style, model, api_key
        self._timeout_s, self._retries = timeout_s, retries

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        """The server's scores, unchanged. Raises TerselyError if it is down or its answer is malformed."""
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
        return _read_scores(self._post(body), len(texts), self._url)

    def _post(self, body: dict[str, Any]) -> object:
        headers = {"Content-Type": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)
        opener = urllib.request.build_opener(_NoRedirect)
        cause = ""
        for attempt in range(self._retries + 1):
            if attempt:
                time.sleep(_PAUSE_S * 2 ** (attempt - 1))
            try:
                with opener.open(request, timeout=self._timeout_s) as answer:
                    return json.loads(answer.read())
            except urllib.error.HTTPError as error:
                cause = f"HTTP {error.code} {error.reason}"
                if error.code not in _BUSY:
                    break
            except (
                OSError,
                http.client.HTTPException,
                ValueError,
            ) as error:  # no connection, or an answer that is not JSON
                cause = f"{type(error).__name__}: {error}"
        raise TerselyError(f"the reranker at {self._url} gave no answer ({cause}). Check the server.")


def _read_scores(answer: object, count: int, url: str) -> list[float]:
    """Scores in the order of the documents, from a list of {index, score} or an object that contains one."""
    if isinstance(answer, dict):
        values = cast("dict[str, object]", answer)
        answer = values.get("results", values.get("data"))
    scores: list[tuple[int, float]] = []
    for item in cast("list[Any]", answer) if isinstance(answer, list) else []:
        try:
            scores.append((int(item["index"]), float(item.get("relevance_score", item.get("score")))))
        except (AttributeError, KeyError, TypeError, ValueError):
            break
    scores.sort()
    if [index for index, _ in scores] != list(range(count)):
        raise TerselyError(f"the reranker at {url} did not score each of {count} documents once.")
    return [score for _, score in scores]
