"""The main path of a compression, in four steps over immutable values.

split     split/documents   documents become units; a unit that alone exceeds a limit is cut into pieces
score     score/scoring     each unit gets a score, and each document a relevance
choose    pack/choose       the units above the threshold, or the best that fit a limit, rendered as text
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
from tersely.inputs import DocumentLike, check_count, check_query, read_documents, read_requests
from tersely.options import CompressionArguments, CompressionOptions, make_options
from tersely.prepared import PreparedDocument, accept_prepared
from tersely.runtime.cancellation import current_time_limit, run_cancellable, time_limit
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.loading import find_abstention, find_recall_threshold, load_scorer
from tersely.score.protocol import COVERAGE, Preparer, Reranker, ScoredInput, Scorer
from tersely.telemetry import watch_compression
from tersely.timing import StageTimer
from tersely.tokens import TokenCounter, count_tokens, resolve_counter
from tersely.types import Compression, Document

if TYPE_CHECKING:
    from tersely.messages import CompressedMessages, Message

_STEPS = ("tersely.split.documents", "tersely.score.scoring", "tersely.pack.choose", "tersely.pack.receipt")
"""Modules that a compressor imports when it is made, because `import tersely` must not wait for them."""


class Compressor:
    """Reusable compressor that keeps the sentences a query needs. Safe to share between threads.

    Args:
        model: None for the bundled model, the folder of an exported one, a hub name "owner/name", or a
            `tersely.score.Scorer`.
        reranker: ranks the documents for `max_docs` and `order="rerank"`; see `tersely.rerank`. None for the
            model's own relevance.
        token_counter: counts tokens for limits and receipts: a `TokenCounter`, a function from text to
            int, the path of a tokenizer.json, or the name of a tiktoken encoding that is already on this
            machine. None for the built-in estimate. Several threads may call it at once.
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
        if threads is not None:
            threads = check_count(threads, "threads", "threads")
        if reranker is not None and not callable(getattr(reranker, "rank", None)):
            raise InvalidInputError(
                f"The reranker is a {type(reranker).__name__}. Pass an object with rank(), such as those of "
                "tersely.rerank."
            )
        self.token_counter = resolve_counter(token_counter)
        self._count = partial(count_tokens, self.token_counter)
        self._reranker = reranker
        self._workers = Workers(allowed_threads(threads))
        self._scorer, self.model = load_scorer(model, threads)
        for step in _STEPS:
            import_module(step)

    def compress(
        self, query: str | None, docs: Iterable[DocumentLike], **options: Unpack[CompressionArguments]
    ) -> Compression:
        """Keep what the query needs or, without a query, what covers as much of the documents as possible.

        With `budget` or `rate` the best units fill the limit. With `recall` every unit that reaches a
        calibrated threshold is kept, unless a limit prevents it. With none of them every unit that reaches
        the model's own threshold is kept, so the size varies and the text can be empty. A sentence that
        repeats a kept one word for word is left out, unless it is very short. The text is never longer than
        the input.

        Args:
            query: the question that the context should answer. If it is None, `budget`, `rate` or `level` is
                needed. The kept units then cover as much of the documents' topics as possible, above all
                names, numbers and errors. No model is used.
            docs: texts, `Document`s, mappings with the key "text", or what `prepare` returned.
            budget: the largest number of tokens that the text may have, by the compressor's counter. Titles
                and separators count.
            rate: the same limit, as a share of the input's tokens in (0, 1].
            recall: the share of questions, in (0, 1), whose answer sentence must survive. The promise holds
                for questions like those of the model's calibration set. `recall_met` in the result says
                whether it holds: it is false if `budget`, `rate`, `level` or `max_docs` may have broken it.
            abstain: the share of answerable questions, in (0, 1), that must not be refused. If the documents
                seem not to answer the query, the status is "abstained" and the text empty. `refused` in the
                result is the share of unanswerable questions that are refused. Both shares hold for questions
                like those of the model's calibration set; see `calibrated`.
            level: how much detail to keep of each document, from 1 (at most 500 characters) to 5 (at most
                6,000; ZipRL, appendix J.2). Each level also has a smallest size. A document that would be
                smaller gets units below the threshold too, unless `budget` or `rate` is given.
            max_docs: keep only this many documents, the most relevant.
            order: documents as given ("source", the default) or the most relevant first ("rerank").
            marks: where marks replace left-out text: "structure" (everywhere except between sentences of
                running text), or "all" (also between those).
            min_tokens: if all documents together have fewer tokens, return them unchanged, with the status
                "bypassed", unless they exceed `budget`. Short inputs are not worth the time.
            timeout: seconds until the result is due. The model stops reading early enough to meet it. If even
                splitting a document takes too long, only its beginning is used. The rest is dropped as
                "unread".

        Returns:
            The compression. If the model fails or its time is up, a warning is logged. With a limit the
            status is then "degraded": units are ranked by the scores of what the model had read in time, or
            by exact matches if it had read nothing. Without a limit the status is "failed_open", and all
            documents are returned.

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
            name = getattr(self._scorer, "preparation_name", None)
            with time_limit(checked.timeout):
                documents, warnings = accept_prepared(read_documents(docs), name)
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
        # The steps are imported late, see _STEPS.
        from tersely.pack.choose import choose
        from tersely.pack.receipt import keep_everything, write_abstention, write_receipt
        from tersely.score.scoring import ScoringError, score
        from tersely.split.documents import split

        recall_threshold = find_recall_threshold(self._scorer, self.model, options.recall)
        name = COVERAGE if query is None else self.model
        promises_recall = recall_threshold is not None
        abstention = find_abstention(self._scorer, self.model, options.abstain)
        units = split(documents, options, self._count)
        # Keep time for matching, choosing and writing: about twice the time of splitting.
        current_time_limit().reserve(2 * timer.lap("split"))
        if units.bypass is not None:
            return keep_everything(units, *units.bypass, name, promises_recall=promises_recall)
        try:
            scored = score(query, units, options, self._scorer, self._reranker, recall_threshold)
        except ScoringError as error:
            return keep_everything(units, "failed_open", str(error), name, promises_recall=promises_recall)
        finally:
            timer.lap("score")
        judgement = scored.scores.judgement
        why = None if abstention is None or judgement is None else abstention.refuse(judgement)
        if why is None:
            selection = choose(units, scored, options, self._count)
            result = write_receipt(units, scored, selection, name, promises_recall=promises_recall)
        else:
            result = write_abstention(units, scored, why, name, promises_recall=promises_recall)
        if judgement is None:
            return result
        return replace(
            result,
            answerable=judgement.answerable,
            distance=judgement.distance,
            calibrated=judgement.is_calibrated if abstention is None else judgement.can_abstain,
            refused=None if abstention is None else abstention.refused,
        )

    def prepare(self, docs: Iterable[DocumentLike]) -> list[PreparedDocument]:
        """Prepare documents before any question, so that `compress` takes less time.

        Store the bytes of `PreparedDocument.to_bytes()` with each document, and load them with `from_bytes`.

        Args:
            docs: texts, `Document`s, or mappings with the key "text".

        Returns:
            A prepared document for each document, in order. `compress` takes them in place of the documents,
            alone or mixed with others. Documents prepared with another model are read as if they were not
            prepared, and `warnings` says so.

        Raises:
            InvalidInputError: a document cannot be used, or the model cannot prepare any.
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
        # Read all requests first: a generator may overwrite the documents of one request with the next ones.
        read = read_requests(requests)
        # Each request runs in a copy of the caller's context, so that tracing and cancellation reach it.
        jobs = [(copy_context(), request) for request in read]
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
        return self._count(text)
