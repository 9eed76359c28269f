"""The last step of a compression: the text, and a receipt that explains every unit.

explain              what a choice keeps and drops, and why
keep_everything      all documents as they are, where nothing was chosen
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tersely.pack.choose import Choice
from tersely.pack.reasons import breaks_promise, reason_dropped, reason_kept
from tersely.pack.render import render_documents
from tersely.score.protocol import DocumentScores
from tersely.split.splitting import Scored, SplitDocuments
from tersely.types import Citations, CompressedDocument, Compression, Span, Status


@dataclass(frozen=True, slots=True)
class Facts:
    """What a receipt says beside its spans."""

    model: str
    """Name and checksum."""
    count: Callable[[str], int]
    """Tokens of a text."""
    promises_recall: bool


def explain(scored: Scored, choice: Choice, facts: Facts, failure: str | None = None) -> Compression:
    """The compression that a choice makes, without timings.

    `failure` says why the model did not score everything, if it did not: then the result is "degraded".
    """
    split, scores = scored.split, scored.scores
    cut_and_kept = {
        (doc, split.units[doc][position].parent)
        for doc, position in choice.kept
        if split.units[doc][position].is_piece
    }
    kept: list[list[Span]] = [[] for _ in split.documents]
    dropped: list[Span] = []
    recall_met = True
    for doc, units in enumerate(split.units):
        for position, unit in enumerate(units):
            score = scores[doc].scores[position]
            if (doc, position) in choice.kept:
                reason = reason_kept(doc, unit, cut_and_kept, scored.kept_by)
                kept[doc].append(Span(doc, unit.start, unit.end, score, reason))
            else:
                reason = reason_dropped(doc, position, unit, scores[doc], choice, cut_and_kept)
                dropped.append(Span(doc, unit.start, unit.end, score, reason))
                recall_met &= not breaks_promise(position, unit, scores[doc], choice, reason)
    status: tuple[Status, str | None] = ("unchanged", "nothing was scored too low")
    if dropped or list(choice.sequence) != sorted(choice.sequence):
        status = ("compressed", None)
    if failure is not None:
        status = ("degraded", failure)
        recall_met = False
    positions = choice.by_document(len(split.documents))
    result = _compression(
        split, positions, choice.sequence, scores, kept, dropped, *status, facts, recall_met=recall_met
    )
    return replace(result, warnings=scored.warnings, best_fits=choice.best_fits)


def keep_everything(split: SplitDocuments, facts: Facts, status: Status, reason: str) -> Compression:
    """All documents as they are, unscored, without timings. `split` holds no pieces."""
    scores = [DocumentScores.unscored(len(units)) for units in split.units]
    kept = [
        [Span(doc, unit.start, unit.end, 0.0, status) for unit in units]
        for doc, units in enumerate(split.units)
    ]
    everything = range(len(split.documents))
    return _compression(
        split, split.all_units, everything, scores, kept, [], status, reason, facts, recall_met=True
    )


def _compression(
    split: SplitDocuments,
    positions: Sequence[Sequence[int]],
    sequence: Sequence[int],
    scores: Sequence[DocumentScores],
    kept: Sequence[Sequence[Span]],
    dropped: Sequence[Span],
    status: Status,
    reason: str | None,
    facts: Facts,
    *,
    recall_met: bool,
) -> Compression:
    rendered = render_documents(split.documents, split.units, positions, sequence)
    present = [doc for doc in sequence if positions[doc]]
    return Compression(
        text=rendered.text,
        documents=tuple(
            CompressedDocument(
                source=doc,
                text=body,
                title=split.documents[doc].title,
                id=split.documents[doc].id,
                metadata=split.documents[doc].metadata,
                relevance=scores[doc].relevance,
                spans=tuple(kept[doc]),
            )
            for doc, body in zip(present, rendered.bodies, strict=True)
        ),
        kept=tuple(span for doc in present for span in kept[doc]),
        dropped=tuple(dropped),
        tokens_before=split.tokens_before,
        tokens_after=facts.count(rendered.text),
        status=status,
        reason=reason,
        model=facts.model,
        recall_met=recall_met if facts.promises_recall else None,
        timings={},
        marks=rendered.marks,
        relevance=tuple(own.relevance for own in scores),
        _citations=Citations(rendered.citations),
    )
