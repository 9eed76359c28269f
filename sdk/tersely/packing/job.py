"""One compression under way: documents as units, their costs, the choice, and the receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from time import perf_counter

from tersely.inputs import Order
from tersely.levels import Level
from tersely.packing import render
from tersely.packing.cutting import cut, may_cut
from tersely.packing.fill import Choice, Item, fit, rank, value, within
from tersely.packing.redundancy import Words, significant
from tersely.text.sentences import Unit, split_units
from tersely.types import Citation, Citations, CompressedDocument, Compression, Document, Span, Status

CHARACTERS_PER_TOKEN = 4
"""About as many in English prose, where lengths stand in for tokens."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What the model says about one document."""

    relevance: float
    units: Sequence[float]
    worth: Sequence[float]
    """What each unit is worth in its place; its score, as a rule."""
    unread: Set[int] = frozenset()
    """Units that the model did not see: of a very long input, or of a document that a reranker ruled out."""

    @classmethod
    def unscored(cls, count: int) -> Scores:
        """Those of a document of which the model has seen none of `count` units."""
        return cls(0.0, [0.0] * count, [0.0] * count, frozenset(range(count)))


class Clock:
    """Seconds per stage of one call."""

    def __init__(self) -> None:
        self._start = self._last = perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self._laps[stage] = self._laps.get(stage, 0.0) + now - self._last
        self._last = now

    def stop(self) -> dict[str, float]:
        self.lap("pack")
        return {**self._laps, "total": perf_counter() - self._start}


