"""A server of `training.retrieval` as a retriever of the SDK's agent."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from tersely.runtime.offline import check_address
from tersely.types import Document
from tersely_agents.agent import Hit

_OPENER = build_opener(ProxyHandler({}))
TIMEOUT_S = 60.0


class RemoteRetriever:
    """A retriever on a server (`tersely_agents.agent.Retriever`)."""

    def __init__(self, url: str) -> None:
        check_address(url)
        self._url = url.rstrip("/")

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the k best documents, best first."""
        (found,) = self._post("/search", {"queries": [query], "k": k})["results"]
        return [Hit(**row) for row in found]

    def open(self, docid: str) -> Document:
        """Return a whole document, by its docid or its url. Raises KeyError for an unknown one."""
        try:
            found = self._post("/open", {"key": docid})
        except HTTPError as error:
            if error.code == 404:
                raise KeyError(docid) from None
            raise
        return Document(found["text"], found["title"] or None, found["docid"])

    def _post(self, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        request = Request(self._url + path, json.dumps(body).encode(), headers)
        with _OPENER.open(request, timeout=TIMEOUT_S) as response:
            return json.load(response)
