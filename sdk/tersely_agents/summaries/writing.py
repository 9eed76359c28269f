"""Make one summary: write the prompt, check the model's reply, and quote the documents without a model."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, check_count, check_query, check_text, read_documents, show_value
from tersely.pack.render import BETWEEN_DOCUMENTS, render_ranges, title_line
from tersely.split.sentences import split_units
from tersely.telemetry import StageTimer
from tersely.types import Compression, Document
from tersely_agents.chat import Message, Reply
from tersely_agents.chat.protocol import remove_thoughts
from tersely_agents.prompts import load_prompt
from tersely_agents.summaries.grounding import Sources
from tersely_agents.summaries.types import ASPECTS, Aspect, Summary, SummarySentence, Support

Checks = Literal["flag", "drop", "drop mixed"]
"""Sentences without support are kept ("flag") or dropped.

"drop mixed" also drops a sentence that repeats another, and one with a name or a number that its main source
does not contain: a small model mixes up the attributes of two things, and shared words alone do not show it.
"""

_LEAD_IN = re.compile(r"\A(?:\*\*)?(?:support context|summary)(?:\*\*)?\s*:\s*(?:\*\*)?\s*", re.IGNORECASE)
logger = logging.getLogger("tersely")


@dataclass(frozen=True, slots=True)
class Request:
    """The checked arguments of one call of a summarizer."""

    compressor: Compressor
    query: str
    question: str
    aspect: Aspect
    budget: int | None
    documents: list[Document]
    """The caller's documents."""
    shown: list[Document]
    """The documents as the model sees them; empty if there is no text to show."""
    reason: str | None
    """The reason why nothing is shown although the documents have text."""
    timer: StageTimer

    @property
    def reply_limit(self) -> int | None:
        """Largest number of tokens of the model's reply. It is above the budget, since the model counts
        differently."""
        return None if self.budget is None else self.budget * 3 // 2 + 16

    def messages(self) -> list[Message]:
        """Return RECON's prompt for the documents shown."""
        return write_messages(self.question, self.query, self.shown, self.aspect, self.budget)

    def count_source_tokens(self) -> int:
        """Count the tokens of all documents with their titles."""
        parts = (title_line(d) + d.text.strip() for d in self.documents if d.text.strip())
        return self.compressor.count_tokens(BETWEEN_DOCUMENTS.join(parts))


def prepare(
    compressor: Compressor,
    query: str,
    docs: Iterable[DocumentLike],
    question: str | None,
    aspect: Aspect,
    budget: int | None,
    preselect: int | None,
) -> Request:
    """Check the arguments of `Summarizer.summarize`, and choose what the model sees if `preselect` is given.

    Raises:
        InvalidInputError: an argument cannot be used.
    """
    timer = StageTimer()
    query = check_query(query)
    question = query if question is None else check_query(question)
    if check_text(aspect, "aspect") not in ASPECTS:
        raise InvalidInputError(
            f"aspect is {show_value(aspect)}. Pass one of {', '.join(map(repr, ASPECTS))}."
        )
    budget = None if budget is None else check_count(budget, "budget", "tokens")
    documents = read_documents(docs)
    shown = documents if any(d.text.strip() for d in documents) else []
    reason = None
    if preselect is not None and shown:
        selection = compressor.compress(query, documents, budget=preselect)
        shown = [Document(d.text, d.title) for d in selection.documents]
        if not shown:
            reason = explain_fallback("no sentence fits into preselect")
        timer.lap("select")
    return Request(compressor, query, question, aspect, budget, documents, shown, reason, timer)


def write_messages(
    question: str, query: str, documents: Iterable[Document], aspect: Aspect, budget: int | None
) -> list[Message]:
    """Return RECON's prompt, which separates the question from the search query (appendix B.4). Summarizers
    are trained with it too."""
    texts = "\n\n".join(
        f"[Doc {number}] {title_line(document)}{document.text}"
        for number, document in enumerate(documents, 1)
    )
    # A word has about one and a third tokens.
    length = "" if budget is None else f" in at most {max(5, budget * 2 // 3)} words"
    system = load_prompt("summary_system").render(aspect=aspect, explanation=ASPECTS[aspect])
    user = load_prompt("summary_user").render(question=question, query=query, documents=texts, length=length)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def explain_fallback(cause: object) -> str:
    """Log why no model writes the summary. Returns the text for `Summary.reason`."""
    reason = f"extractive, because {cause}"
    logger.warning("summary: %s", reason)
    return reason


