"""The `process` of OpenProvence and Provence, with tersely inside."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

from tersely import inputs
from tersely.compat.arguments import check_texts, refuse
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.packing import render
from tersely.types import Compression, Document, Span

FIRST_SENTENCE = "first_sentence"
_CALL: MappingProxyType[str, Any] = MappingProxyType(
    {
        "batch_size": 32,
        "sentence_splitter": None,
        "language": None,
        "use_best_reranker_score": True,
        "strip_sentences": False,
        "preprocess_workers": None,
        "preprocess_batch_size": None,
        "torch_dataloader_kwargs": None,
    }
)
_NEVER_SHOWN = ("show_progress", "show_inference_progress", "debug_messages", "enable_warnings")

Titles = str | Sequence[str] | Sequence[Sequence[str]] | None
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pruned:
    """One document. The fields have the names that `process` gives them."""

    pruned_context: str
    reranking_score: float | None
    compression_rate: float
    title: str | None
    kept_sentences: list[str]
    removed_sentences: list[str]
    sentence_probabilities: list[float]


class OpenProvenceModel:
    """A pruner with OpenProvence's `process`.

    Args:
        compressor: None for one with the bundled model.
    """

    def __init__(self, compressor: Compressor | None = None) -> None:
        self._compressor = compressor or Compressor()

    @classmethod
    def from_pretrained(cls, name_or_path: str | Path | None = None, **others: Any) -> OpenProvenceModel:
        """A model of tersely's; None for the bundled one. OpenProvence's models cannot be used.

        Raises InvalidInputError for what has no meaning here, such as a device.
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
            context: for one question a text or a list of texts; for several a list of texts for each.
            title: "first_sentence" or None for none; one for all texts; or lists as `context` has them. The
                model reads it, and it is no part of what comes back.
            first_line_as_title: take the first line of every text out, as its title.
            threshold: keep what is needed with more than this probability; None for the model's own.
            always_select_title: keep the first sentence too, where anything is kept and it is the title.
            reorder: the most relevant texts first. `top_k` of them, where given.
            zero_score_when_empty: a text of which nothing is kept has the score 0.
            respect_sentence_boundaries: always the case here, so either value will do.
            return_sentence_metrics: whether "sentence_probabilities" are wanted.
            return_sentence_texts: whether "kept_sentences" and "removed_sentences" are.
            others: OpenProvence's, where they have its own default; its progress and warnings are taken and
                never shown.

        Returns:
            "pruned_context", "reranking_score" (0 to 1; None where the model failed and the text is whole),
            "compression_rate" (percent of characters removed) and "title": one value for a text, a list for
            texts, a list of lists for several questions. "timing" has "total_seconds".

        Raises:
            InvalidInputError: questions and texts do not fit together, or an argument has no meaning here.
        """
        started = time.perf_counter()
        refuse("process", {k: v for k, v in others.items() if k not in _NEVER_SHOWN}, _CALL)
        explicit = title is not None and title != FIRST_SENTENCE
        if explicit and first_line_as_title:
            raise InvalidInputError("Both first_line_as_title and a title of yours are given. Pass one.")
        if threshold is not None and not (
            isinstance(cast("object", threshold), Real) and 0 <= float(threshold) <= 1
        ):
            raise InvalidInputError(
                f"threshold is {threshold!r}. Pass a probability, or None for the model's own."
            )
        if top_k is not None:
            top_k = inputs.check_count(top_k, "top_k", "texts")
        first_sentence = always_select_title and title == FIRST_SENTENCE and not first_line_as_title
        questions = [question] if isinstance(question, str) else check_texts(question, "question")
        if not questions:
            raise InvalidInputError("There is no question. Pass one, or several.")
        groups = _groups(questions, context)
        titles = _titles(title if explicit else None, groups)
        rows: list[list[Pruned]] = []
        for asked, texts, own in zip(questions, groups, titles, strict=True):
            documents = [
                _document(text, head, first_line_as_title) for text, head in zip(texts, own, strict=True)
            ]
            found = self._compressor.compress(asked, documents)
            pruned = [
                _pruned(found, place, document, threshold, first_sentence, zero_score_when_empty)
                for place, document in enumerate(documents)
            ]
            if reorder:
                pruned = sorted(pruned, key=lambda p: -(p.reranking_score or 0.0))[
                    : top_k if top_k is None else max(0, top_k)
                ]
            rows.append(pruned)
        names = ["pruned_context", "reranking_score", "compression_rate", "title"]
        names += ["kept_sentences", "removed_sentences"] if return_sentence_texts else []
        names += ["sentence_probabilities"] if return_sentence_metrics else []
        result: dict[str, Any] = {
            name: _shaped([[getattr(p, name) for p in row] for row in rows], len(questions), context)
            for name in names
        }
        return {**result, "timing": {"total_seconds": time.perf_counter() - started}}


def _groups(questions: Sequence[str], context: object) -> list[list[str]]:
    """The texts of each question."""
    if isinstance(context, str):
        groups: list[object] = [[context]]
    elif len(questions) == 1:
        groups = [context]
    elif isinstance(context, Sequence):
        groups = list(cast("Sequence[object]", context))
    else:
        raise InvalidInputError("The context is no list. Pass a list of texts for each question.")
    if len(groups) != len(questions):
        raise InvalidInputError(
            f"There are {len(questions)} questions and {len(groups)} lists of texts. Pass a list for each."
        )
    return [check_texts(group, "A context") for group in groups]


def _titles(title: Titles, groups: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The title of each text; a list that is too short leaves the last ones without."""
    if title is None or isinstance(title, str):
        return [[title] * len(group) for group in groups]
    if not isinstance(cast("object", title), Sequence):
        raise InvalidInputError(f"The title is a {type(title).__name__}. Pass text, or a list of texts.")
    given: list[object] = [title] if len(groups) == 1 else list(title)
    if len(given) != len(groups):
        raise InvalidInputError(
            f"There are {len(groups)} questions and {len(given)} titles. Pass one or a list for each."
        )
    out: list[list[str | None]] = []
    for own, group in zip(given, groups, strict=True):
        heads = [own] * len(group) if isinstance(own, str) else list(cast("Sequence[object]", own))
        if not all(isinstance(head, str | None) for head in heads):
            raise InvalidInputError("A title is no text. Pass texts, or lists of them.")
        known = cast("list[str | None]", heads)
        out.append([*known, *([None] * len(group))][: len(group)])
    return out


