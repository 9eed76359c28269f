"""Arguments of a compression, checked. Every complaint names the cause and the remedy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Literal, cast

from tersely.errors import InvalidInputError
from tersely.types import Document

DocumentLike = str | Document | Mapping[str, Any]
Detail = Literal["auto", 1, 2, 3, 4, 5]
Order = Literal["source", "rerank"]

_OWN_KEYS = frozenset({"text", "title", "id", "metadata"})


def check_query(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInputError(f"The query is {_kind(query)}. Pass the question as text.")
    if not query.strip():
        raise InvalidInputError("The query is empty. Pass the question that the context should answer.")
    return query


def read_documents(docs: object) -> list[Document]:
    """A document for each of the caller's, in order.

    A mapping needs the key "text" and may have "title", "id" and "metadata"; its other keys join the
    metadata.
    """
    single = isinstance(docs, str | bytes | Document | Mapping)
    if single or not isinstance(docs, Iterable):
        kind = _kind(cast("object", docs))
        raise InvalidInputError(f"The documents are {kind}. Pass a list of documents, even for one.")
    items = cast("Iterable[object]", docs)
    return [_read_document(item, f"Document {index}") for index, item in enumerate(items)]


def _read_document(item: object, where: str) -> Document:
    if isinstance(item, str):
        return Document(item)
    if isinstance(item, Mapping):
        values = cast("Mapping[str, Any]", item)
        if "text" not in values:
            raise InvalidInputError(f"{where} has no 'text' key, only {sorted(map(str, values))}. Add it.")
        metadata: object = values.get("metadata", {})
        if not isinstance(metadata, Mapping):
            raise InvalidInputError(f"{where} has metadata that is {_kind(metadata)}. Pass a mapping.")
        extra = {key: value for key, value in values.items() if key not in _OWN_KEYS}
        item = Document(
            values["text"],
            values.get("title"),
            values.get("id"),
            {**extra, **cast("Mapping[str, Any]", metadata)},
        )
    if not isinstance(item, Document):
        raise InvalidInputError(f"{where} is {_kind(item)}. Pass text, a Document, or a mapping with 'text'.")
    if not isinstance(cast("object", item.text), str):
        raise InvalidInputError(
            f"{where} has a text that is {_kind(item.text)}. Pass text; decode bytes first."
        )
    for name, value in (("title", item.title), ("id", item.id)):
        if not isinstance(cast("object", value), str | None):
            raise InvalidInputError(f"{where} has a {name} that is {_kind(value)}. Pass text or None.")
    return item


def check_budget(budget: object, rate: object) -> tuple[int | None, float | None]:
    """The hard limit as (tokens, share); at most one of them is not None."""
    if budget is not None and rate is not None:
        raise InvalidInputError("Both budget and rate are given. Pass one of them, or neither.")
    return (
        None if budget is None else check_count(budget, "budget", "tokens"),
        None
        if rate is None
        else _check_share(rate, "rate", "Pass the share of tokens to keep, above 0 and at most 1."),
    )


def limit_of(before: int, tokens: int | None, share: float | None) -> int:
    """Most tokens of the result; never more than there were."""
    if tokens is not None:
        return min(before, tokens)
    # The epsilon keeps a share such as 0.29 of 100 from losing a token to floating point.
    return before if share is None else min(before, math.floor(share * before + 1e-9))


def check_recall(recall: object) -> float | None:
    remedy = "Pass the share of questions that are to keep their answer sentence, above 0 and below 1."
    if recall is None:
        return None
    share = _check_share(recall, "recall", remedy)
    if share == 1:
        raise InvalidInputError(f"recall is 1.0, which only the whole text can promise. {remedy}")
    return share


def check_count(value: object, name: str, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInputError(f"{name} is {_kind(value)}. Pass a whole number of {unit}, 1 or more.")
    count = int(value)
    if count < 1:
        raise InvalidInputError(f"{name} is {count}. Pass a whole number of {unit}, 1 or more.")
    return count


def _check_share(value: object, name: str, remedy: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInputError(f"{name} is {_kind(value)}. {remedy}")
    share = float(value)
    if math.isnan(share) or not 0 < share <= 1:
        raise InvalidInputError(f"{name} is {share}. {remedy}")
    return share


def check_level(level: object) -> Detail | None:
    if level is None:
        return None
    if level == "auto":
        return "auto"
    if isinstance(level, bool) or not isinstance(level, Integral) or int(level) not in range(1, 6):
        raise InvalidInputError(f"level is {level!r}. Pass 'auto' or a level of detail from 1 to 5.")
    return cast("Detail", int(level))


def check_order(order: object) -> Order:
    if order not in ("source", "rerank"):
        raise InvalidInputError(f"order is {order!r}. Pass 'source' or 'rerank'.")
    return order


def _kind(value: object) -> str:
    """What the caller passed, as part of a sentence."""
    if isinstance(value, bool | None):
        return str(value)
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
