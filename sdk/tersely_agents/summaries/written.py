"""Summaries that a chat model writes, checked against the documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from tersely.compressor import Compressor
from tersely.pack.render import render_ranges
from tersely.split.sentences import split_units
from tersely.types import Document
from tersely_agents.chat.protocol import Reply, remove_thoughts
from tersely_agents.summaries.extractive import extract_summary
from tersely_agents.summaries.grounding import Sources
from tersely_agents.summaries.request import Request, explain_fallback
from tersely_agents.summaries.types import Summary, SummarySentence

Checks = Literal["flag", "drop", "drop mixed"]
"""Sentences without support are kept, or dropped. "drop mixed" also drops a sentence that repeats another,
and one with a name or a number that the document of its main source does not contain: a small model gives one
thing the attributes of another, and the words alone do not show it."""

_LEAD_IN = re.compile(r"\A(?:\*\*)?(?:support context|summary)(?:\*\*)?\s*:\s*(?:\*\*)?\s*", re.IGNORECASE)


def check_reply(request: Request, reply: Reply, model: str, *, checks: Checks) -> Summary:
    """The model's summary with the support of each sentence, or the extractive one if it cannot be used."""
    request.timer.lap("write")
    text = _LEAD_IN.sub("", remove_thoughts(reply.text)).strip()
    if not text:
        return extract_summary(request, explain_fallback("the model's answer is empty"))
    sources = Sources(
        request.documents, lambda sentence, texts: score_texts(request.compressor, sentence, texts)
    )
    ranges = [(unit.start, unit.end) for unit in split_units(text)]
    if reply.finish == "length" and len(ranges) > 1:
        ranges.pop()  # the last sentence was cut off
    support = [sources.find_support(text[start:end]) for start, end in ranges]
    unknown = [sources.find_unknown(text[start:end]) for start, end in ranges]
    kept = [i for i in range(len(ranges)) if support[i] or checks == "flag"]
    if checks == "drop mixed":
        supported = [(i, text[slice(*ranges[i])], support[i][0].doc) for i in kept]
        kept = _drop_mixed(supported, request.documents)
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
        sentence = text[ranges[i][0] : ranges[i][1]]
        start = body.index(sentence, end)
        end = start + len(sentence)
        sentences.append(SummarySentence(start, end, support[i], unknown[i]))
    return Summary(
        text=body,
        sentences=tuple(sentences),
        backend="llm",
        reason=None,
        dropped=tuple(text[start:end] for i, (start, end) in enumerate(ranges) if i not in set(kept)),
        tokens_before=request.count_source_tokens(),
        tokens_after=request.compressor.count_tokens(body),
        model=model,
        usage=reply.usage,
        timings=request.timer.stop("ground"),
    )


def _drop_mixed(supported: Sequence[tuple[int, str, int]], documents: Sequence[Document]) -> list[int]:
    """Of (number, sentence, its main source), the numbers of the sentences that repeat no other, and whose
    names and numbers all stand in that document."""
    alone = {doc: Sources([documents[doc]]) for doc in {doc for _, _, doc in supported}}
    said: set[str] = set()
    kept: list[int] = []
    for number, sentence, doc in supported:
        if sentence not in said and not alone[doc].find_unknown(sentence):
            kept.append(number)
        said.add(sentence)
    return kept


def score_texts(compressor: Compressor, sentence: str, texts: Sequence[str]) -> list[float]:
    """The selector's best score in each text, with the sentence as the query."""
    compression = compressor.compress(sentence, texts)
    best = [0.0] * len(texts)
    for span in (*compression.kept, *compression.dropped):
        best[span.doc] = max(best[span.doc], span.score)
    return best
