"""What is recorded of a run: a row for each question and system."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.shared.environment import Environment


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One summary, checked against the documents of its question."""

    task: str
    question: str
    """Its id."""
    system: str
    sentences: int
    supported: int
    """Sentences for which the check of `tersely_agents.summaries` finds a source."""
    unknown: int
    """Sentences with a name or a number that no document contains."""
    contradicting: int
    """Sentences that contradict their source by the rules of `contradiction.py`."""
    tokens: int
    """By the compressor's counter."""
    seconds: float
    """To choose what the model reads, and to write."""
    rouge: float | None
    """ROUGE-L against the best reference; None where the set has none."""
    f1: float | None
    """Of the reader's answer from the summary; None where nobody asks it."""


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of a summary. It may quote a data set, so it is never recorded."""

    task: str
    question: str
    """Its id."""
    system: str
    text: str
    supported: bool
    """Whether the check of `tersely_agents.summaries` finds a source."""


@dataclass(frozen=True, slots=True)
class SummariesRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    """The selector's."""
    summarizer: str
    """The summarizer and its fingerprint."""
    reader: str | None
    seed: int
    environment: Environment
    rows: tuple[SummaryRow, ...]
