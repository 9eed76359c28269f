"""Compress the documents of a dataset's rows for the query of each row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

# Ray is not in the environment of the type checker: it takes 600 MB.
import ray.data  # pyright: ignore[reportMissingImports]

from tersely import CompressionArguments, Compressor, InvalidInputError
from tersely.adapters import make_receipt
from tersely.inputs import check_count, check_members
from tersely.options import make_options

REFUSED = "refused"
"""Status of a row that cannot be compressed."""


def compress_dataset(
    dataset: ray.data.Dataset,
    *,
    query: str = "query",
    documents: str = "documents",
    into: str = "compression",
    compressor: Mapping[str, Any] | None = None,
    actors: tuple[int, int] = (1, 8),
    threads: int = 1,
    **options: Unpack[CompressionArguments],
) -> ray.data.Dataset:
    """Add a column with compressions, made by a pool of actors, each with its own compressor.

    The column holds "text", "tokens_before", "tokens_after", "status", "reason" ("" for none), and "receipt":
    the receipt without texts, in JSON. No row is left out: a row that cannot be compressed has the status
    "refused", and the reason. If an actor or its machine dies, Ray does its unfinished rows again on others,
    with the same results. With Ray's `DataContext.checkpoint_config`, a job that died continues where it was.

    Args:
        dataset: has a column of questions, and a column of lists of texts or of {"text", "title", "id"}.
        query: name of the column of questions.
        documents: name of the column of documents.
        into: name of the new column.
        compressor: arguments of `Compressor`, such as {"token_counter": "tokenizer.json"}. A path must lead
            to the same file on every machine.
        actors: smallest and largest number of actors.
        threads: threads of each actor, which reserves as many cores.
        options: every option of `Compressor.compress`, for all rows.

    Raises:
        InvalidInputError: an option or an argument cannot be used.
    """
    fewest, most = _check_actors(actors)
    for name in (query, documents, into):
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"{name!r} is no name of a column. Pass text.")
    if compressor is not None:
        check_members(compressor, ("keys",), "compressor", "Pass arguments of Compressor, by name.")
    if into in (query, documents):
        raise InvalidInputError(f"into is {into!r}, which is a column of the input. Pass another name.")
    arguments = {
        "compressor": {**(compressor or {}), "threads": check_count(threads, "threads", "threads")},
        "options": make_options(options).arguments(),
        "columns": (query, documents, into),
    }
    pool = ray.data.ActorPoolStrategy(min_size=fewest, max_size=most)
    return dataset.map(_CompressRow, fn_constructor_kwargs=arguments, compute=pool, num_cpus=threads)


def _check_actors(actors: object) -> tuple[int, int]:
    remedy = "Pass the fewest and the most actors, such as (1, 8)."
    if not isinstance(actors, tuple | list) or len(actors) != 2:
        raise InvalidInputError(f"actors is {actors!r}. {remedy}")
    fewest, most = (check_count(number, "actors", "actors") for number in actors)
    if fewest > most:
        raise InvalidInputError(f"actors is {actors!r}. {remedy}")
    return fewest, most


class _CompressRow:
    """The function of an actor, which compresses one row after the other."""

    def __init__(
        self, compressor: dict[str, Any], options: CompressionArguments, columns: tuple[str, str, str]
    ) -> None:
        self._compressor, self._options, self._columns = Compressor(**compressor), options, columns

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        query, documents, into = self._columns
        return {**row, into: self._compress(row.get(query), row.get(documents))}

    def _compress(self, query: Any, documents: Any) -> dict[str, Any]:
        try:
            if isinstance(documents, str | Mapping) or not isinstance(documents, Iterable):
                raise InvalidInputError("The documents are no list. Pass a list of texts or of mappings.")
            result = self._compressor.compress(query, list(documents), **self._options)
        except InvalidInputError as error:
            nothing = {"text": "", "tokens_before": 0, "tokens_after": 0}
            return {**nothing, "status": REFUSED, "reason": str(error), "receipt": "{}"}
        return {
            "text": result.text,
            "tokens_before": result.tokens_before,
            "tokens_after": result.tokens_after,
            "status": str(result.status),
            "reason": result.reason or "",
            "receipt": json.dumps(make_receipt(result)),
        }
