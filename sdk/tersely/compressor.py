"""The main path: documents -> units -> scores -> choice -> text with a receipt.

    inputs               the caller's documents and options, checked
    text/sentences       every document becomes units: sentences, and structure that stays whole
    rerank               only with a reranker of the caller's: which documents are worth reading
    selector/selector    one probability per unit and per document, for this query
    selector/packing     those above the threshold, or the best that a hard limit has room for, none of them
                         twice (selector/redundancy)
    render               byte-exact pieces, in source order, and where each of them comes from

`job` holds the state of one call on that way.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tersely import inputs
from tersely.errors import InvalidInputError
from tersely.inputs import Detail, DocumentLike, Order
from tersely.levels import LEVELS, level_of
from tersely.packing.job import Clock, Job, Scores
from tersely.text.tokens import TokenCounter, encodable, resolve_counter
from tersely.types import Compression

if TYPE_CHECKING:
    from tersely.chat.compression import CompressedMessages
    from tersely.chat.protocol import Message
    from tersely.rerank.protocol import Reranker
    from tersely.selector.calibration import Calibration
    from tersely.selector.selector import DocumentScores, ScoredInput

logger = logging.getLogger("tersely")


class Scorer(Protocol):
    """What a compressor needs of a model. `tersely.selector.selector.Selector` is the one that ships.

    One that also has an attribute `calibration` (`tersely.selector.calibration.Calibration`) can be asked for
    a `recall`.
    """

    threshold: float
    """Units scored at least this much are kept when the caller gives no limit."""
    length_price: float
    """Under a limit, units are taken in the order of score / tokens ** length_price: 0 for scores that only
    rank, up to 1 for probabilities, where it packs the most expected hits into the limit."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> Sequence[DocumentScores]:
        """Scores for each document, one per unit. Called from several threads at once."""
        ...


