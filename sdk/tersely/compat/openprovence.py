"""The `process` method of OpenProvence and Provence, with tersely inside."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from tersely.compat.arguments import check_texts, refuse
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import check_count
from tersely.packing.render import render_ranges
from tersely.types import Compression, Document, Span

FIRST_SENTENCE = "first_sentence"
_CALL_DEFAULTS: MappingProxyType[str, Any] = MappingProxyType(
    {
        "sentence_splitter": None,
        "use_best_reranker_score": True,
        "strip_sentences": False,
        "torch_dataloader_kwargs": None,
    }
)
_WITHOUT_EFFECT = (
    "batch_size",
    "debug_messages",
    "enable_warnings",
    "language",
    "preprocess_batch_size",
    "preprocess_workers",
    "show_inference_progress",
    "show_progress",
)
"""Arguments about speed, messages, and the language of a splitter; tersely's works for all. Any value is
taken."""

Titles = str | Sequence[str] | Sequence[Sequence[str]] | None
Shaped = list[list[Any]] | list[Any] | Any
"""A value for a text, a list for texts, or a list of lists for several questions."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """The result for one text. The fields have the names of the keys that `process` returns."""

    pruned_context: str
    reranking_score: float | None
    compression_rate: float
    title: str | None
    kept_sentences: list[str]
    removed_sentences: list[str]
    sentence_probabilities: list[float]


class OpenProvenceModel:
    """A pruner with OpenProvence's method `process`.

    Args:
        compressor: None for one with the bundled model.
    """

    def __init__(self, compressor: Compressor | None = None) -> None:
        self._compressor = compressor or Compressor()

    @classmethod
    def from_pretrained(cls, name_or_path: str | Path | None = None, **others: Any) -> OpenProvenceModel:
        """A pruner with a model of tersely; None for the bundled one. Models of OpenProvence cannot be used.

        Raises:
            InvalidInputError: an argument has no meaning here, such as a device.
        """
        defaults = {"device": None, "trust_remote_code": True, "max_length": None, "torch_dtype": None}
        refuse("from_pretrained", others, defaults)
        return cls(Compressor(name_or_path))

    def process(
        self,
        question: str | Sequence[str],
        context: str | Sequence[str] | Sequence[Sequence[str]],
        title: Titles = FIRST_SENTENCE,
        first_line_as_title: bool = False,
        *,
        threshold: float | None = None,
        always_select_title: bool = False,
        reorder: bool = False,
        top_k: int | None = None,
        zero_score_when_empty: bool = True,
        respect_sentence_boundaries: bool = True,
        return_sentence_metrics: bool = False,
        return_sentence_texts: bool = False,
        **others: Any,
    ) -> dict[str, Any]:
        """Drop the sentences that the question does not need.

        Args:
            question: one, or several.
            context: a text or a list of texts for one question; for each of several, a text or a list.
            title: "first_sentence" or None for no title, a title for all texts, or lists shaped as `context`.
                The model reads the title, but the result does not contain it.
            first_line_as_title: use the first line of every text as its title, and remove it from the text.
            threshold: keep sentences with a higher score than this; None for the model's own threshold.
            always_select_title: if the first sentence is the title, keep it whenever anything is kept.
            reorder: return the most relevant texts first.
            top_k: with `reorder`, return only this many texts.
            zero_score_when_empty: give a text of which nothing is kept the score 0.
            respect_sentence_boundaries: accepted; tersely always keeps whole sentences.
            return_sentence_metrics: whether to return "sentence_probabilities".
            return_sentence_texts: whether to return "kept_sentences" and "removed_sentences".
            others: OpenProvence's other arguments, with their default values. Its options for speed,
                language, progress and warnings may have any value and have no effect.

        Returns:
            "pruned_context", "reranking_score" (in [0, 1]; None if the model failed, so that the text is
            whole), "compression_rate" (percent of characters removed) and "title", shaped as `context`: a
            value for a text, a list for texts, a list of lists for lists. "timing" contains "total_seconds".

        Raises:
            InvalidInputError: questions and texts do not match, or an argument has no meaning here.
        """
        started = time.perf_counter()
        refuse("process", {k: v for k, v in others.items() if k not in _WITHOUT_EFFECT}, _CALL_DEFAULTS)
        has_titles = title is not None and title != FIRST_SENTENCE
        if has_titles and first_line_as_title:
            raise InvalidInputError("Both first_line_as_title and a title of yours are given. Pass one.")
        _check_threshold(threshold)
        if top_k is not None:
            top_k = check_count(top_k, "top_k", "texts")
        keep_first = always_select_title and title == FIRST_SENTENCE and not first_line_as_title
        questions = [question] if isinstance(question, str) else check_texts(question, "question")
        if not questions:
            raise InvalidInputError("There is no question. Pass one, or several.")
        groups = _group_texts(questions, context)
        titles = _match_titles(title if has_titles else None, groups)
        rows: list[list[Pruned]] = []
        for one, texts, own in zip(questions, groups, titles, strict=True):
            documents = [
                _read_document(text, head, first_line_as_title) for text, head in zip(texts, own, strict=True)
            ]
            compression = self._compressor.compress(one, documents)
            row = [
                _prune(compression, doc, document, threshold, keep_first, zero_score_when_empty)
                for doc, document in enumerate(documents)
            ]
            rows.append(_reorder(row, top_k) if reorder else row)
        names = ["pruned_context", "reranking_score", "compression_rate", "title"]
        names += ["kept_sentences", "removed_sentences"] if return_sentence_texts else []
        names += ["sentence_probabilities"] if return_sentence_metrics else []
        result: dict[str, Any] = {
            name: _shape([[getattr(pruned, name) for pruned in row] for row in rows], len(questions), context)
            for name in names
        }
        return {**result, "timing": {"total_seconds": time.perf_counter() - started}}


def _check_threshold(threshold: object) -> None:
    if threshold is not None and not (isinstance(threshold, Real) and 0 <= float(threshold) <= 1):
        raise InvalidInputError(
            f"threshold is {threshold!r}. Pass a probability, or None for the model's own."
        )


def _group_texts(questions: Sequence[str], context: object) -> list[list[str]]:
    """The texts of each question."""
    if isinstance(context, str):
        groups: list[object] = [[context]]
    elif len(questions) == 1:
        groups = [context]
    elif isinstance(context, Sequence):
        groups = list(cast("Sequence[object]", context))
    else:
        raise InvalidInputError("The context is not a list. Pass a list of texts for each question.")
    if len(groups) != len(questions):
        raise InvalidInputError(
            f"There are {len(questions)} questions and {len(groups)} lists of texts. Pass a list for each."
        )
    pairs = len(questions) > 1 and all(isinstance(group, str) for group in groups)
    return [[cast("str", group)] if pairs else check_texts(group, "A context") for group in groups]


def _match_titles(title: Titles, groups: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The title of each text. If a list is too short, the last texts have none."""
    if title is None or isinstance(title, str):
        return [[title] * len(group) for group in groups]
    if not isinstance(cast("object", title), Sequence):
        raise InvalidInputError(f"The title is a {type(title).__name__}. Pass text, or a list of texts.")
    given: list[object] = [title] if len(groups) == 1 else list(title)
    if len(given) != len(groups):
        raise InvalidInputError(
            f"There are {len(groups)} questions and {len(given)} titles. Pass one or a list for each."
        )
    matched: list[list[str | None]] = []
    for own, group in zip(given, groups, strict=True):
        titles = [own] * len(group) if isinstance(own, str) else list(cast("Sequence[object]", own))
        if not all(isinstance(one, str | None) for one in titles):
            raise InvalidInputError("A title is not text. Pass texts, or lists of them.")
        matched.append([*cast("list[str | None]", titles), *([None] * len(group))][: len(group)])
    return matched


