"""A decision model on a server as a reranker: Jev, Laya, `tersely serve` and others with `/v1/systemone`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tersely.errors import TerselyError
from tersely.inputs import check_time_limit
from tersely.rerank.protocol import check_model_name, check_ranked, format_passage
from tersely.runtime.http import Endpoint
from tersely.runtime.limits import clean, parse_json
from tersely.types import Document

_AT_ONCE = 8
"""Requests that wait for an answer at the same time."""
_NAME = "answers"
_INSTRUCTIONS = "Does the passage help to answer the question?"


class DecisionEndpoint:
    """A reranker that asks a decision model about each document: does it help to answer the query?

    Its scores are the probabilities of the answer yes. Each document is a request of its own.

    Args:
        url: the full address, such as "http://127.0.0.1:8000/v1/systemone".
        model: name of the model, for servers with several models.
        api_key: sent as a bearer token.
        timeout_s: seconds for a request, including further attempts.
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
            kind="the decision model at",
            faster="pass fewer documents",
        )
        self._model = check_model_name(model)

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
                    "state": {"question": query, "passage": text},
                    "questions": {_NAME: {"type": "noul", "instructions": _INSTRUCTIONS}},
                }
                if self._model is not None:
                    body["model"] = self._model
                async with free:
                    return self._read(await self._endpoint.asend(client, body=body))

            return await asyncio.gather(*map(ask, texts))

    def _read(self, data: bytes) -> float:
        try:
            answer: Any = parse_json(data)
            likely = float(answer["answers"][_NAME]["noul"])
            if not 0 <= likely <= 1:
                raise ValueError(f"{likely} is not a probability")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise TerselyError(
                f"{self._endpoint.name} gave no probability ({type(error).__name__}: {clean(error)}). "
                "Check the server."
            ) from error
        return likely