def _document(text: str, title: str | None, first_line: bool) -> Document:
    if first_line and title is None:
        head, _, body = text.lstrip().partition("\n")
        return Document(body, head.strip() or None)
    return Document(text, title)


def _pruned(
    found: Compression,
    place: int,
    document: Document,
    threshold: float | None,
    select_title: bool,
    zero: bool,
) -> Pruned:
    spans = sorted((s for s in (*found.kept, *found.dropped) if s.doc == place), key=lambda s: s.start)
    failed = found.status == "failed_open"
    kept = [i for i, span in enumerate(spans) if failed or _is_kept(span, threshold)]
    if kept and kept[0] and select_title:
        kept.insert(0, 0)
    ranges = [(span.start, span.end) for span in spans]
    text = document.text if failed else render.render_document(document.text, ranges, kept)[0]
    texts = [document.text[start:end] for start, end in ranges]
    score = None if failed else max((span.score for span in spans), default=0.0)
    return Pruned(
        text,
        0.0 if zero and not text and score is not None else score,
        100 * (1 - len(text) / max(1, len(document.text))) if document.text else 0.0,
        document.title,
        [texts[i] for i in kept],
        [texts[i] for i in sorted(set(range(len(texts))).difference(kept))],
        [span.score for span in spans],
    )


def _is_kept(span: Span, threshold: float | None) -> bool:
    if threshold is not None:
        return span.score > threshold
    # Every text counts by itself here, so what another one says too stays.
    return span.reason in ("score", "unchanged", "duplicate")


def _shaped(values: list[list[T]], questions: int, context: object) -> list[list[T]] | list[T] | T:
    if questions > 1:
        return values
    return values[0][0] if isinstance(context, str) else values[0]
