"""What `Compressor.summarize` does: the bundled summarizer, or quotations where it cannot run here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.inputs import DocumentLike
from tersely.summarize.local import TrainedModel, load_trained
from tersely.summarize.request import explain_fallback
from tersely.summarize.summarizer import Summarizer
from tersely.summarize.types import Aspect, Summary

BUNDLED = "tersely-recon"


def summarize(
    compressor: Compressor, query: str, docs: Iterable[DocumentLike], *, budget: int | None, aspect: Aspect
) -> Summary:
    """See `Compressor.summarize`."""
    trained = _load_once()
    if isinstance(trained, str):
        summary = Summarizer(compressor=compressor).summarize(query, docs, budget=budget, aspect=aspect)
        return replace(summary, reason=summary.reason or trained)
    return Summarizer(trained, compressor=compressor).summarize(query, docs, budget=budget, aspect=aspect)


@cache
def _load_once() -> TrainedModel | str:
    """The model for this process, or why there is none."""
    try:
        return load_trained(BUNDLED, None)
    except (MissingDependencyError, InvalidInputError) as error:
        return explain_fallback(str(error).rstrip("."))
