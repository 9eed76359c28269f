"""A reranker on a server: Text Embeddings Inference, vLLM, llama.cpp, Jina, Cohere and compatible servers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, cast

from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import check_time_limit
from tersely.rerank.protocol import check_model_name, check_ranked, format_passage
from tersely.runtime.http import Endpoint
from tersely.runtime.limits import clean, parse_json
from tersely.types import Document

_TEI_BATCH = 32
"""Texts per request that Text Embeddings Inference accepts by default."""


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
        MissingDependencyError: httpx2 is not installed.
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
        if style not in ("openai", "tei"):
            raise InvalidInputError(f"style is {style!r}. Pass 'openai' or 'tei'.")
        self._endpoint = Endpoint(
            url,
            api_key or None,
            check_time_limit(timeout_s),
            retries,
            kind="the reranker at",
            faster="pass fewer documents",
        )
        self._style, self._model = style, check_model_name(model)

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        """Return the server's scores, unchanged.

        Raises TerselyError if the server is down or its answer is malformed, and InvalidInputError unless the
        query is text and the documents are documents.
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
        data = self._endpoint.send(body=body)
        try:
            return _read_scores(parse_json(data), len(texts))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise TerselyError(
                f"{self._endpoint.name} did not score each of {len(texts)} documents once "
                f"({type(error).__name__}: {clean(error)}). Check the server."
            ) from error


def _read_scores(answer: Any, count: int) -> list[float]:
    """Return scores in the order of the documents, from a list of {index, score} or an object that has one.

    Raises ValueError, or another error of reading, unless each document has one finite score.
    """
    if isinstance(answer, dict):
        values = cast("dict[str, Any]", answer)
        answer = values.get("results", values.get("data"))
    scores = {
        int(item["index"]): float(item.get("relevance_score", item.get("score")))
        for item in cast("list[Any]", answer)
    }
    if len(answer) != count or sorted(scores) != list(range(count)):
        raise ValueError(f"it scored {len(answer)}")
    if not all(map(math.isfinite, scores.values())):
        raise ValueError("a score is not a finite number")
    return [scores[index] for index in range(count)]
