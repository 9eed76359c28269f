"""The bundled selector, copies of it that record what the encoder reads, and documents for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import cast

import numpy as np

from tersely.runtime.artifacts import load_artifact
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers
from tersely.score import DocumentScores, ScoredInput
from tersely.score.encoder import Encoder
from tersely.score.features import QUERY_FEATURES
from tersely.score.fusion import Fusion, LinearLayer
from tersely.score.layout import Ids
from tersely.score.selector import MAX_TOKENS, Selector
from tersely.split.sentences import split_units

GATE_OPEN, GATE_CLOSED = 30.0, -30.0
"""Logits of a gate that is open, or closed, for every question."""

FEW_TOKENS = 400
"""Room for five or six windows of `make_long_input`."""

NEEDLE = "The harbour master of Orvelle hid 417 silver spoons under the pier."
NEEDLE_QUESTION = "Where are the 417 silver spoons of the harbour master of Orvelle?"
_FILLER = (
    "The {0} committee met again. Its report was long. Nobody in room {0} asked about it. "
    "The next meeting is in spring."
)


def make_input(title: str | None, text: str) -> ScoredInput:
    return ScoredInput(title, text, split_units(text))


DOCUMENTS = [
    make_input(
        "Brackmoor Lighthouse",
        "The lighthouse stands on a cliff. It was designed by the engineer Ida Penrose in 1871. "
        "Visitors may climb the stairs on Sundays.",
    ),
    make_input(
        "Tarnwick",
        "Tarnwick is a market town. Its main export is barley. The market is held every Tuesday.",
    ),
    make_input(
        "Ida Penrose",
        "Ida Penrose was an engineer. She was born in Lindisvale and studied in Tarnwick. "
        "She never learned to swim.",
    ),
    make_input(None, "Copper wire is drawn through a die. The die must be kept wet while the wire passes."),
]


def make_long_input(count: int, needle: int) -> list[ScoredInput]:
    """`count` documents that say nothing, except the one at `needle`, which ends with NEEDLE."""
    texts = [_FILLER.format(number) for number in range(count)]
    texts[needle] = f"{texts[needle]} {NEEDLE}"
    return [make_input(f"Minutes {number}", text) for number, text in enumerate(texts)]


def sentences_of(document: ScoredInput) -> list[str]:
    return [document.text[unit.start : unit.end] for unit in document.units]


def rank_sentences(documents: Sequence[ScoredInput], scores: Sequence[DocumentScores]) -> list[str]:
    """Return the sentences of all documents, best first."""
    pairs = [
        (-score, sentence)
        for document, own in zip(documents, scores, strict=True)
        for score, sentence in zip(own.scores, sentences_of(document), strict=True)
    ]
    return [sentence for _, sentence in sorted(pairs)]


class RecordingSession:
    """A session that keeps the inputs and outputs of every run."""

    def __init__(self, session: EncoderSession) -> None:
        self.session = session
        self.inputs: list[dict[str, np.ndarray]] = []
        self.outputs: list[list[np.ndarray]] = []

    def run(self, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
        self.inputs.append(dict(inputs))
        self.outputs.append(self.session.run(inputs, outputs))
        return self.outputs[-1]

    def windows(self) -> list[Ids]:
        """Return the ids of every window that was read, without padding."""
        return [
            row[mask > 0].tolist()
            for inputs in self.inputs
            for row, mask in zip(inputs["input_ids"], inputs["attention_mask"], strict=True)
        ]


@cache
def bundled_selector() -> Selector:
    """Return the selector of the bundled model. It is loaded once, because it is stateless."""
    return Selector.load(load_artifact())


def recording_selector(
    *, gate_logit: float | None = None, max_tokens: int = MAX_TOKENS
) -> tuple[Selector, RecordingSession]:
    """Return a copy of the bundled selector whose runs are recorded, one after the other.

    `gate_logit` makes the gate the same for every question; None keeps the model's own.
    """
    session = RecordingSession(bundled_selector().encoder.session)
    return selector_with(session, gate_logit=gate_logit, max_tokens=max_tokens), session


def selector_with(
    session: object, threads: int = 1, *, gate_logit: float | None = None, max_tokens: int = MAX_TOKENS
) -> Selector:
    """Return a copy of the bundled selector whose encoder runs in `session`."""
    bundled = bundled_selector()
    return Selector(
        Encoder(cast("EncoderSession", session), Workers(threads), bundled.layout.config.pad_id),
        bundled.layout,
        bundled.fusion if gate_logit is None else _with_constant_gate(bundled.fusion, gate_logit),
        bundled.idf,
        bundled.threshold,
        max_tokens=max_tokens,
        preparation_name=bundled.preparation_name,
        embedder=bundled.embedder,
    )


def _with_constant_gate(fusion: Fusion, logit: float) -> Fusion:
    width = len(QUERY_FEATURES)
    gate = LinearLayer(mean=np.zeros(width), deviation=np.ones(width), weights=np.zeros(width), bias=logit)
    return replace(fusion, gate=gate)
