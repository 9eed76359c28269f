"""Write the receipt, which says for every unit why it was kept or dropped: the last step of a compression."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from tersely.pack.choose import Selection
from tersely.pack.render import Renderer
from tersely.score.loading import Thresholds
from tersely.score.protocol import Scored
from tersely.split.documents import Bypass, Split
from tersely.types import Citations, CompressedDocument, Compression, Span, Status
from tersely.units import Unit

WholeUnit = tuple[int, int]
"""A unit that was opened or cut, named by its document and the `parent` of its parts."""


def write_receipt(
    split: Split, scored: Scored, selection: Selection, model: str, thresholds: Thresholds
) -> Compression:
    """Return the result of a request: the text of the selection and its receipt, without timings.

    `model` is the name that the result gives for the model; see `Compression.model`.
    """
    scores = scored.scores
    partly_kept = {
        (unit.doc, unit.parent) for unit in (split.units[at] for at in selection.kept) if unit.is_part
    }
    unit_scores: list[float] = scores.scores.tolist()
    kept: dict[int, list[Span]] = {}
    dropped: list[Span] = []
    recall_met = scored.failure is None and scored.refusal is None
    for at, unit in enumerate(split.units):
        if at in selection.kept:
            reason = "truncated" if (unit.doc, unit.parent) in partly_kept else scored.kept_by
            kept.setdefault(unit.doc, []).append(_make_span(unit, unit_scores[at], reason))
        else:
            reason = _find_drop_reason(at, unit, scored, selection, partly_kept)
            dropped.append(_make_span(unit, unit_scores[at], reason))
            recall_met = recall_met and not _may_break_recall(at, unit, scored, reason)
    if split.unread:
        dropped += [_make_span(unit, 0.0, "unread") for unit in split.unread]
        dropped.sort(key=lambda span: (span.doc, span.start))
    status, reason_of_status = _find_status(scored, selection, is_complete=not dropped)
    documents = [doc for doc in selection.sequence if doc in kept]
    result = Compression(
        documents=tuple(
            _make_document(split, doc, body, float(scores.relevance[doc]), kept[doc])
            for doc, body in zip(documents, selection.rendered.bodies, strict=True)
        ),
        kept=tuple(span for doc in documents for span in kept[doc]),
        dropped=tuple(dropped),
        tokens_before=split.tokens_before,
        tokens_after=selection.tokens,
        status=status,
        reason=reason_of_status,
        model=model,
        recall_met=None if thresholds.recall is None else recall_met,
        best_fits=selection.best_fits,
        warnings=(*scored.warnings, *_warn_if_empty(split, scored, selection)),
        relevance=tuple(scores.relevance.tolist()),
        timings={},
        text=selection.rendered.text,
        marks=selection.rendered.marks,
        _citations=Citations(selection.rendered.citations, selection.rendered.starts),
    )
    judgement, abstention = scores.judgement, thresholds.abstention
    if judgement is None:
        return result
    return replace(
        result,
        answerable=judgement.answerable,
        distance=judgement.distance,
        calibrated=judgement.is_calibrated if abstention is None else judgement.can_abstain,
        refused=None if abstention is None else abstention.refused,
    )


def keep_everything(split: Split, bypass: Bypass, model: str, thresholds: Thresholds) -> Compression:
    """Return the result of a request that keeps all documents unchanged, without scores and timings."""
    split = split.join_unread()
    everything = range(len(split.documents))
    renderer = Renderer(split, len, everything, marks_everywhere=False)
    rendered = renderer.render(frozenset(range(len(split.units))))
    kept = [
        [_make_span(split.units[at], 0.0, bypass.status) for at in split.positions(doc)] for doc in everything
    ]
    documents = [doc for doc in everything if kept[doc]]
    return Compression(
        documents=tuple(
            _make_document(split, doc, body, 0.0, kept[doc])
            for doc, body in zip(documents, rendered.bodies, strict=True)
        ),
        kept=tuple(span for spans in kept for span in spans),
        dropped=(),
        tokens_before=split.tokens_before,
        tokens_after=split.tokens_before,
        status=bypass.status,
        reason=bypass.reason,
        model=model,
        recall_met=None if thresholds.recall is None else True,
        relevance=(0.0,) * len(split.documents),
        timings={},
        text=rendered.text,
        marks=rendered.marks,
        _citations=Citations(rendered.citations, rendered.starts),
    )


def _find_status(scored: Scored, selection: Selection, *, is_complete: bool) -> tuple[Status, str | None]:
    """Return the status of a request that was scored, and its reason. `is_complete`: nothing was dropped."""
    if scored.refusal is not None:
        return "abstained", scored.refusal
    if scored.failure is not None:
        return "degraded", scored.failure
    is_in_order = list(selection.sequence) == sorted(selection.sequence)
    return ("unchanged", "every unit was kept") if is_complete and is_in_order else ("compressed", None)


def _make_span(unit: Unit, score: float, reason: str) -> Span:
    return Span(unit.doc, unit.start, unit.end, score, reason)


def _make_document(
    split: Split, doc: int, body: str, relevance: float, spans: list[Span]
) -> CompressedDocument:
    source = split.documents[doc]
    return CompressedDocument(doc, body, source.title, source.id, source.metadata, relevance, tuple(spans))


def _warn_if_empty(split: Split, scored: Scored, selection: Selection) -> Iterator[str]:
    """Yield a warning if the text is empty because nothing fits into the limit."""
    if selection.candidates and not selection.kept and scored.threshold is None:
        yield f"no unit fits into {split.limit} tokens together with what it needs; raise the limit"


def _find_drop_reason(
    at: int, unit: Unit, scored: Scored, selection: Selection, partly_kept: Set[WholeUnit]
) -> str:
    """Return the reason why a unit was dropped: the first that applies.

    Reasons for the whole request come first, then those for the document, then those for the unit.
    """
    if scored.refusal is not None:
        return "abstained"
    if unit.doc not in selection.sequence:
        return "max_docs"
    if unit.link.role == "markup":
        return "markup"
    if not scored.scores.read[at]:
        return "unread"
    if scored.scores.held_back[at]:
        return "echo"
    if _is_below_threshold(at, scored):
        return "threshold"
    if at in selection.duplicates:
        return "duplicate"
    if (unit.doc, unit.parent) in partly_kept:
        return "truncated"
    if at not in selection.candidates:
        if selection.has_level:
            return "level"
        # It is a head or a tail that no candidate needs.
        return "budget" if scored.threshold is None else "threshold"
    return "budget"


def _is_below_threshold(at: int, scored: Scored) -> bool:
    return scored.threshold is not None and bool(scored.scores.scores[at] < scored.threshold)


def _may_break_recall(at: int, unit: Unit, scored: Scored, reason: str) -> bool:
    """Return whether the text may miss its `recall` because the unit was dropped.

    The calibration was measured on whole units that the model had read, so the threshold holds only for such
    units.
    """
    if reason in ("duplicate", "markup"):
        return False
    scores = scored.scores
    has_true_score = scores.read[at] and not scores.held_back[at] and not unit.is_part
    return not (has_true_score and _is_below_threshold(at, scored))
