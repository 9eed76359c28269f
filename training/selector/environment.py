"""What Phase II acts on: questions with their sentences, and the reward that a reader gives for keeping some.

A state is one group of training data, all of its documents read as the runtime reads them. Its action keeps
sentences; the context is rendered as the compressor renders it, titles included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from benchmarks.shared.readers import Prompt, Reader
from tersely.metrics import is_correct
from tersely.packing.render import join_documents, render_document
from tersely.selector.layout import Window
from tersely.types import Document
from training.selector.batching import Encoder
from training.selector.data import Group
from training.selector.policy import reward


@dataclass(frozen=True, slots=True)
class State:
    """One question. Sentences are numbered over all documents, in order."""

    group: Group
    windows: tuple[Window, ...]
    owner: Tensor
    """(markers,) number of the sentence behind each [SEN] of the windows, in their order."""
    offsets: tuple[int, ...]
    """First sentence of each document, and their number at the end."""
    costs: Tensor
    """(sentences,) tokens."""
    titles: Tensor
    """(documents,) tokens."""

    @property
    def sentences(self) -> int:
        return self.offsets[-1]

    def logits(self, markers: Tensor) -> Tensor:
        """Logits of the sentences (m,) from those of the markers; one read in several windows gets its
        best."""
        owner = self.owner.to(markers.device)
        lowest = torch.full((self.sentences,), -30.0, device=markers.device)
        return lowest.scatter_reduce(0, owner, markers, "amax", include_self=False)

    def context(self, action: Tensor) -> str:
        """The kept sentences as the compressor renders them."""
        kept = action.bool().tolist()
        parts = []
        for number, (document, (first, last)) in enumerate(
            zip(self.group.documents, pairwise(self.offsets), strict=True)
        ):
            text, pieces = render_document(
                document.text, document.units, [i - first for i in range(first, last) if kept[i]]
            )
            parts.append((number, Document(document.text, document.title), text, pieces))
        return join_documents(parts)[0]

    def rate(self, action: Tensor) -> float:
        """tau of EFFCOMP: tokens kept over tokens given, with the titles of the documents that remain."""
        present = [float(action[a:b].any()) for a, b in pairwise(self.offsets)]
        kept = float((action * self.costs).sum() + (torch.tensor(present) * self.titles).sum())
        return kept / float(self.costs.sum() + self.titles.sum())


def make_state(encoder: Encoder, group: Group) -> State:
    item = encoder.plain(group)
    counts = [len(d.units) for d in group.documents]
    offsets = [0]
    for count in counts:
        offsets.append(offsets[-1] + count)
    owner = [offsets[d] + s for w in item.windows for d, s in w.sentences]
    costs = [len(encoder.ids(d.text[a:b])) for d in group.documents for a, b in d.units]
    titles = [len(encoder.ids(d.title)) if d.title else 0 for d in group.documents]
    return State(
        group,
        tuple(item.windows),
        torch.tensor(owner),
        tuple(offsets),
        torch.tensor(costs, dtype=torch.float32),
        torch.tensor(titles, dtype=torch.float32),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action led to."""

    correct: bool
    rate: float
    reward: float


def judge(reader: Reader, pairs: Sequence[tuple[State, Tensor]], alpha: float) -> list[Outcome | None]:
    """The outcome of each (state, action), in order; None where the reader failed."""
    prompts = [Prompt(s.group.question, s.context(a)) for s, a in pairs]
    outcomes: list[Outcome | None] = []
    for (state, action), answer in zip(pairs, reader.answer(prompts), strict=True):
        if answer is None:
            outcomes.append(None)
            continue
        correct, rate = is_correct(answer, state.group.answers), state.rate(action)
        outcomes.append(Outcome(correct, rate, reward(correct, rate, alpha)))
    return outcomes


def answerable(reader: Reader, states: Sequence[State]) -> tuple[list[State], Counter[str]]:
    """States that the reader answers with all sentences and not with none (section 3.2.1), and the number of
    others by reason."""
    whole = [Prompt(s.group.question, s.context(torch.ones(s.sentences))) for s in states]
    none = [Prompt(s.group.question, "") for s in states]
    answers = reader.answer([*whole, *none])
    kept: list[State] = []
    left_out: Counter[str] = Counter()
    for state, given, alone in zip(states, answers[: len(states)], answers[len(states) :], strict=True):
        if given is None or alone is None:
            left_out["reader failed"] += 1
        elif not is_correct(given, state.group.answers):
            left_out["not answered with all sentences"] += 1
        elif is_correct(alone, state.group.answers):
            left_out["answered without any"] += 1
        else:
            kept.append(state)
    return kept, left_out
