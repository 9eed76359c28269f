"""Settings of a selector's training run, read from TOML; unknown keys are refused."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.shared.tasks.negatives import Neighbours

Labels = Literal["support", "string"]
"""A sentence is positive in Phase I if a span of it supports the answer, or if it contains the answer as a
string (EFFCOMP section 3.1)."""

Head = Literal["pooled", "sen"]
"""Inputs of the keep logit: the state at `[SEN]`, the sentence's mean and its similarity to the question, or
the state at `[SEN]` alone (EFFCOMP section 3.1)."""

Criterion = Literal["support", "loss"]
"""Criterion of the best epoch: labelled sentences kept at a tenth of the text, or the validation loss
(EFFCOMP appendix B.2)."""


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Settings of the training groups. A group is a question with its gold passages and its hard
    negatives."""

    questions: dict[str, int]
    """Maximum number of questions of each set, drawn by the seed."""
    heldout: dict[str, int]
    """Questions of each set for validation and for the fusion layer. No training question of any set is about
    their articles or gets their passages as negatives."""
    heldout_articles: float = 0.0
    """Share of all articles, drawn by name, that is also held out. Held-out chains use only questions about
    held-out articles."""
    repeats: dict[str, int] = field(default_factory=dict[str, int])
    """Number of times that each question of a set is used in one pass; 1 for a set that is not listed."""
    labels: Labels = "support"
    """Source of the labels. With "string", questions need no labels, and Phase I skips those with the answers
    "yes", "no" or "noanswer"."""
    documents: int | None = None
    """Number of documents of each question: its own, filled up with its nearest passages. None adds
    `negatives` instead, and leaves multi-hop sets as they are."""
    longest: int | None = None
    """Maximum number of tokens of a question in Phase I, over all its windows; None for no limit."""
    negatives: int = 2
    """Number of hard negatives for each gold passage, in sets with one passage per question."""
    heldout_negatives: int = 19
    unanswerable: float = 0.1
    """Share of groups that lose their gold passage, so that no sentence should be kept."""
    untitled: float = 0.15
    """Share of groups whose titles are removed, because many users' documents have no title."""
    evidence: float = 0.5
    """Share of multi-hop groups in which one supporting sentence is the evidence. Its document is removed;
    the supporting sentences of the others should be kept."""
    hostile: float = 0.0
    """Share of groups in which a document echoes the question (`hostile.py`)."""
    composed: float = 0.5
    """Share of single-hop groups whose question loses the name of its passage, if another passage mentions it
    (`composed.py`)."""
    neighbours: Neighbours = "mixed"
    """Negatives by BM25 and MiniLM in turn, or by BM25 alone if MiniLM's weights are not installed."""
    lexical: Sequence[str] = ()
    """Sets whose negatives always come from BM25 alone, because embedding is slow on a CPU."""

    def limit(self, draws: int, heldout: float = 1.0) -> DataConfig:
        """Return the same mixture with only as many questions as a pass of `draws` groups can use.

        heldout: share of the held-out questions to keep.
        """
        held = {name: math.ceil(count * heldout) for name, count in self.heldout.items()}
        used = {name: count for name, count in self.questions.items() if count}
        share = draws / sum(count * self.repeats.get(name, 1) for name, count in used.items())
        if share >= 1:
            return dataclasses.replace(self, heldout=held)
        wanted = {name: count * self.repeats.get(name, 1) * share for name, count in used.items()}
        questions = {name: min(used[name], math.ceil(n)) for name, n in wanted.items()}
        repeats = {name: max(1, round(n / questions[name])) for name, n in wanted.items()}
        return dataclasses.replace(self, questions=questions, heldout=held, repeats=repeats)


@dataclass(frozen=True, slots=True)
class TrainConfig:
    epochs: int
    """Number of passes over the training groups."""
    learning_rate: float
    batch_tokens: int
    """Maximum number of tokens of an optimiser step and process, padding included."""
    batch_questions: int | None = None
    """Maximum number of questions of a step; None for as many as the tokens allow."""
    weight_decay: float = 0.01
    warmup: float = 0.06
    """Share of the steps over which the learning rate rises linearly; then it falls linearly to zero."""
    max_grad_norm: float = 1.0
    keep_weight: float = 1.0
    """Weight of the balanced cross-entropy at [SEN] (EFFCOMP Phase I)."""
    rank_weight: float = 1.0
    """Weight of the listwise loss over all sentences of a question."""
    relevance_weight: float = 0.5
    """Weight of the document-relevance loss."""
    distillation: float = 0.0
    """Weight of the regression to a teacher (`training/selector/distillation.py`). The teacher is made of the
    weights that a run starts from, so it needs `--start-from`."""
    int8: bool = False
    """True to train and validate with the rounding of the exported int8 graph
    (`training/selector_model/rounding.py`). Only BERT encoders can do that."""
    best: Criterion = "support"
    checkpoint_steps: int = 200


@dataclass(frozen=True, slots=True)
class SelectorConfig:
    name: str
    """Folder name of the artifact."""
    base_model: str
    """A folder, an importable package that contains one, or a hub name."""
    max_length: int
    data: DataConfig
    train: TrainConfig
    head: Head = "pooled"
    vectors: bool = False
    """True to add the unchanged base model to the artifact, for vectors of sentences. It is worth its size if
    the base is a sentence encoder."""
    docs_per_window: int = 1
    query_length: int = 64
    sen_token: str = "[unused1]"
    doc_token: str = "[unused2]"
    seed: int = 13
