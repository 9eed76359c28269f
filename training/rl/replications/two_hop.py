"""Generated questions of two hops or one, a reader that needs every hop, and a small encoder, to test
EFFCOMP's claims about Phase II.

    Which river crosses the town where Kakara was born?
    first hop    kakara was born in loluton near the mimigue .
    second hop   the nenegue crosses loluton .
    idle         the nenegue rises in the hills .

String-match labels (EFFCOMP, section 3.1) mark the second hop and the idle sentences about the answer. They
mark the first hop only if its river happens to be the answer, in a share CHANCE of the questions. So a policy
of Phase I is uncertain about first hops, and sampling finds them now and then.

A question of one hop has such documents, too, but names the town: "Which river crosses Loluton?"
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from benchmarks.shared.readers import Prompt
from training.selector_model.groups import Group, GroupDocument

Hops = Literal[1, 2]
SOURCE = "two_hop"
PEOPLE = 3
"""Number of persons of a question, which asks about the first. One more town is nobody's birthplace."""
CHANCE = 0.12
GOODS = ("salt", "wool", "wine", "fish", "glass", "paper")

_SYLLABLES = ("ka", "lo", "mi", "ne", "ru", "sa", "te", "vi")
PERSONS, TOWNS, RIVERS = (
    tuple(first + second + end for first in _SYLLABLES for second in _SYLLABLES)[:40]
    for end in ("ra", "ton", "gue")
)
_OTHER_WORDS = (
    "which river crosses the town where was born in near studied lives exports rises is miles long hills"
)
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[unused1]", "[unused2]")

_QUESTION = re.compile(r"where (\w+) was born")
_SINGLE_QUESTION = re.compile(r"crosses (\w+) \?")
_BORN = re.compile(r"(\w+) was born in (\w+) near")
_CROSSES = re.compile(r"the (\w+) crosses (\w+)")


def make_questions(count: int, seed: str, hops: Hops = 2) -> list[Group]:
    """Make `count` questions with documents, the same for the same seed. The labels mark the hops."""
    rng = random.Random(seed)
    return [_make_question(str(number), rng, hops) for number in range(count)]


def _make_question(number: str, rng: random.Random, hops: Hops) -> Group:
    people = rng.sample(PERSONS, PEOPLE)
    towns = rng.sample(TOWNS, PEOPLE + 1)
    rivers = rng.sample(RIVERS, 2 * PEOPLE + 1)
    answer = rivers[0]
    near = [answer if rng.random() < CHANCE else rivers[-1], *rivers[PEOPLE + 1 : -1]]
    documents = [
        _make_document(
            [
                f"{person} was born in {towns[i]} near the {near[i]} .",
                f"{person} studied in {rng.choice([t for t in towns if t != towns[i]])} .",
                f"{person} lives in {rng.choice(TOWNS)} .",
            ],
            is_hop=hops == 2 and not i,
        )
        for i, person in enumerate(people)
    ]
    documents += [
        _make_document(
            [f"the {rivers[i]} crosses {town} .", f"{town} exports {rng.choice(GOODS)} ."], is_hop=not i
        )
        for i, town in enumerate(towns)
    ]
    documents += [
        _make_document([f"the {river} rises in the hills .", f"the {river} is miles long ."], is_hop=False)
        for river in rivers[:2]
    ]
    rng.shuffle(documents)
    place = f"the town where {people[0]} was born" if hops == 2 else towns[0]
    question = f"which river crosses {place} ?"
    return Group(number, SOURCE, question, [answer], documents)


def _make_document(sentences: Sequence[str], *, is_hop: bool) -> GroupDocument:
    """Make a document; `is_hop` says whether the first sentence is one of the two hops."""
    units: list[tuple[int, int]] = []
    for sentence in sentences:
        start = units[-1][1] + 1 if units else 0
        units.append((start, start + len(sentence)))
    labels = [int(is_hop), *[0] * (len(sentences) - 1)]
    return GroupDocument(None, " ".join(sentences), units, labels, int(is_hop))


class TwoHopReader:
    """A reader that follows the hops through a context, and does not answer if one is missing."""

    name = "two hops"
    trained_on: frozenset[str] = frozenset()

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Return one answer for each prompt, in order, never None."""
        return [_follow(prompt) for prompt in prompts]


def _follow(prompt: Prompt) -> str:
    (name,) = _QUESTION.findall(prompt.question) or _SINGLE_QUESTION.findall(prompt.question)
    town = dict(_BORN.findall(prompt.context)).get(name) if name in PERSONS else name
    rivers = {crossed: river for river, crossed in _CROSSES.findall(prompt.context)}
    return rivers.get(town, "")


def save_encoder(folder: Path) -> None:
    """Write a BERT of two layers and 32 units with random weights, and a tokenizer of whole words."""
    words = [*_SPECIAL, *_OTHER_WORDS.split(), ".", "?", *GOODS, *PERSONS, *TOWNS, *RIVERS]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=384,
    )
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