class Job:
    """The documents of one call.

    Attributes:
        documents: in the caller's order.
        units: per document; large ones are replaced by their pieces once `prepare` knows the limit.
        filled: number of documents that hold any text.
        tokens_before: tokens of the text with nothing dropped.
    """

    def __init__(
        self,
        documents: list[Document],
        count: Callable[[str], int],
        model: str,
        clock: Clock,
        *,
        promised: bool = False,
    ) -> None:
        self.documents = documents
        self.units: list[list[Unit]] = [split_units(document.text) for document in documents]
        self.filled = sum(map(bool, self.units))
        self._uncut = list(self.units)
        self._count = count
        self._model = model
        self._clock = clock
        self._promised = promised
        self._whole: list[list[int]] = [list(range(len(units))) for units in self.units]
        """Per unit, a number that pieces of one unit share."""
        self._costs: list[list[int]] | None = None
        self.tokens_before = count(self._render(self._all(), range(len(documents)))[0])
        clock.lap("split")

    def prepare(self, limit: int) -> None:
        """Count every unit, and cut those that alone exceed `limit` tokens where that is allowed."""
        rooms = [limit - self._count(render.title_line(document)) for document in self.documents]
        self._costs = [self._cut_large(index, room, self._count) for index, room in enumerate(rooms)]
        self._clock.lap("split")

    def cut_to(self, levels: Sequence[Level]) -> bool:
        """Cut units that alone are longer than their document's level allows; whether there were any."""
        before = sum(map(len, self.units))
        for index, level in enumerate(levels):
            self._cut_large(index, level.characters[1], len)
        return sum(map(len, self.units)) > before

    def _cut_large(self, index: int, room: int, measure: Callable[[str], int]) -> list[int]:
        """Replace units of more than `room` by pieces, where allowed; the size of every unit then."""
        text = self.documents[index].text
        units: list[Unit] = []
        whole: list[int] = []
        sizes: list[int] = []
        for unit, number in zip(self.units[index], self._whole[index], strict=True):
            size = measure(text[unit.start : unit.end])
            if size > room and may_cut(unit, room):
                pieces = cut(text, unit, size, room)
                sizes += [measure(text[piece.start : piece.end]) for piece in pieces]
            else:
                pieces = [unit]
                sizes.append(size)
            units += pieces
            whole += [number] * len(pieces)
        self.units[index] = units
        self._whole[index] = whole
        return sizes

    def choose(
        self,
        scores: Sequence[Scores],
        limit: int,
        *,
        threshold: float | None,
        length_price: float,
        max_docs: int | None,
        order: Order,
        levels: Sequence[Level] | None = None,
    ) -> Compression:
        """The best units within `limit` tokens; with a threshold, only those that reach it. With levels, what
        they allow of each document; those may take in units below the threshold."""
        ranking = sorted(range(len(self.documents)), key=lambda doc: (-scores[doc].relevance, doc))
        ranking = [doc for doc in ranking if self.units[doc]]
        allowed = ranking[:max_docs]
        sequence = allowed if order == "rerank" else sorted(allowed)
        # Without a limit to fill, lengths rank as well as tokens do, and cost nothing to count.
        costs = self._costs or [[unit.end - unit.start for unit in units] for units in self.units]
        to_a_token = 1 if self._costs else CHARACTERS_PER_TOKEN
        items = [
            Item(
                doc,
                unit,
                value(scores[doc].worth[unit], costs[doc][unit] / to_a_token, length_price),
                costs[doc][unit],
                self._words(doc, unit) if len(allowed) > 1 else None,
            )
            for doc in sequence
            for unit, score in enumerate(scores[doc].units)
            if levels is not None or threshold is None or score >= threshold
        ]
        if levels is not None:
            items = [
                item
                for doc, own in groupby(items, key=lambda i: i.doc)
                for item in self._detailed(doc, list(own), levels[doc], scores[doc].units, threshold)
            ]
        measure_title = self._count if self._costs else len
        titles = [measure_title(render.title_line(document)) for document in self.documents]
        total = sum(map(sum, costs)) + sum(titles)
        choice = fit(
            rank(items),
            titles,
            limit,
            lambda chosen: self._count(self._render(self._by_document(chosen), sequence)[0]),
            scale=total / max(1, self.tokens_before),
        )
        said = {(i.doc, i.unit): i.words for i in items if i.words}
        fitting = {(i.doc, i.unit) for i in items}
        return self._receipt(choice, sequence, scores, said, fitting, threshold=threshold)

    def _detailed(
        self, doc: int, items: Sequence[Item], level: Level, scores: Sequence[float], threshold: float | None
    ) -> list[Item]:
        """Those of one document's items that its level has room for: all above the threshold as far as they
        fit, and the best others where even the level's lower bound is not reached."""
        text = self.documents[doc].text
        ranges = [(unit.start, unit.end) for unit in self.units[doc]]

        def measure(choice: Choice) -> int:
            return len(render.body(text, ranges, sorted(unit for _, unit in choice))[0])

        ranked = rank([Item(0, i.unit, i.value, ranges[i.unit][1] - ranges[i.unit][0]) for i in items])
        worth = [i for i in ranked if threshold is None or scores[i.unit] >= threshold]
        rest = [i for i in ranked if threshold is not None and scores[i.unit] < threshold]
        chosen = within(worth, rest, level.characters, measure)
        return [item for item in items if (0, item.unit) in chosen]

    def _words(self, doc: int, index: int) -> Words | None:
        """What a sentence says; None for structure, in which every sign counts."""
        unit = self.units[doc][index]
        return None if unit.atomic else significant(self.documents[doc].text[unit.start : unit.end])

    def everything(self, status: Status, reason: str) -> Compression:
        """All documents as they are, unscored."""
        self.units = self._uncut
        scores = [Scores.unscored(len(units)) for units in self.units]
        kept = [
            [Span(doc, unit.start, unit.end, 0.0, status) for unit in units]
            for doc, units in enumerate(self.units)
        ]
        return self._compression(self._all(), range(len(self.documents)), scores, kept, [], status, reason)

    def _receipt(
        self,
        choice: Choice,
        sequence: Sequence[int],
        scores: Sequence[Scores],
        said: Mapping[tuple[int, int], Words],
        fitting: Set[tuple[int, int]],
        *,
        threshold: float | None,
    ) -> Compression:
        allowed = set(sequence)
        speakers: dict[Words, set[int]] = {}
        for doc, unit in choice:
            if (doc, unit) in said:
                speakers.setdefault(said[doc, unit], set()).add(doc)
        promise_kept = True
        cut_and_kept = {(doc, self._whole[doc][unit]) for doc, unit in choice if self._is_piece(doc, unit)}
        kept: list[list[Span]] = [[] for _ in self.documents]
        dropped: list[Span] = []
        for doc, units in enumerate(self.units):
            for index, (unit, score) in enumerate(zip(units, scores[doc].units, strict=True)):
                truncated = (doc, self._whole[doc][index]) in cut_and_kept
                if (doc, index) in choice:
                    reason = "truncated" if truncated else "score"
                    kept[doc].append(Span(doc, unit.start, unit.end, score, reason))
                    continue
                too_low = threshold is not None and score < threshold
                unread = index in scores[doc].unread
                if doc not in allowed:
                    reason = "max_docs"
                elif unread:
                    reason = "unread"
                elif too_low:
                    reason = "threshold"
                elif (doc, index) not in fitting:
                    reason = "truncated" if truncated else "level"
                elif (doc, index) in said and speakers.get(said[doc, index], set()) - {doc}:
                    reason = "duplicate"
                else:
                    reason = "truncated" if truncated else "budget"
                dropped.append(Span(doc, unit.start, unit.end, score, reason))
                # Calibration knows whole units that were read; others may be needed.
                known = not unread and not self._is_piece(doc, index)
                promise_kept &= reason == "duplicate" or (known and too_low)
        chosen = self._by_document(choice)
        status: tuple[Status, str | None] = ("unchanged", "nothing was scored too low")
        if dropped or list(sequence) != sorted(sequence):
            status = ("compressed", None)
        return self._compression(chosen, sequence, scores, kept, dropped, *status, promise_kept=promise_kept)

    def _compression(
        self,
        chosen: Sequence[Sequence[int]],
        sequence: Sequence[int],
        scores: Sequence[Scores],
        kept: Sequence[Sequence[Span]],
        dropped: Sequence[Span],
        status: Status,
        reason: str | None,
        *,
        promise_kept: bool = True,
    ) -> Compression:
        text, pieces, bodies = self._render(chosen, sequence)
        present = [doc for doc in sequence if chosen[doc]]
        return Compression(
            text=text,
            documents=tuple(
                CompressedDocument(
                    source=doc,
                    text=body,
                    title=self.documents[doc].title,
                    id=self.documents[doc].id,
                    metadata=self.documents[doc].metadata,
                    relevance=scores[doc].relevance,
                    spans=tuple(kept[doc]),
                )
                for doc, body in zip(present, bodies, strict=True)
            ),
            kept=tuple(span for doc in present for span in kept[doc]),
            dropped=tuple(dropped),
            tokens_before=self.tokens_before,
            tokens_after=self._count(text),
            status=status,
            reason=reason,
            model=self._model,
            pieces=Citations(pieces),
            recall_met=promise_kept if self._promised else None,
            timings=self._clock.stop(),
        )

    def _render(
        self, chosen: Sequence[Sequence[int]], sequence: Sequence[int]
    ) -> tuple[str, tuple[Citation, ...], list[str]]:
        """The text of the chosen units, where its pieces come from, and the bodies of the documents in it."""
        present = [doc for doc in sequence if chosen[doc]]
        parts = [
            render.body(self.documents[doc].text, [(u.start, u.end) for u in self.units[doc]], chosen[doc])
            for doc in present
        ]
        text, pieces = render.join(
            (doc, self.documents[doc], body, own) for doc, (body, own) in zip(present, parts, strict=True)
        )
        return text, pieces, [body for body, _ in parts]

    def _is_piece(self, doc: int, unit: int) -> bool:
        """Whether the unit was cut out of a larger one."""
        whole = self._whole[doc]
        return whole[unit] in (*whole[max(0, unit - 1) : unit], *whole[unit + 1 : unit + 2])

    def _all(self) -> list[list[int]]:
        return [list(range(len(units))) for units in self.units]

    def _by_document(self, choice: Choice) -> list[list[int]]:
        chosen: list[list[int]] = [[] for _ in self.documents]
        for doc, unit in sorted(choice):
            chosen[doc].append(unit)
        return chosen
