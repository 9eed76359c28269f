"""Run requests on the tree that is imported, and bring what comes back into a form that can be written."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from tersely import Compression, Compressor, Document, PreparedDocument, TerselyError
from tests.recording.requests import Request

Outcome = dict[str, Any]

_DIGITS = 4
"""Of scores. Code that adds the same numbers in another order may change the last bits."""


class _Words:
    """A counter as an object."""

    approximate = False

    def count(self, text: str) -> int:
        return len(text.split())


class _Reranker:
    """Ranks by the words that a document shares with the question; or does it wrong, in one of three ways."""

    def __init__(self, fault: str | None = None) -> None:
        self._fault = fault

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        if self._fault == "failing":
            raise RuntimeError("the reranker is away")
        words = set(query.lower().split())
        ranked = [len(words & set(f"{d.title} {d.text}".lower().split())) / len(words) for d in documents]
        if self._fault == "short":
            return ranked[:-1]
        return [math.nan, *ranked[1:]] if self._fault == "nan" else ranked


class _BrokenModel:
    threshold = 0.5
    length_price = 0.0

    def score(self, query: str, documents: object) -> Any:
        raise RuntimeError("no weights")


def _refuse(text: str) -> int:
    raise ValueError("cannot count")


_SETTINGS: dict[str, Callable[[], Compressor]] = {
    "plain": lambda: Compressor(threads=1),
    "reranker": lambda: Compressor(threads=1, reranker=_Reranker()),
    "failing reranker": lambda: Compressor(threads=1, reranker=_Reranker("failing")),
    "short reranker": lambda: Compressor(threads=1, reranker=_Reranker("short")),
    "nan reranker": lambda: Compressor(threads=1, reranker=_Reranker("nan")),
    "words": lambda: Compressor(threads=1, token_counter=lambda text: len(text.split())),
    "characters": lambda: Compressor(threads=1, token_counter=len),
    "counter": lambda: Compressor(threads=1, token_counter=_Words()),
    "negative counter": lambda: Compressor(threads=1, token_counter=lambda text: -1),
    "raising counter": lambda: Compressor(threads=1, token_counter=_refuse),
    "broken model": lambda: Compressor(_BrokenModel(), threads=1),
}


@cache
def _compressor(setting: str) -> Compressor:
    return _SETTINGS[setting]()


def run(request: Request) -> Iterator[Outcome]:
    """What a request gives: one outcome, or one for each pair of a batch."""
    compressor = _compressor(request.setting)
    asked, prepared = digest_request(request), None
    try:
        if request.via == "batch":
            pairs = [(request.query, request.docs), *request.more]
            results = compressor.compress_batch(pairs, **request.options)
        else:
            docs = request.docs
            if request.via != "compress":
                docs, prepared = _prepare(compressor, docs, request.via)
            results = [compressor.compress(request.query, docs, **request.options)]
    except (TerselyError, ValueError) as error:
        yield {"id": request.id, "input": asked, "error": f"{type(error).__name__}: {error}"}
        return
    for number, result in enumerate(results):
        outcome = _outcome(result)
        outcome["id"] = request.id if request.via != "batch" else f"{request.id}/{number}"
        outcome["input"] = asked
        if prepared is not None:
            outcome["prepared"] = prepared
        yield outcome


def _prepare(compressor: Compressor, docs: list[Any], via: str) -> tuple[list[Any], str]:
    """The documents prepared, and a checksum of what was prepared."""
    prepared = compressor.prepare(docs)
    written = [document.to_bytes() for document in prepared]
    checksum = hashlib.sha256(b"".join(written)).hexdigest()
    if via == "bytes":
        return [PreparedDocument.from_bytes(b, d) for b, d in zip(written, docs, strict=True)], checksum
    if via == "mixed":
        return [own if n % 2 else docs[n] for n, own in enumerate(prepared)], checksum
    return list(prepared), checksum


def digest_request(request: Request) -> str:
    """A checksum of what is asked: where it differs, the generator has changed and not the compressor."""
    pairs = [(query, _plain(docs)) for query, docs in [(request.query, request.docs), *request.more]]
    return _sha256(repr([pairs, request.options, request.via, request.setting]))[:16]


def _plain(docs: Any) -> Any:
    """The documents without their class, which may change."""
    if isinstance(docs, Document):
        return [docs.text, docs.title, docs.id, dict(docs.metadata)]
    return [_plain(doc) for doc in docs] if isinstance(docs, list) else docs


def _outcome(result: Compression) -> Outcome:
    receipt = result.to_dict()
    del receipt["timings"]
    return {
        "text_sha256": _sha256(result.text),
        "receipt_sha256": _sha256(json.dumps(_round(receipt), sort_keys=True, default=repr)),
        "text": result.text,
        "kept": _spans(receipt["kept"]),
        "dropped": _spans(receipt["dropped"]),
        "documents": [_document(d) for d in receipt["documents"]],
        "citations": [_numbers(c) for c in receipt["citations"]],
        "marks": [_numbers(m) for m in receipt["marks"]],
        "relevance": _round(receipt["relevance"]),
        "status": receipt["status"],
        "reason": receipt["reason"],
        "tokens": [receipt["tokens_before"], receipt["tokens_after"]],
        "model": receipt["model"],
        "warnings": receipt["warnings"],
        "recall_met": receipt["recall_met"],
        "best_fits": receipt["best_fits"],
    }


def _document(document: dict[str, Any]) -> list[Any]:
    own = [document[key] for key in ("source", "title", "id", "metadata")]
    text = document["text"]
    return [*own, len(text), _sha256(text)[:16], len(document["spans"]), _round(document["relevance"])]


def _spans(spans: Sequence[dict[str, Any]]) -> list[list[Any]]:
    return [[s["doc"], s["start"], s["end"], s["reason"], _round(s["score"])] for s in spans]


def _numbers(entry: dict[str, int]) -> list[int]:
    return [entry[key] for key in ("text_start", "text_end", "doc", "start", "end")]


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0  # no negative zero
    if isinstance(value, dict):
        return {key: _round(own) for key, own in value.items()}
    return [_round(own) for own in value] if isinstance(value, list | tuple) else value


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
