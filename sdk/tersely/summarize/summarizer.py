"""Documents and a query -> a summary whose every sentence says where it comes from (RECON, section 3).

    no chat model            the selector's sentences are the summary
    chat model               the model writes, `grounding` checks
    chat model + preselect   the selector picks what the model gets to read

Whatever goes wrong with the model, there is a summary: the extractive one, with the reason.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from time import perf_counter
from typing import Literal

import numpy as np

from tersely import inputs
from tersely.chat.protocol import ChatError, ChatModel, Message, Reply, without_thought
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike
from tersely.packing import render
from tersely.prompts import load_prompt
from tersely.selector import DocumentScores, ScoredInput
from tersely.summarize.grounding import Sources
from tersely.summarize.types import ASPECTS, Aspect, Summary, SummarySentence, Support
from tersely.text.sentences import split_units
from tersely.types import Compression, Document

logger = logging.getLogger("tersely")

TEMPERATURE = 0.7
"""RECON samples its summaries at this temperature (appendix B.4)."""

_LEAD_IN = re.compile(r"\A(?:\*\*)?(?:support context|summary)(?:\*\*)?\s*:\s*(?:\*\*)?\s*", re.IGNORECASE)


class Summarizer:
    """Summaries for one query over many documents. Safe to share between threads.

    Args:
        model: writes the summary; None for the documents' own sentences.
        compressor: picks sentences and counts tokens; None for `Compressor()`.
        preselect: with a model, tokens that it gets to read at most: the compressor picks them. None for all
            documents.
        unsupported: what becomes of the model's sentences that no document supports: "flag" keeps them with
            an empty `support`, "drop" leaves them out.
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
                f"The model is a {type(model).__name__}. Pass one of tersely.chat, or an object like them."
            )
        if unsupported not in ("flag", "drop"):
            raise InvalidInputError(f"unsupported is {unsupported!r}. Pass 'flag' or 'drop'.")
        if preselect is not None:
            preselect = inputs.check_count(preselect, "preselect", "tokens")
        self.model = model
        self.compressor = compressor or Compressor()
        self._preselect = preselect
        self._unsupported = unsupported

    def summarize(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        question: str | None = None,
        aspect: Aspect = "clarity",
        budget: int | None = None,
    ) -> Summary:
        """What the documents say about the query.

        Args:
            query: what was searched for.
            docs: texts, `Document`s, or mappings with the key "text".
            question: what the user wants to know, where that is more than this query.
            aspect: what the model is to care for most, one of `ASPECTS`; extractive summaries have no use
                for it.
            budget: most tokens of the summary, by the compressor's counter.

        Raises:
            InvalidInputError: an argument cannot be used; the message says which and why.
        """
        task = _Task(self.compressor, query, docs, question, aspect, budget, self._preselect)
        if self.model is None or not task.askable:
            return task.extractive(task.unasked)
        try:
            reply = self.model.complete(task.messages(), max_tokens=task.reply_limit, temperature=TEMPERATURE)
        except ChatError as error:
            return task.extractive(_failed(error))
        return task.written(reply, self.model.name, drop=self._unsupported == "drop")

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
        import asyncio

        task = await asyncio.to_thread(
            _Task, self.compressor, query, docs, question, aspect, budget, self._preselect
        )
        if self.model is None or not task.askable:
            return await asyncio.to_thread(task.extractive, task.unasked)
        try:
            reply = await self.model.acomplete(
                task.messages(), max_tokens=task.reply_limit, temperature=TEMPERATURE
            )
        except ChatError as error:
            return await asyncio.to_thread(task.extractive, _failed(error))
        return await asyncio.to_thread(task.written, reply, self.model.name, drop=self._unsupported == "drop")