def extract_summary(request: Request, reason: str | None) -> Summary:
    """Quote the sentences that the query needs. `reason` says why no model wrote the summary."""
    compressor = request.compressor
    compression = compressor.compress(request.query, request.documents, budget=request.budget)
    if compression.status in ("failed_open", "degraded"):
        reason = compression.reason
    return Summary(
        text=compression.text,
        sentences=tuple(_list_sentences(compression)),
        backend="extractive",
        reason=reason,
        dropped=(),
        tokens_before=compression.tokens_before,
        tokens_after=compression.tokens_after,
        model=compressor.model,
        timings=request.timer.stop("extract"),
    )


def _list_sentences(compression: Compression) -> Iterable[SummarySentence]:
    """Yield the kept spans of a compression as sentences of its text, each its own support."""
    citations = iter(compression.citations().entries)
    citation = next(citations, None)
    for span in compression.kept:
        while citation is not None and not (
            citation.doc == span.doc and citation.start <= span.start < citation.end
        ):
            citation = next(citations, None)
        if citation is None:
            return
        start = citation.text_start + span.start - citation.start
        support = Support(span.doc, span.start, span.end, 1.0)
        yield SummarySentence(start, start + span.end - span.start, (support,))


def check_reply(request: Request, reply: Reply, model: str, *, checks: Checks) -> Summary:
    """Return the model's summary with the support of each sentence, or an extractive summary if the reply
    cannot be used."""
    request.timer.lap("write")
    text = _LEAD_IN.sub("", remove_thoughts(reply.text)).strip()
    if not text:
        return extract_summary(request, explain_fallback("the model's answer is empty"))
    sources = Sources(request.documents, partial(score_texts, request.compressor))
    ranges = [(unit.start, unit.end) for unit in split_units(text)]
    if reply.finish == "length" and len(ranges) > 1:
        ranges.pop()  # the last sentence was cut off
    written = [text[start:end] for start, end in ranges]
    checked = [sources.check(sentence) for sentence in written]
    support = [one.support for one in checked]
    kept = [i for i in range(len(written)) if support[i] or checks == "flag"]
    if checks == "drop mixed":
        kept = _drop_mixed(kept, written, support, request.documents)
    limit = request.budget or request.count_source_tokens()
    while kept and request.compressor.count_tokens(render_ranges(text, ranges, kept).text) > limit:
        kept.pop()
    request.timer.lap("ground")
    if not kept:
        cause = "no sentence of the model is supported" if not any(support) else "the model wrote too much"
        return extract_summary(request, explain_fallback(cause))
    body = render_ranges(text, ranges, kept).text
    sentences: list[SummarySentence] = []
    end = 0
    for i in kept:
        start = body.index(written[i], end)
        end = start + len(written[i])
        unknown = sources.find_unknown(written[i])
        sentences.append(SummarySentence(start, end, support[i], unknown, checked[i].altered))
    return Summary(
        text=body,
        sentences=tuple(sentences),
        backend="llm",
        reason=None,
        dropped=tuple(sentence for i, sentence in enumerate(written) if i not in kept),
        tokens_before=request.count_source_tokens(),
        tokens_after=request.compressor.count_tokens(body),
        model=model,
        usage=reply.usage,
        timings=request.timer.stop("ground"),
    )


def _drop_mixed(
    kept: Sequence[int],
    written: Sequence[str],
    support: Sequence[Sequence[Support]],
    documents: Sequence[Document],
) -> list[int]:
    """Drop sentences that repeat another, or have a name or number that is not in their main source."""
    main = {doc: Sources([documents[doc]]) for doc in {support[i][0].doc for i in kept}}
    seen: set[str] = set()
    unmixed: list[int] = []
    for i in kept:
        if written[i] not in seen and not main[support[i][0].doc].find_unknown(written[i]):
            unmixed.append(i)
        seen.add(written[i])
    return unmixed


def score_texts(compressor: Compressor, sentence: str, texts: Sequence[str]) -> list[float]:
    """Return the selector's best score in each text, with the sentence as the query."""
    compression = compressor.compress(sentence, texts)
    best = [0.0] * len(texts)
    for span in (*compression.kept, *compression.dropped):
        best[span.doc] = max(best[span.doc], span.score)
    return best
