"""Phase II's environment: questions with their sentences, and a reader's reward for keeping some of them.

An observation is one group of training data, cut into windows as at run time: all of its documents, or those
that EFFCOMP's step 1 keeps. An action keeps some of the sentences. They are rendered with titles, as the
compressor does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from benchmarks.shared.readers import Prompt, Reader
from tersely.metrics import is_correct
from tersely.pack.choose import choose_documents
from tersely.pack.render import join_documents, render_ranges
from tersely.rerank import Reranker
from tersely.score.layout import Window
from tersely.types import Document
from training.selector.policy import reward
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import Group, GroupDocument


@dataclass(frozen=True, slots=True)
class Observation:
    """One question. Sentences are numbered over its documents, in order."""

    group: Group
    """The group with only the documents that the policy reads, in reading order."""
    windows: tuple[Window, ...]
    owner: Tensor
    """(markers,) index of the sentence after each [SEN] of the windows, in order."""
    offsets: tuple[int, ...]
    """Index of each document's first sentence; at the end the number of sentences."""
    costs: Tensor
    """(sentences,) tokens."""
    titles: Tensor
    """(documents,) tokens."""
    given: float
    """Tokens of all documents, including those that step 1 dropped."""
    supports: int
    """Labelled sentences of all documents."""

    @property
    def sentences(self) -> int:
        return self.offsets[-1]

    def gather_logits(self, markers: Tensor) -> Tensor:
        """Return one logit per sentence (m,): the highest of its markers, because windows overlap."""
        owner = self.owner.to(markers.device)
        lowest = torch.full((self.sentences,), -30.0, device=markers.device)
        return lowest.scatter_reduce(0, owner, markers, "amax", include_self=False)

    def render_context(self, action: Tensor) -> str:
        """Render the kept sentences as the compressor does."""
        kept = action.bool().tolist()
        parts = []
        for number, (document, (first, last)) in enumerate(
            zip(self.group.documents, pairwise(self.offsets), strict=True)
        ):
            positions = [i - first for i in range(first, last) if kept[i]]
            body = render_ranges(document.text, document.units, positions)
            parts.append((number, Document(document.text, document.title), body))
        return join_documents(parts).text

    def compute_rate(self, action: Tensor) -> float:
        """Return EFFCOMP's tau: tokens kept over tokens given. The title of a document with a kept sentence
        counts as kept."""
        present = [float(action[a:b].any()) for a, b in pairwise(self.offsets)]
        kept = float((action * self.costs).sum() + (torch.tensor(present) * self.titles).sum())
        return kept / self.given


class DocumentStep:
    """Step 1 of EFFCOMP (section 3). It keeps the `count` most relevant documents, best first.

    `compress(max_docs=count, order="rerank")` keeps the same ones with the same reranker.
    """

    def __init__(self, reranker: Reranker, count: int) -> None:
        self.reranker, self.count = reranker, count

    def rank(self, group: Group) -> list[int]:
        """Return the indices of the documents to keep."""
        documents = [Document(d.text, d.title) for d in group.documents]
        relevance = self.reranker.rank(group.question, documents)
        return choose_documents(relevance, range(len(documents)), self.count)


def make_observation(
    builder: WindowBuilder, whole: Group, ranked: Sequence[int] | None = None
) -> Observation:
    """Make an observation of a group without augmentation: its documents in order, or the `ranked` ones."""
    group = whole if ranked is None else replace(whole, documents=[whole.documents[i] for i in ranked])
    item = builder.build(group)
    counts = [len(d.units) for d in group.documents]
    offsets = [0]
    for count in counts:
        offsets.append(offsets[-1] + count)
    owner = [offsets[d] + s for w in item.windows for d, s in w.sentences]
    costs = [len(builder.tokenize(d.text[a:b])) for d in group.documents for a, b in d.units]
    titles = [_count_title(builder, d) for d in group.documents]
    given = sum(
        _count_title(builder, d) + sum(len(builder.tokenize(d.text[a:b])) for a, b in d.units)
        for d in whole.documents
    )
    return Observation(
        group,
        tuple(item.windows),
        torch.tensor(owner),
        tuple(offsets),
        torch.tensor(costs, dtype=torch.float32),
        torch.tensor(titles, dtype=torch.float32),
        float(given),
        sum(y > 0 for d in whole.documents for y in d.labels),
    )


def _count_title(builder: WindowBuilder, document: GroupDocument) -> int:
    return len(builder.tokenize(document.title)) if document.title else 0


@dataclass(frozen=True, slots=True)
class Feedback:
    """The reward of an action and its parts."""

    correct: bool
    """True if the reader answers correctly from the kept sentences."""
    rate: float
    """tau: tokens kept over tokens given."""
    reward: float
    """EFFCOMP eq. 2."""


def get_feedback(
    reader: Reader, pairs: Sequence[tuple[Observation, Tensor]], alpha: float
) -> list[Feedback | None]:
    """Return the feedback on each (observation, action), in order; None if the reader failed."""
    prompts = [Prompt(o.group.question, o.render_context(a)) for o, a in pairs]
    feedback: list[Feedback | None] = []
    for (observation, action), answer in zip(pairs, reader.answer(prompts), strict=True):
        if answer is None:
            feedback.append(None)
            continue
        correct = is_correct(answer, observation.group.answers)
        rate = observation.compute_rate(action)
        feedback.append(Feedback(correct, rate, reward(correct, rate, alpha)))
    return feedback


def filter_answerable(
    reader: Reader, observations: Sequence[Observation]
) -> tuple[list[Observation], Counter[str]]:
    """Return the questions that the reader answers with all sentences but not without any (EFFCOMP section
    3.2.1), and counts of the dropped ones by reason."""
    whole = [Prompt(o.group.question, o.render_context(torch.ones(o.sentences))) for o in observations]
    none = [Prompt(o.group.question, "") for o in observations]
    answers = reader.answer([*whole, *none])
    count = len(observations)
    kept: list[Observation] = []
    left_out: Counter[str] = Counter()
    for observation, with_all, with_none in zip(observations, answers[:count], answers[count:], strict=True):
        if with_all is None or with_none is None:
            left_out["reader failed"] += 1
        elif not is_correct(with_all, observation.group.answers):
            left_out["not answered with all sentences"] += 1
        elif is_correct(with_none, observation.group.answers):
            left_out["answered without any"] += 1
        else:
            kept.append(observation)
    return kept, left_out