class Compressor:
    """Keeps the sentences of documents that a query needs. Safe to share between threads.

    Args:
        model: None for the bundled model, the folder of an exported one, a hub name "owner/name", or a
            `Scorer`.
        reranker: ranks the documents instead of the model's own relevance, for `max_docs` and
            `order="rerank"`; see `tersely.rerank`. None for the model's own.
        token_counter: counts tokens for budgets and receipts: a `TokenCounter`, a function from text to
            int, the path of a tokenizer.json, or the name of a tiktoken encoding that is already on this
            machine. None for the bundled estimate. It must be safe to call from several threads.
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
            threads = inputs.check_count(threads, "threads", "threads")
        self.token_counter = resolve_counter(token_counter)
        if reranker is not None and not callable(getattr(reranker, "rank", None)):
            raise InvalidInputError(
                f"The reranker is a {type(reranker).__name__}. Pass an object with rank(), such as those of "
                "tersely.rerank."
            )
        # Imported here: `import tersely` needs not wait for numpy.
        from tersely.runtime.session import Workers, allowed_threads

        self._reranker = reranker
        self._requests = Workers(allowed_threads(threads))
        self._scorer, self.model = _load(model, threads)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path,
        *,
        reranker: Reranker | None = None,
        token_counter: TokenCounter | Callable[[str], int] | str | Path | None = None,
        threads: int | None = None,
    ) -> Compressor:
        """A compressor for an exported model: its folder, or its hub name "owner/name"."""
        return cls(name_or_path, reranker=reranker, token_counter=token_counter, threads=threads)

    def compress(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        budget: int | None = None,
        rate: float | None = None,
        recall: float | None = None,
        level: Detail | None = None,
        max_docs: int | None = None,
        order: Order = "source",
    ) -> Compression:
        """Keep what the query needs.

        With `budget` or `rate` the best units fill the limit. With `recall` every unit above the threshold
        that was calibrated for it is kept, as far as `budget`, `rate` and `max_docs` beside it allow. With
        none of them it is the model's own threshold, so the size adapts to the query and may be nothing at
        all. A sentence that says what a chosen one of another document says, word for word, is left out. The
        result is never larger than the input, in tokens as in characters.

        Args:
            query: the question that the context should answer.
            docs: texts, `Document`s, or mappings with the key "text".
            budget: most tokens of the text, by the compressor's counter; titles and separators included.
            rate: most tokens of the text, as a share of the input's, in (0, 1].
            recall: keep enough that the answer sentence survives in at least this share of questions, for
                questions like those of the model's calibration set, in (0, 1). `recall_met` of the result
                says whether `budget`, `rate`, `level` or `max_docs` stood in the way.
            level: how much detail to keep of each document, from 1 (at most 500 characters) to 5 (at most
                6,000; see `tersely.levels`), or "auto": by how likely its best sentence is needed. Without a
                limit beside it, sentences below the threshold fill a document up to its level's least.
            max_docs: keep only this many documents, the most relevant.
            order: documents as given ("source") or the most relevant first ("rerank").

        Returns:
            The compression. If the model fails, everything comes back with status "failed_open", the
            reason, and a logged warning: then, and only then, `budget`, `rate` and `max_docs` are not
            enforced.

        Raises:
            InvalidInputError: an argument cannot be used; the message says which and why.
        """
        clock = Clock()
        query = inputs.check_query(query)
        tokens, share = inputs.check_budget(budget, rate)
        dial = self._dial(inputs.check_recall(recall))
        if max_docs is not None:
            max_docs = inputs.check_count(max_docs, "max_docs", "documents")
        order = inputs.check_order(order)
        detail = inputs.check_level(level)
        job = Job(
            inputs.read_documents(docs), self.count_tokens, self.model, clock, promised=dial is not None
        )
        if not job.filled:
            return job.everything("bypassed", "there is no text in the documents")

        limited = tokens is not None or share is not None
        limit = inputs.limit_of(job.tokens_before, tokens, share)
        crowded = max_docs is not None and max_docs < job.filled
        roomy = limit == job.tokens_before and not crowded and detail is None
        if limited and roomy and order == "source":
            return job.everything("unchanged", "the documents fit into the limit")
        levels = None if detail is None or detail == "auto" else [LEVELS[detail - 1]] * len(job.documents)
        if levels:
            job.cut_to(levels)
        if limited:
            job.prepare(limit)
        try:
            scores = self._score(query, job, max_docs, order)
            if detail == "auto":
                levels = [level_of(s.units) for s in scores]
                if job.cut_to(levels):
                    if limited:
                        job.prepare(limit)
                    scores = self._score(query, job, max_docs, order)
        except BaseException as error:
            if not _is_failure(error):
                raise
            reason = f"{type(error).__name__}: {error}"
            logger.warning("scoring failed, so the documents are passed on uncompressed: %s", reason)
            return job.everything("failed_open", reason)
        clock.lap("score")
        threshold = None if limited else self._scorer.threshold
        if dial is not None:
            threshold = dial
        return job.choose(
            scores,
            limit,
            threshold=threshold,
            length_price=self._scorer.length_price,
            max_docs=max_docs,
            order=order,
            levels=levels,
        )

    def compress_batch(
        self,
        requests: Iterable[tuple[str, Iterable[DocumentLike]]],
        *,
        budget: int | None = None,
        rate: float | None = None,
        recall: float | None = None,
        level: Detail | None = None,
        max_docs: int | None = None,
        order: Order = "source",
    ) -> list[Compression]:
        """`compress` for each (query, docs), with the same options and the same results, in order.

        Requests run side by side, so that no core waits for a request of one or two documents.
        """
        options: dict[str, Any] = {
            "budget": budget,
            "rate": rate,
            "recall": recall,
            "level": level,
            "max_docs": max_docs,
            "order": order,
        }
        # At once, because those of a generator may be gone when the next request is asked for.
        given = [(query, inputs.read_documents(docs)) for query, docs in requests]

        def run(number: int) -> Compression:
            return self.compress(*given[number], **options)

        return self._requests.map(run, range(len(given)))

    async def acompress(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        budget: int | None = None,
        rate: float | None = None,
        recall: float | None = None,
        level: Detail | None = None,
        max_docs: int | None = None,
        order: Order = "source",
    ) -> Compression:
        """`compress` on a worker thread, so that the event loop stays free."""
        # Imported here, because it is half of the time that `import tersely` takes; whoever awaits has it.
        import asyncio

        return await asyncio.to_thread(
            self.compress,
            query,
            docs,
            budget=budget,
            rate=rate,
            recall=recall,
            level=level,
            max_docs=max_docs,
            order=order,
        )

    def compress_messages(
        self,
        messages: Sequence[Message],
        *,
        query: str | None = None,
        budget: int | None = None,
        rate: float | None = None,
    ) -> CompressedMessages:
        """A chat transcript with shorter tool results; all other messages, roles, ids and calls stay.

        The results compete for the room with each other: what the query needs stays, wherever it came from.
        One that is not whole begins with "[shortened]". If the model fails, everything comes back, over the
        limit as it may be, and the receipt says "failed_open".

        Args:
            messages: in OpenAI's format.
            query: what the results are needed for. None for the last message of the user's.
            budget: most tokens of all messages, by the compressor's counter, with what roles and calls add.
            rate: most tokens of them, as a share of before. With neither, the results keep what scores above
                the model's own threshold.

        Raises:
            InvalidInputError: a message is malformed or out of place, or what is not a tool result takes more
                than the limit by itself.
        """
        # Imported here: `import tersely` needs nothing of chats.
        from tersely.chat.compression import compress_messages

        return compress_messages(self, messages, query=query, budget=budget, rate=rate)

    def _dial(self, recall: float | None) -> float | None:
        """The threshold that keeps the promise; None where nothing is promised."""
        if recall is None:
            return None
        calibration: Calibration | None = getattr(self._scorer, "calibration", None)
        if calibration is None:
            raise InvalidInputError(
                f"{self.model} has no calibration, which recall needs. Make one with `tersely calibrate`, or "
                "pass budget or rate."
            )
        try:
            return calibration.threshold(recall)
        except ValueError as error:
            raise InvalidInputError(
                f"recall is {recall}, but {error}. Lower it, or calibrate on more questions."
            ) from error

    def _score(self, query: str, job: Job, max_docs: int | None, order: Order) -> list[Scores]:
        """Scores for each document; raises what model and reranker raise, and ValueError for scores that are
        none."""
        from tersely.selector.selector import ScoredInput

        # Where documents are neither chosen nor sorted by it, a reranker would only cost time.
        relevance = self._relevance(query, job) if max_docs is not None or order == "rerank" else None
        read = list(range(len(job.documents)))
        if relevance is not None and max_docs is not None:
            # What the reranker ranks lower is dropped whatever its sentences score, so it is not read.
            read = sorted(sorted(filter(job.units.__getitem__, read), key=lambda i: -relevance[i])[:max_docs])
        given = [ScoredInput(job.documents[i].title, job.documents[i].text, job.units[i]) for i in read]
        found = [_plain(s) for s in self._scorer.score(query, given)]
        counts = [len(d.units) for d in given]
        if [len(s.units) for s in found] != counts or [len(s.worth) for s in found] != counts:
            raise ValueError("the model did not give one score per unit")
        scores = [Scores.unscored(len(units)) for units in job.units]
        for i, scored in zip(read, found, strict=True):
            scores[i] = scored
        if relevance is not None:
            scores = [replace(s, relevance=own) for own, s in zip(relevance, scores, strict=True)]
        if not all(math.isfinite(x) for s in scores for x in (s.relevance, *s.units, *s.worth)):
            raise ValueError("the model or the reranker gave scores that are not numbers")
        return scores

    def _relevance(self, query: str, job: Job) -> list[float] | None:
        """The reranker's score of every document; None without a reranker."""
        if self._reranker is None:
            return None
        filled = [doc for doc, units in enumerate(job.units) if units]
        found = [float(x) for x in self._reranker.rank(query, [job.documents[doc] for doc in filled])]
        if len(found) != len(filled):
            raise ValueError("the reranker did not give one score per document")
        known = dict(zip(filled, found, strict=True))
        return [known.get(doc, 0.0) for doc in range(len(job.documents))]

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the compressor's counter. Raises InvalidInputError where that gives no
        number."""
        if not text:
            return 0
        count: object = self.token_counter.count(encodable(text))
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
            raise InvalidInputError(
                f"token_counter returned {count!r}. It has to return a whole number of tokens."
            )
        return int(count)


def _plain(scored: DocumentScores) -> Scores:
    units = [float(x) for x in scored.scores]
    worth = units if scored.worth is None else [float(x) for x in scored.worth]
    unread = () if scored.read is None else (i for i, read in enumerate(scored.read) if not read)
    return Scores(scored.relevance, units, worth, frozenset(unread))


def _is_failure(error: BaseException) -> bool:
    """Whether the engine failed, as opposed to the caller stopping it. A panic in Rust is no `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _load(model: str | Path | Scorer | None, threads: int | None) -> tuple[Scorer, str]:
    """The scorer, and the name that receipts give it."""
    if isinstance(model, str | Path | None):
        # Imported here: `import tersely` needs neither numpy nor tokenizers.
        from tersely.runtime.artifacts import load_artifact
        from tersely.selector.selector import Selector

        artifact = load_artifact(model)
        return Selector.load(artifact, threads), f"{artifact.name}@{artifact.fingerprint}"
    if not callable(getattr(model, "score", None)) or not hasattr(model, "threshold"):
        raise InvalidInputError(
            f"The model is a {type(model).__name__}. Pass a folder, a hub name, or an object with score() "
            "and threshold."
        )
    return model, type(model).__name__
