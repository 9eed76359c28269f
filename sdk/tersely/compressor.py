"""The main path of a compression, in four steps over frozen values:

split     packing/splitting   documents become units; what alone exceeds a limit is cut into pieces
score     scoring             the model gives each unit a score, each document a relevance
choose    packing/choose      the units above the threshold, or the best that fit a limit
explain   packing/receipt     the text, and a receipt with a reason for every unit
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, check_count, check_query, read_documents, read_requests
from tersely.options import CompressionArguments, CompressionOptions, make_options
from tersely.pack.choose import choose
from tersely.pack.receipt import Facts, explain, keep_everything
from tersely.prepared import PreparedDocument, accept_prepared
from tersely.runtime.cancellation import (
    TimeIsUpError,
    TimeLimit,
    run_cancellable,
    run_in_time,
    time_limit,
)
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.loading import load_scorer, promised_threshold
from tersely.score.protocol import Preparer, ScoredInput, Scorer
from tersely.score.scoring import COVERAGE, ScoringError, score, score_by_coverage, score_by_matches
from tersely.split.sentences import split_units
from tersely.split.splitting import Scored, SplitDocuments, open_structure, split_documents
from tersely.telemetry import watch_compression
from tersely.timing import StageTimer
from tersely.tokens import TokenCounter, count_tokens, resolve_counter
from tersely.types import Compression, Document

if TYPE_CHECKING:
    from tersely.messages import CompressedMessages, Message
    from tersely.rerank.protocol import Reranker

logger = logging.getLogger("tersely")


class Compressor:
    """Keeps the sentences of documents that a query needs. Safe to share between threads.

    Args:
        model: None for the bundled model, the folder of an exported one, a hub name "owner/name", or a
            `tersely.score.Scorer`.
        reranker: ranks the documents for `max_docs` and `order="rerank"`; see `tersely.rerank`. None for the
            model's own relevance.
        token_counter: counts tokens for limits and receipts: a `TokenCounter`, a function from text to
            int, the path of a tokenizer.json, or the name of a tiktoken encoding that is already on this
            machine. None for the built-in estimate. Several threads may call it at once.
        threads: most threads that one call uses; None for every core this process may use.

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
        if threads is not None:
            threads = check_count(threads, "threads", "threads")
        if reranker is not None and not callable(getattr(reranker, "rank", None)):
            raise InvalidInputError(
                f"The reranker is a {type(reranker).__name__}. Pass an object with rank(), such as those of "
                "tersely.rerank."
            )
        self.token_counter = resolve_counter(token_counter)
        self._reranker = reranker
        self._workers = Workers(allowed_threads(threads))
        self._scorer, self.model = load_scorer(model, threads)

    def compress(
        self, query: str | None, docs: Iterable[DocumentLike], **options: Unpack[CompressionArguments]
    ) -> Compression:
        """Keep what the query needs; for None, what tells most about all of the documents.

        With `budget` or `rate` the best units fill the limit. With `recall` every unit above a calibrated
        threshold is kept, as far as a limit beside it allows. With none of them it is every unit above the
        model's own threshold, so the size adapts to the query and may be nothing at all. A sentence that
        repeats a kept one word for word is left out. The text is never longer than the input.

        Args:
            query: the question that the context should answer. None where it is not known: then the units
                that cover the documents' topics come first, names, numbers and errors before all, and without
                repetition. That needs no model, and needs `budget`, `rate` or a `level` from 1 to 5.
            docs: texts, `Document`s, mappings with the key "text", or what `prepare` gave.
            budget: most tokens of the text, by the compressor's counter; titles and separators included.
            rate: most tokens of the text, as a share of the input's, in (0, 1].
            recall: keep enough that the answer sentence survives in at least this share of questions, for
                questions like those of the model's calibration set, in (0, 1). `recall_met` of the result
                says whether `budget`, `rate`, `level` or `max_docs` stood in the way.
            level: how much detail to keep of each document, from 1 (at most 500 characters) to 5 (at most
                6,000; see `tersely_agents.levels`), or "auto": by the score of its best unit. Without a limit
                beside it, units below the threshold fill a document up to its level's lower bound.
            max_docs: keep only this many documents, the most relevant.
            order: documents as given ("source", the default) or the most relevant first ("rerank").
            marks: where marks stand for left-out text: "structure" (in lists, code and the like, and where
                two pieces could be read as one), or "all" (in prose too).
            mark: the words of a mark that counts what was left out, with "{count}" for the number.
            timeout: seconds after which the model stops reading, so that the result comes in time. Splitting
                and writing are never cut short; they take about seven seconds for a million words.

        Returns:
            The compression. If the model fails or its time is up, a warning is logged. With a limit the
            status is then "degraded": the best units by what the model had read, or by exact matches if that
            is nothing. Without one it is "failed_open": all documents.

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
            with time_limit(checked.timeout) as limit:
                name = getattr(self._scorer, "preparation_name", None)
                documents, warnings = accept_prepared(read_documents(docs), name)
                result = self._compress(query, documents, checked, timer, limit)
            result = replace(result, timings=timer.stop("pack"), warnings=(*warnings, *result.warnings))
            record(result)
        return result

    def _compress(
        self,
        query: str | None,
        documents: Sequence[Document],
        options: CompressionOptions,
        timer: StageTimer,
        limit: TimeLimit,
    ) -> Compression:
        promised = promised_threshold(self._scorer, self.model, options.recall)
        model = COVERAGE if query is None else self.model
        facts = Facts(model, self.count_tokens, promises_recall=promised is not None)
        source = split_documents(documents, options, self.count_tokens)
        # Matching, choosing and writing take about twice as long.
        limit.set_aside(2 * timer.lap("split"))
        if not source.documents_with_text:
            return keep_everything(source, facts, "bypassed", "there is no text in the documents")
        if source.fits(options):
            return keep_everything(source, facts, "unchanged", "the documents fit into the limit")
        source = open_structure(source, options, self.count_tokens)
        if query is None:
            covering = score_by_coverage(source, options, self.count_tokens)
            timer.lap("score")
            return explain(covering, choose(covering, options, None, 0.0, self.count_tokens), facts)
        scored, failure = self._score(query, source, options, limit)
        timer.lap("score")
        if failure is not None:
            logger.warning("%s; see the status of the result", failure)
            if not options.is_limited:
                return keep_everything(source, facts, "failed_open", failure)
        if scored is None:
            by_matches = score_by_matches(query, source, self.count_tokens)
            return explain(
                by_matches, choose(by_matches, options, None, 0.0, self.count_tokens), facts, failure
            )
        own_threshold = None if options.is_limited else self._scorer.threshold
        threshold = own_threshold if promised is None else promised
        choice = choose(scored, options, threshold, self._scorer.length_price, self.count_tokens)
        return explain(scored, choice, facts, failure)

    def _score(
        self, query: str, source: SplitDocuments, options: CompressionOptions, limit: TimeLimit
    ) -> tuple[Scored | None, str | None]:
        """What the model says, if it said anything; and what kept it from saying all, if anything did."""
        try:
            scored = run_in_time(
                lambda: score(self._scorer, self._reranker, query, source, options, self.count_tokens)
            )
        except (ScoringError, TimeIsUpError) as error:
            return None, str(error)
        if limit.was_reached:
            return (
                scored,
                f"the time limit of {options.timeout} s was up before the model had read everything",
            )
        return scored, None

    def prepare(self, docs: Iterable[DocumentLike]) -> list[PreparedDocument]:
        """Documents with what can be known of them before any question, so that `compress` takes less time.

        Store `PreparedDocument.to_bytes()` beside each document, and bring it back with `from_bytes`.

        Args:
            docs: texts, `Document`s, or mappings with the key "text".

        Returns:
            One for each document, in order. `compress` takes them in the place of the documents, alone or
            mixed with others. What was prepared with another model is not used, and `warnings` says so.

        Raises:
            InvalidInputError: a document cannot be used, or the model cannot prepare any.
        """
        documents, scorer = read_documents(docs), self._scorer
        if not isinstance(scorer, Preparer):
            raise InvalidInputError(f"{self.model} cannot prepare documents. Use an exported model.")
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
        """`compress` for each (query, docs), in parallel, with the same options and results, in order."""
        # Read at once: a generator may overwrite the documents of one request with those of the next.
        read = read_requests(requests)
        # Each in a copy of the caller's context, so that spans know their parent and a cancellation is heard.
        jobs = [(copy_context(), request) for request in read]
        return self._workers.map(lambda job: job[0].run(self.compress, *job[1], **options), jobs)

    async def acompress(
        self, query: str | None, docs: Iterable[DocumentLike], **options: Unpack[CompressionArguments]
    ) -> Compression:
        """`compress` on a worker thread. If the task is cancelled, the bundled model stops soon after."""
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
        """A chat transcript with shorter tool results. All other messages, roles, ids and calls stay.

        A shortened result begins with "[shortened]". If the model fails, the status of the receipt says what
        came of it, as with `compress`.

        Args:
            messages: in OpenAI's format.
            query: what the results are needed for. None for the user's last message; where there is none, for
                what tells most about each result, which needs a limit.
            budget: most tokens of all messages, by the compressor's counter, roles and calls included.
            rate: most tokens of them, as a share of before. With neither, the results keep what scores above
                the model's own threshold.
            timeout: as in `compress`.

        Raises:
            InvalidInputError: a message is malformed or out of place, or what is not a tool result takes more
                than the limit by itself.
        """
        from tersely.messages import compress_messages  # `import tersely` needs no chat models

        return compress_messages(self, messages, query=query, budget=budget, rate=rate, timeout=timeout)

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the compressor's counter. Raises InvalidInputError where that gives no
        number."""
        return count_tokens(self.token_counter, text)
