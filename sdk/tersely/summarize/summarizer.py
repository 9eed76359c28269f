"""Summarize documents for a query, with a source for every sentence (RECON, section 3).

    no chat model            the summary consists of sentences that the selector chooses (`extractive`)
    chat model               the model writes (`request`), its sentences are checked (`written`, `grounding`)
    chat model + preselect   the selector chooses what the model reads

If the model fails in any way, the summary is the extractive one, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Literal

from tersely.chat.protocol import ChatError, ChatModel, acomplete_safely, complete_safely
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, check_compressor, check_count
from tersely.summarize.extractive import extract_summary
from tersely.summarize.request import explain_fallback, prepare
from tersely.summarize.types import Aspect, Summary
from tersely.summarize.written import check_reply

TEMPERATURE = 0.7
"""RECON samples its summaries at this temperature (appendix B.4)."""


class Summarizer:
    """Summarizes many documents for one query. Safe to share between threads.

    Args:
        model: writes the summary; None for a summary of the documents' own sentences.
        compressor: chooses sentences and counts tokens; None for `Compressor()`.
        preselect: most tokens of the documents that the model reads, chosen by the compressor; None for all.
        unsupported: what happens to sentences of the model that no document supports. "flag" keeps them with
            an empty `support`, "drop" leaves them out.

    Raises:
        InvalidInputError: an argument cannot be used.
    """

    def __init__(
        self,
        model: ChatModel | None = None,
        *,
        compressor: Compressor | None = None,
        preselect: int | None = None,
        unsupported: Literal["flag", "drop"] = "flag",
    ) -> None:
        if model is not None and not callable(getattr(model, "complete", None)):
            raise InvalidInputError(
                f"The model is a {type(model).__name__}. Pass a model of tersely.chat, or an object with "
                "complete() and acomplete()."
            )
        if unsupported not in ("flag", "drop"):
            raise InvalidInputError(f"unsupported is {unsupported!r}. Pass 'flag' or 'drop'.")
        if preselect is not None:
            preselect = check_count(preselect, "preselect", "tokens")
        if compressor is not None:
            check_compressor(compressor)
        self.model = model
        self.compressor = Compressor() if compressor is None else compressor
        self._preselect = preselect
        self._drop_unsupported = unsupported == "drop"

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
            question: what the user wants to know, if that is more than the query.
            aspect: what matters most to the model, one of `ASPECTS`. Extractive summaries ignore it.
            budget: most tokens of the summary, by the compressor's counter.

        Raises:
            InvalidInputError: an argument cannot be used; the message says which and why.
        """
        request = prepare(self.compressor, query, docs, question, aspect, budget, self._preselect)
        if self.model is None or not request.shown:
            return extract_summary(request, request.reason)
        try:
            reply = complete_safely(
                self.model, request.messages(), max_tokens=request.reply_limit, temperature=TEMPERATURE
            )
        except ChatError as error:
            return extract_summary(request, explain_fallback(error))
        return check_reply(request, reply, self.model.name, drop_unsupported=self._drop_unsupported)

    async def asummarize(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        question: str | None = None,
        aspect: Aspect = "clarity",
        budget: int | None = None,
    ) -> Summary:
        """`summarize` without blocking the event loop."""
        request = await asyncio.to_thread(
            prepare, self.compressor, query, docs, question, aspect, budget, self._preselect
        )
        if self.model is None or not request.shown:
            return await asyncio.to_thread(extract_summary, request, request.reason)
        try:
            reply = await acomplete_safely(
                self.model, request.messages(), max_tokens=request.reply_limit, temperature=TEMPERATURE
            )
        except ChatError as error:
            return await asyncio.to_thread(extract_summary, request, explain_fallback(error))
        return await asyncio.to_thread(
            check_reply, request, reply, self.model.name, drop_unsupported=self._drop_unsupported
        )
