"""Compress documents in four steps. Each step takes immutable values and returns new ones.

split     split/documents   documents become units; a unit too large for the limit may be cut into pieces
score     score/scoring     each unit gets a score, and each document a relevance
choose    pack/choose       the units that reach the threshold, or the best that fit a limit, rendered as text
receipt   pack/receipt      a reason for every unit
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, check_members, check_query, read_documents, read_requests
from tersely.options import CompressionArguments, CompressionOptions, make_options
from tersely.prepared import PreparedDocument, accept_prepared
from tersely.runtime.cancellation import current_time_limit, run_cancellable, time_limit
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.loading import find_thresholds, load_scorer
from tersely.score.protocol import Preparer, Reranker, ScoredInput, Scorer
from tersely.telemetry import StageTimer, watch_compression
from tersely.tokens import TokenCounter, count_each, count_tokens, resolve_counter
from tersely.types import COVERAGE, Compression, Document

if TYPE_CHECKING:
    from tersely.messages import CompressedMessages, Message

_STEPS = ("tersely.split.documents", "tersely.score.scoring", "tersely.pack.choose", "tersely.pack.receipt")
"""Modules that are imported when a compressor is made, so that `import tersely` stays fast."""


class Compressor:
    """A reusable compressor that keeps the sentences that a query needs. Threads may share it.

    Args:
        model: None for the bundled model, the folder of an exported one, a hub name "owner/name", or a
            `tersely.score.Scorer`.
        reranker: ranks the documents for `max_docs` and `order="rerank"`; see `tersely.rerank`. None for the
            model's own relevance.
        token_counter: counts tokens for limits and receipts: a `TokenCounter`, a function from text to
            int, the path of a tokenizer.json, or "tiktoken:o200k_base" and the like, for an encoding that is
            in tiktoken's cache. None for the built-in estimate. Several threads may call your own counter at
            once.
        threads: the largest number of threads for one call; None for every core this process may use.

    Raises:
        ArtifactError: the model is missing, damaged, or made for another version.
        OfflineError: a hub model was named while `TERSELY_OFFLINE=1`.
        InvalidInputError: an argument cannot be used.
    """

    def __init__(
        self,
        model: str | Path | Scorer | None = None,
        *,
        reranker: Reranker | None = None,
        token_counter: TokenCounter | Callable[[str], int] | str | Path | None = None,
        threads: int | None = None,
    ) -> None:
        if reranker is not None:
            remedy = "Pass an object with rank(), such as a reranker of tersely.rerank."
            check_members(reranker, ("rank",), "The reranker", remedy)
        self.token_counter = resolve_counter(token_counter)
        self._reranker = reranker
        self._workers = Workers(allowed_threads(threads))
        self._scorer, self.model = load_scorer(model, threads)
        for step in _STEPS:
            import_module(step)

    def compress(
        self, query: str | None, docs: Iterable[DocumentLike], **options: Unpack[CompressionArguments]
    ) -> Compression:
        """Keep the units that the query needs. Without a query, keep units that together cover as much as
        possible.

        With `budget` or `rate`, the best units fill the limit; with `recall` in addition, only units that
        reach its threshold compete, unless everything fits. Without a limit or a `level`, every unit that
        reaches the threshold is kept, except repeats, so the size varies and the text can be empty. The text
        is never longer than the input. See docs/options-and-results.md for more about options, statuses and
        reasons.

        Args:
            query: the question that the context should answer. If it is None, pass `budget`, `rate` or
                `level`; no model is used.
            docs: texts, `Document`s, mappings with the key "text", or documents from `prepare`.
            budget: the largest number of tokens of the text. Titles and separators count.
            rate: the same limit, as a share of the input's tokens in (0, 1].
            recall: the share of questions, in (0, 1), for which the text must keep the answer sentence, over
                many calls.
            abstain: return an empty text if the documents seem not to answer the query. The value is the
                share of answerable questions, in (0, 1), that still get a text, over many calls.
            level: how much detail to keep of each document, from 1 (at most 500 characters) to 5 (at most
                6,000; ZipRL, appendix J.2).
            max_docs: keep only this many documents, the most relevant.
            order: documents as given ("source", the default) or the most relevant first ("rerank").
            marks: the gaps that get a mark. "structure": gaps in lists, in units that were cut, and between
                two kept units, except where the gap and both units are whole sentences of running text
                without the number of a clause such as 1.12. "all": every gap.
            min_tokens: return documents unchanged if together they have fewer tokens than this, unless
                `abstain` is given or they exceed `budget`.
            timeout: seconds until the result is due. The model stops reading early enough to meet it.

        Returns:
            The compression. If the model fails, or `timeout` ends before everything was read, the status is
            "degraded" if there is a `budget`, a `rate` or no query; otherwise it is "failed_open". With a
            query, a warning is logged too.

        Raises:
            InvalidInputError: an argument cannot be used; the message says which and why.
        """
        with watch_compression() as record:
            timer = StageTimer()
            checked = make_options(options)
            if query is None:
                checked.check_without_query()
            else:
                check_query(query)
            preparation_name = getattr(self._scorer, "preparation_name", None)
            with time_limit(checked.timeout):
                documents, warnings = accept_prepared(read_documents(docs), preparation_name)
                result = self._compress(query, documents, checked, timer)
            result = replace(
                result,
                timings=timer.stop("pack"),
                warnings=(*warnings, *result.warnings),
                _request=(query, tuple((d.title or d.id, d.text) for d in documents)),
            )
            record(result)
        return result

    def _compress(
        self,
        query: str | None,
        documents: Sequence[Document],
        options: CompressionOptions,
        timer: StageTimer,
    ) -> Compression:
        # The constructor has already loaded these modules; see _STEPS.
        from tersely.pack.choose import choose
        from tersely.pack.receipt import keep_everything, write_receipt
        from tersely.score.scoring import score
        from tersely.split.documents import Bypass, split

        thresholds = find_thresholds(self._scorer, self.model, options)
        model = COVERAGE if query is None else self.model
        count = partial(count_tokens, self.token_counter)
        units = split(documents, options, partial(count_each, self.token_counter))
        # Keep time for matching, choosing and writing: about twice the time of splitting.
        current_time_limit().reserve(2 * timer.lap("split"))
        if units.bypass is not None:
            return keep_everything(units, units.bypass, model, thresholds)
        scored = score(query, units, options, self._scorer, self._reranker, thresholds)
        timer.lap("score")
        if isinstance(scored, Bypass):
            return keep_everything(units, scored, model, thresholds)
        selection = choose(units, scored, options, count)
        return write_receipt(units, scored, selection, model, thresholds)

    def prepare(self, docs: Iterable[DocumentLike]) -> list[PreparedDocument]:
        """Prepare documents before there is a question, so that `compress` takes less time.

        Store the bytes of `PreparedDocument.to_bytes()` with each document, and load them with `from_bytes`.

        Args:
            docs: texts, `Document`s, or mappings with the key "text".

        Returns:
            A prepared document for each document, in order. `compress` takes them in place of the documents,
            alone or mixed with others. Documents prepared with another model are read as if they were not
            prepared, and `Compression.warnings` says so.

        Raises:
            InvalidInputError: a document cannot be used, or the model cannot prepare documents.
        """
        from tersely.split.sentences import split_units

        documents, scorer = read_documents(docs), self._scorer
        if not isinstance(scorer, Preparer):
            raise InvalidInputError(
                f"{self.model} cannot prepare documents. Use the bundled model, or one that "
                "training exported."
            )
        inputs = [ScoredInput(d.title, d.text, split_units(d.text)) for d in documents]
        return [
            PreparedDocument(d.text, d.title, d.id, d.metadata, preparation=preparation)
            for d, preparation in zip(documents, scorer.prepare(inputs), strict=True)
        ]

    def compress_batch(
        self,
        requests: Iterable[tuple[str | None, Iterable[DocumentLike]]],
        **options: Unpack[CompressionArguments],
    ) -> list[Compression]:
        """Run `compress` for each (query, docs) in parallel, with the same options; results are in order."""
        # Each request runs in a copy of the caller's context, so that tracing and cancellation reach it.
        jobs = [(copy_context(), request) for request in read_requests(requests)]
        return self._workers.map(lambda job: job[0].run(self.compress, *job[1], **options), jobs)

    async def acompress(
        self, query: str | None, docs: Iterable[DocumentLike], **options: Unpack[CompressionArguments]
    ) -> Compression:
        """Run `compress` on a worker thread. If the task is cancelled, the bundled model stops soon after."""
        return await run_cancellable(self.compress, query, docs, **options)

    def compress_messages(
        self,
        messages: Sequence[Message],
        *,
        query: str | None = None,
        budget: int | None = None,
        rate: float | None = None,
        timeout: float | None = None,
    ) -> CompressedMessages:
        """Shorten the tool results of a chat; see `tersely.messages.compress_messages`."""
        from tersely.messages import compress_messages  # `import tersely` does not need it

        return compress_messages(self, messages, query=query, budget=budget, rate=rate, timeout=timeout)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text. Raises InvalidInputError if the counter gives no number."""
        return count_tokens(self.token_counter, text)
