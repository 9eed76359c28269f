"""Rerankers on servers: those with a `/rerank` endpoint, and decision models."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, cast

from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import check_time_limit, type_name
from tersely.rerank.inputs import check_ranked, format_passage
from tersely.runtime.http import Endpoint
from tersely.runtime.limits import clean, parse_json
from tersely.types import Document

_TEI_BATCH = 32
"""Number of texts in a request that Text Embeddings Inference accepts by default."""
_AT_ONCE = 8
"""Number of requests to a decision model that wait for an answer at the same time."""
_QUESTION = "answers"
"""Name of the question that a decision model is asked."""
_INSTRUCTIONS = "Does the passage help to answer the question?"


class ServerReranker:
    """A reranker on a server.

    An answer of more than 8 MiB is an error, and so is a redirect. Proxies of the environment are used only
    for servers on other machines.

    Args:
        url: the full address, such as "http://127.0.0.1:8080/rerank", "https://api.jina.ai/v1/rerank" or
            "http://127.0.0.1:8000/v1/systemone".
        model: name of the model, for servers with several models.
        api_key: the key, which is sent as a bearer token.
        timeout_s: seconds for a request, including further attempts.
        retries: further attempts if the server is busy or the connection breaks.

    Raises:
        InvalidInputError: `url` is not an HTTP address, or another argument cannot be used.
        OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
        MissingDependencyError: httpx2 is not installed.
    """

    _kind: ClassVar[str]
    """Words of error messages before the address."""

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 2,
    ) -> None:
        self._endpoint = Endpoint(
            url,
            api_key or None,
            check_time_limit(timeout_s),
            retries,
            kind=self._kind,
            faster="pass fewer documents",
        )
        if not isinstance(cast("object", model), str | None):
            raise InvalidInputError(f"model is {type_name(model)}. Pass a name, or None.")
        self._model_name = {} if model is None else {"model": model}


class RerankEndpoint(ServerReranker):
    """A reranker that posts the query and the documents to `url`: Text Embeddings Inference, vLLM, llama.cpp,
    Jina, Cohere and compatible servers.

    Text Embeddings Inference gets 32 texts per request.

    Args:
        style: "openai" sends {"model", "query", "documents"} (vLLM, llama.cpp, Jina, Cohere), "tei" sends
            {"query", "texts"} (Text Embeddings Inference). Both kinds of answers are understood.
        url: see `ServerReranker`, also for the other arguments.
    """

    _kind = "the reranker at"

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
        super().__init__(url, model=model, api_key=api_key, timeout_s=timeout_s, retries=retries)
        self._style = style

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        """Return the server's scores, unchanged.

        Raises TerselyError if the server is down or its answer is malformed, and InvalidInputError unless the
        query is text and the documents are documents.
        """
        documents = check_ranked(query, documents)
        texts = [format_passage(document) for document in documents]
        size = _TEI_BATCH if self._style == "tei" else max(1, len(texts))
        batches = [texts[i : i + size] for i in range(0, len(texts), size)]
        return [score for batch in batches for score in self._rank_batch(query, batch)]

    def _rank_batch(self, query: str, texts: list[str]) -> list[float]:
        body: dict[str, Any] = {"query": query, **self._model_name}
        if self._style == "tei":
            body |= {"texts": texts, "truncate": True}
        else:
            body["documents"] = texts
        data = self._endpoint.send(body=body)
        try:
            return _read_scores(parse_json(data), len(texts))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise TerselyError(
                f"{self._endpoint.name} did not score each of {len(texts)} documents once "
                f"({type(error).__name__}: {clean(error)}). Check the server."
            ) from error


class DecisionEndpoint(ServerReranker):
    """A reranker that asks a decision model about each document: does it help to answer the query?

    Servers with `/v1/systemone` are Jev, Laya, `tersely serve` and others. A score is the probability of the
    answer yes. Each document is a separate request.
    """

    _kind = "the decision model at"

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        """Return the probability in [0, 1] that each document helps.

        Raises TerselyError if the server is down or its answer is malformed, and InvalidInputError unless the
        query is text and the documents are documents.
        """
        from anyio.from_thread import start_blocking_portal

        texts = [format_passage(document) for document in check_ranked(query, documents)]
        with start_blocking_portal() as portal:  # because only a task can be stopped while it reads
            return portal.call(self._rank, query, texts)

    async def _rank(self, query: str, texts: Sequence[str]) -> list[float]:
        free = asyncio.Semaphore(_AT_ONCE)
        async with self._endpoint.open() as client:

            async def ask(text: str) -> float:
                body: dict[str, Any] = {
                    **self._model_name,
                    "state": {"question": query, "passage": text},
                    "questions": {_QUESTION: {"type": "noul", "instructions": _INSTRUCTIONS}},
                }
                async with free:
                    return self._read(await self._endpoint.asend(client, body=body))

            return await asyncio.gather(*map(ask, texts))

    def _read(self, data: bytes) -> float:
        try:
            answer: Any = parse_json(data)
            probability = float(answer["answers"][_QUESTION]["noul"])
            if not 0 <= probability <= 1:
                raise ValueError(f"{probability} is not a probability")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise TerselyError(
                f"{self._endpoint.name} gave no probability ({type(error).__name__}: {clean(error)}). "
                "Check the server."
            ) from error
        return probability


def _read_scores(answer: Any, count: int) -> list[float]:
    """Return scores in the order of the documents, from a list of {index, score} or an object that has one.

    Raises ValueError or another error unless each document has one finite score.
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