class _Task:
    """One summary under way."""

    def __init__(
        self,
        compressor: Compressor,
        query: str,
        docs: Iterable[DocumentLike],
        question: str | None,
        aspect: Aspect,
        budget: int | None,
        preselect: int | None,
    ) -> None:
        self._started = self._last = perf_counter()
        self._laps: dict[str, float] = {}
        self.compressor = compressor
        self.query = inputs.check_query(query)
        self.question = self.query if question is None else inputs.check_query(question)
        if aspect not in ASPECTS:
            raise InvalidInputError(f"aspect is {aspect!r}. Pass one of {', '.join(map(repr, ASPECTS))}.")
        self.aspect: Aspect = aspect
        self.budget = None if budget is None else inputs.check_count(budget, "budget", "tokens")
        self.documents = inputs.read_documents(docs)
        self.given = self.documents if any(d.text.strip() for d in self.documents) else []
        self.unasked: str | None = None
        """Why there is nothing to ask a model about, though there are documents."""
        if preselect is not None and self.given:
            chosen = compressor.compress(self.query, self.documents, budget=preselect)
            self.given = [Document(d.text, d.title) for d in chosen.documents]
            if not self.given:
                self.unasked = _failed("no sentence fits into preselect")
            self._lap("select")

    @property
    def askable(self) -> bool:
        """Whether there is something for a model to read."""
        return bool(self.given)

    @property
    def reply_limit(self) -> int | None:
        """Tokens that the model may write. Its tokens are not the counter's, so it gets some more."""
        return None if self.budget is None else self.budget * 3 // 2 + 16

    def messages(self) -> list[Message]:
        """RECON's prompt: question apart from search query (appendix B.4)."""
        documents = "\n\n".join(
            f"[Doc {number}] {render.title_line(d)}{d.text}" for number, d in enumerate(self.given, 1)
        )
        # A word is a token and a third, more or less.
        length = "" if self.budget is None else f" in at most {max(5, self.budget * 2 // 3)} words"
        system = load_prompt("summary_system").render(aspect=self.aspect, explanation=ASPECTS[self.aspect])
        user = load_prompt("summary_user").render(
            question=self.question, query=self.query, documents=documents, length=length
        )
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    def written(self, reply: Reply, model: str, *, drop: bool) -> Summary:
        """The model's answer, checked; the extractive summary where nothing of it can be used."""
        self._lap("write")
        text = _LEAD_IN.sub("", without_thought(reply.text)).strip()
        if not text:
            return self.extractive(_failed("the model's answer is empty"))
        sources = Sources(self.documents, self._agreement)
        units = [(u.start, u.end) for u in split_units(text)]
        if reply.finish == "length" and len(units) > 1:
            units.pop()  # cut off in the middle
        support = [sources.support(text[start:end]) for start, end in units]
        kept = [i for i in range(len(units)) if support[i] or not drop]
        while kept and not self._fits(render.render_document(text, units, kept)[0]):
            kept.pop()
        self._lap("ground")
        if not kept:
            reason = (
                "no sentence of the model is supported" if not any(support) else "the model wrote too much"
            )
            return self.extractive(_failed(reason))
        body, _ = render.render_document(text, units, kept)
        sentences: list[SummarySentence] = []
        at = 0
        for i in kept:
            sentence = text[units[i][0] : units[i][1]]
            at = body.index(sentence, at)
            end = at + len(sentence)
            sentences.append(SummarySentence(at, end, support[i], sources.unknown(sentence)))
            at = end
        return Summary(
            text=body,
            sentences=tuple(sentences),
            backend="llm",
            reason=None,
            dropped=tuple(text[a:b] for i, (a, b) in enumerate(units) if i not in set(kept)),
            tokens_before=self._before(),
            tokens_after=self.compressor.count_tokens(body),
            model=model,
            usage=reply.usage,
            timings=self._timings(),
        )

    def extractive(self, reason: str | None) -> Summary:
        """The documents' own sentences, each its own support."""
        found = self.compressor.compress(self.query, self.documents, budget=self.budget)
        if found.status == "failed_open":
            reason = found.reason
            # Without scores a summary is the documents' beginning, in so far as there is a budget.
            in_order = Compressor(_InOrder(), token_counter=self.compressor.count_tokens)
            found = in_order.compress(self.query, self.documents, budget=self.budget)
        self._lap("extract")
        return Summary(
            text=found.text,
            sentences=tuple(_own(found)),
            backend="extractive",
            reason=reason,
            dropped=(),
            tokens_before=found.tokens_before,
            tokens_after=found.tokens_after,
            model=self.compressor.model,
            timings=self._timings(),
        )

    def _agreement(self, sentence: str, texts: Sequence[str]) -> list[float]:
        """The selector's probability that each text is needed for the sentence."""
        found = self.compressor.compress(sentence, texts)
        best = [0.0] * len(texts)
        for span in (*found.kept, *found.dropped):
            best[span.doc] = max(best[span.doc], span.score)
        return best

    def _fits(self, text: str) -> bool:
        return self.compressor.count_tokens(text) <= (self.budget or self._before())

    def _before(self) -> int:
        filled = (render.title_line(d) + d.text.strip() for d in self.documents if d.text.strip())
        return self.compressor.count_tokens(render.BETWEEN_DOCUMENTS.join(filled))

    def _lap(self, stage: str) -> None:
        now = perf_counter()
        self._laps[stage] = self._laps.get(stage, 0.0) + now - self._last
        self._last = now

    def _timings(self) -> dict[str, float]:
        return {**self._laps, "total": perf_counter() - self._started}


class _InOrder:
    """Scores that fall from the first sentence to the last."""

    threshold = 0.0
    length_price = 0.0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        """See `Scorer.score`."""
        counts = [len(d.units) for d in documents]
        falling = iter(np.linspace(1.0, 0.0, max(1, sum(counts))).tolist())
        return [DocumentScores(1.0, list(islice(falling, count))) for count in counts]


def _own(found: Compression) -> Iterable[SummarySentence]:
    """The kept spans of a compression, as sentences of its text."""
    pieces = iter(found.citations().entries)
    piece = next(pieces, None)
    for span in found.kept:
        while piece is not None and not (piece.doc == span.doc and piece.start <= span.start < piece.end):
            piece = next(pieces, None)
        if piece is None:
            return
        start = piece.text_start + span.start - piece.start
        support = Support(span.doc, span.start, span.end, 1.0)
        yield SummarySentence(start, start + span.end - span.start, (support,))


def _failed(cause: object) -> str:
    reason = f"extractive, because {cause}"
    logger.warning("summary: %s", reason)
    return reason
