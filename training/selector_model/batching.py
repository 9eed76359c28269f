"""Turn groups into tensors: tokenise them, augment them, cut them into windows, and batch whole groups."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tersely.score.layout import EncodedDocument, Ids, Layout, Window, batches, collate
from tersely.split.sentences import split_units
from training.selector_model.composed import Mentions
from training.selector_model.config import DataConfig, Labels
from training.selector_model.groups import MULTI_HOP, Group, has_answer_string, list_labels
from training.selector_model.hostile import write_echoes

LIES = 3
"""Number of other questions from which a hostile document takes its wrong answers."""

PART_TOKENS = {"cpu": 2048, "cuda": 32768}
"""Maximum number of tokens in a forward pass on a device, padding included."""


@dataclass(slots=True)
class Item:
    """One group in a batch, after augmentation."""

    windows: list[Window]
    labels: list[list[int]]
    """1 or 0 for each sentence of each document."""
    gold: list[int]
    """1 or 0 for each document."""


class WindowBuilder:
    """A builder of the windows of groups. It tokenises each text once, and draws the augmentation each
    time."""

    def __init__(self, layout: Layout, groups: Sequence[Group], labels: Labels = "support") -> None:
        self.layout = layout
        self.groups = groups
        self.labels: Labels = labels
        self._ids: dict[str, Ids] = {}
        self._mentions = Mentions(groups)

    def tokenize(self, text: str) -> Ids:
        """Return the token ids of a text, without special tokens."""
        if text not in self._ids:
            self._ids[text] = self.layout.tokenize([text])[0]
        return self._ids[text]

    def teaches(self, group: Group, longest: int | None) -> bool:
        """Return whether Phase I trains on a group (EFFCOMP section 3.1).

        A group may have at most `longest` tokens. String labels also need an answer string.
        """
        if self.labels == "string" and not has_answer_string(group):
            return False
        return longest is None or sum(len(w.input_ids) for w in self.build(group).windows) <= longest

    def augment(self, group: Group, config: DataConfig, rng: random.Random) -> Item:
        """Return windows and labels of a group, augmented at the rates of `config`."""
        documents, labels, gold = self._encode(group)
        question, evidence = group.question, None
        if rng.random() < config.untitled:
            documents = [EncodedDocument([], d.sentences) for d in documents]
        if group.source in MULTI_HOP:
            if rng.random() < config.evidence:
                hops = sorted((d.hop, i) for i, d in enumerate(group.documents) if d.hop)
                evidence = self._take_evidence([i for _, i in hops[:-1]], documents, labels, gold, rng)
        elif rng.random() < config.unanswerable and 0 in gold:
            kept = [i for i, g in enumerate(gold) if g == 0]
            documents, labels, gold = ([x[i] for i in kept] for x in (documents, labels, gold))
        elif rng.random() < config.composed and (composed := self._mentions.compose(group, rng)):
            question, mention = composed
            evidence = [*self.tokenize(mention.document.title or ""), *self.tokenize(mention.sentence)]
        if rng.random() < config.hostile:
            self._echo(question, documents, labels, gold, rng)
        windows = self.layout.windows(self.tokenize(question), documents, evidence=evidence)
        return Item(windows, labels, gold)

    def build(self, group: Group) -> Item:
        """Return windows and labels of a group without augmentation."""
        documents, labels, gold = self._encode(group)
        return Item(self.layout.windows(self.tokenize(group.question), documents), labels, gold)

    def _encode(self, group: Group) -> tuple[list[EncodedDocument], list[list[int]], list[int]]:
        documents = [
            EncodedDocument(
                self.tokenize(d.title) if d.title else [], [self.tokenize(d.text[a:b]) for a, b in d.units]
            )
            for d in group.documents
        ]
        labels = list_labels(group, self.labels)
        gold = (
            [d.gold for d in group.documents] if self.labels == "support" else [int(1 in y) for y in labels]
        )
        return documents, labels, gold

    def _echo(
        self,
        question: str,
        documents: list[EncodedDocument],
        labels: list[list[int]],
        gold: list[int],
        rng: random.Random,
    ) -> None:
        """Add a document that echoes the question, or prepend the question to a needed one."""
        needed = [i for i, g in enumerate(gold) if g == 1]
        if needed and rng.random() < 0.5:
            i = rng.choice(needed)
            documents[i] = EncodedDocument(
                documents[i].title, [self.tokenize(question), *documents[i].sentences]
            )
            labels[i] = [0, *labels[i]]
            return
        lies = [answer for g in rng.sample(self.groups, min(LIES, len(self.groups))) for answer in g.answers]
        text = write_echoes(question, lies or [question], rng)
        sentences = self.layout.tokenize([text[u.start : u.end] for u in split_units(text)])
        title = rng.choice([[], *(d.title for d in documents)])
        place = rng.randint(0, len(documents))
        documents.insert(place, EncodedDocument(title, sentences))
        labels.insert(place, [0] * len(sentences))
        gold.insert(place, 0)

    def _take_evidence(
        self,
        hops: list[int],
        documents: list[EncodedDocument],
        labels: list[list[int]],
        gold: list[int],
        rng: random.Random,
    ) -> Ids | None:
        """Draw a supporting sentence as the evidence, as in the second pass, and remove its document.

        `hops` are the documents of a chained question's earlier hops; the sentence is from one of them.
        Without hops, any supporting sentence is drawn if at least two documents have one.
        """
        places = [(i, j) for i, row in enumerate(labels) for j, y in enumerate(row) if y == 1]
        if hops:
            places = [(i, j) for i, j in places if i in hops]
        elif len({i for i, _ in places}) < 2:
            return None
        if not places:
            return None
        i, j = rng.choice(places)
        evidence = [*documents[i].title, *documents[i].sentences[j]]
        for row in (documents, labels, gold):
            del row[i]
        return evidence


@dataclass(slots=True)
class Batch:
    """Padded encoder inputs of whole groups, with labels in the order of their markers."""

    parts: list[dict[str, Tensor]]
    """Inputs (B, L) of windows of similar length, a dictionary for each forward pass."""
    sentence_masks: list[Tensor]
    """(B, S) for each part: which sentence positions are not padding."""
    doc_masks: list[Tensor]
    """(B, D) for each part: which document positions are not padding."""
    keep_labels: Tensor
    """(sentences,) 1 or 0, over all parts."""
    keep_group: Tensor
    """(sentences,) index of the group."""
    doc_labels: Tensor
    """(documents,) 1 or 0, over all parts."""
    doc_group: Tensor
    """(documents,) index of the group."""
    groups: int
    tokens: int
    """Number of tokens of all parts, padding included."""


def make_batch(items: Sequence[Item], pad_id: int, part_tokens: int) -> Batch:
    """Turn items into tensors; a part has at most `part_tokens` tokens, padding included."""
    owned = [(number, item, window) for number, item in enumerate(items) for window in item.windows]
    order = list(batches([len(w.input_ids) for _, _, w in owned], part_tokens))
    parts, sentence_masks, doc_masks = [], [], []
    keep_labels: list[int] = []
    keep_group: list[int] = []
    doc_labels: list[int] = []
    doc_group: list[int] = []
    for indices in order:
        chosen = [owned[i] for i in indices]
        arrays = collate([w for _, _, w in chosen], pad_id)
        parts.append({k: torch.from_numpy(v) for k, v in arrays.items()})
        sentence_masks.append(_make_mask([len(w.sentences) for _, _, w in chosen]))
        doc_masks.append(_make_mask([len(w.documents) for _, _, w in chosen]))
        for number, item, window in chosen:
            keep_labels += [item.labels[d][s] for d, s in window.sentences]
            keep_group += [number] * len(window.sentences)
            doc_labels += [item.gold[d] for d in window.documents]
            doc_group += [number] * len(window.documents)
    return Batch(
        parts,
        sentence_masks,
        doc_masks,
        torch.tensor(keep_labels),
        torch.tensor(keep_group),
        torch.tensor(doc_labels),
        torch.tensor(doc_group),
        len(items),
        sum(p["input_ids"].numel() for p in parts),
    )


def _make_mask(counts: Sequence[int]) -> Tensor:
    return torch.arange(max(counts))[None, :] < torch.tensor(counts)[:, None]


def draw_order(
    groups: Sequence[Group], trainable: Sequence[int], config: DataConfig, seed: int, epoch: int
) -> list[int]:
    """Return the indices `trainable` for one pass, with repeats, shuffled by seed and epoch."""
    order = [i for i in trainable for _ in range(config.repeats.get(groups[i].source, 1))]
    random.Random(f"{seed}-{epoch}").shuffle(order)
    return order


def batch_groups(
    builder: WindowBuilder,
    order: Sequence[int],
    config: DataConfig,
    *,
    seed: int,
    epoch: int,
    start: int,
    max_tokens: int,
    max_groups: int | None = None,
) -> Iterator[tuple[list[Item], int]]:
    """Yield batches of whole groups, each with the place in `order` where the next batch starts.

    The first batch starts at `start`. A batch has at most `max_tokens` tokens and `max_groups` groups; a
    larger group is a batch by itself. The augmentation depends only on seed, epoch and place, so that a pass
    can be resumed at any batch.
    """
    batch: list[Item] = []
    tokens = 0
    for place in range(start, len(order)):
        item = builder.augment(builder.groups[order[place]], config, random.Random(f"{seed}-{epoch}-{place}"))
        size = sum(len(w.input_ids) for w in item.windows)
        if not size:
            continue
        if batch and (tokens + size > max_tokens or len(batch) == max_groups):
            yield batch, place
            batch, tokens = [], 0
        batch.append(item)
        tokens += size
    if batch:
        yield batch, len(order)