def _read_document(text: str, title: str | None, first_line_as_title: bool) -> Document:
    if first_line_as_title and title is None:
        head, _, body = text.lstrip().partition("\n")
        return Document(body, head.strip() or None)
    return Document(text, title)


def _prune(
    compression: Compression,
    doc: int,
    document: Document,
    threshold: float | None,
    keep_first: bool,
    zero_score_when_empty: bool,
) -> Pruned:
    """The result for document `doc` of a compression."""
    spans = [span for span in (*compression.kept, *compression.dropped) if span.doc == doc]
    spans.sort(key=lambda span: span.start)
    has_failed = compression.status == "failed_open"
    kept = [i for i, span in enumerate(spans) if has_failed or _is_kept(span, threshold)]
    if kept and kept[0] and keep_first:
        kept.insert(0, 0)
    ranges = [(span.start, span.end) for span in spans]
    text = document.text if has_failed else render_ranges(document.text, ranges, kept).text
    texts = [document.text[start:end] for start, end in ranges]
    score = None if has_failed else max((span.score for span in spans), default=0.0)
    return Pruned(
        pruned_context=text,
        reranking_score=0.0 if zero_score_when_empty and not text and score is not None else score,
        compression_rate=100 * (1 - len(text) / max(1, len(document.text))) if document.text else 0.0,
        title=document.title,
        kept_sentences=[texts[i] for i in kept],
        removed_sentences=[texts[i] for i in sorted(set(range(len(texts))).difference(kept))],
        sentence_probabilities=[span.score for span in spans],
    )


def _is_kept(span: Span, threshold: float | None) -> bool:
    if threshold is not None:
        return span.score > threshold
    # Each text stands alone here, so a sentence stays even if another text repeats it.
    return span.reason in ("score", "unchanged", "duplicate")


def _reorder(row: Sequence[Pruned], top_k: int | None) -> list[Pruned]:
    return sorted(row, key=lambda pruned: -(pruned.reranking_score or 0.0))[:top_k]


def _shape(values: list[list[Any]], questions: int, context: object) -> Shaped:
    if questions > 1:
        return [row[0] for row in values] if isinstance(cast("Sequence[object]", context)[0], str) else values
    return values[0][0] if isinstance(context, str) else values[0]
