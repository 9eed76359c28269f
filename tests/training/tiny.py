"""Tiny encoders with random weights, tiny settings and groups, and a reader without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
)

from benchmarks.shared.export import export_graph, make_dimension
from benchmarks.shared.readers import Prompt
from tersely.metrics import contains_answer
from tersely.score.layout import Layout, LayoutConfig
from training.reader.train import ReaderConfig
from training.run import Run
from training.selector.bandit import Phase2Config
from training.selector.train import train
from training.selector_model.config import DataConfig, SelectorConfig, TrainConfig
from training.selector_model.groups import Group, GroupDocument, prepare_groups, read_groups, write_groups

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", "[unused2]")
WORDS = (
    "who founded the town is a harbour on northern coast it was by after great flood its exports to",
    "islands every spring visitors praise quiet market and lighthouse what does export said about barley",
    "shipment item of list speaker salt copper wire which river crosses orvelle brackmoor lindisvale",
    "tarnwick ada penrose bertil krans",
)

SHAPE: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
}

DATA = DataConfig(
    questions={"hotpotqa": 8, "qed_nq": 8, "qmsum": 2},
    heldout={"hotpotqa": 2, "qed_nq": 3},
    negatives=2,
    heldout_negatives=3,
    neighbours="bm25",
)

PHASE2 = Phase2Config(
    questions=8, validation=3, learning_rate=1e-3, epochs=2, rollout_size=4, batch=2, trained_layers=1
)


def save_encoder(kind: str, folder: Path) -> None:
    """Save an encoder (`bert`, `modernbert` or `mpnet`) of random weights with its tokenizer."""
    if kind == "bert":
        BertModel(BertConfig(**SHAPE)).save_pretrained(folder)
    elif kind == "mpnet":
        MPNetModel(MPNetConfig(**SHAPE)).save_pretrained(folder)
    else:
        ids = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
        ModernBertModel(ModernBertConfig(**SHAPE, **ids)).save_pretrained(folder)
    save_tokenizer(folder)


def save_tokenizer(folder: Path) -> None:
    vocabulary = {token: i for i, token in enumerate((*SPECIAL, *dict.fromkeys(" ".join(WORDS).split())))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)


class _Classifier(torch.nn.Module):
    def __init__(self, model: BertForSequenceClassification) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def save_cross_encoders(one: Path, two: Path) -> None:
    """Save rerankers of random weights with one and with two logits, in transformers' format and as ONNX."""
    torch.manual_seed(5)
    config = BertConfig(**{**SHAPE, "num_hidden_layers": 1}, num_labels=2, initializer_range=0.5)
    config._attn_implementation = "eager"
    model = BertForSequenceClassification(config).eval()
    axes = {0: make_dimension("batch", 64), 1: make_dimension("length", 128, at_least=2)}
    ids = torch.ones((2, 8), dtype=torch.int64)
    inputs = {"input_ids": (ids, axes), "attention_mask": (ids.clone(), axes)}
    export_graph(_Classifier(model), inputs, ["logits"], two / "onnx" / "model.onnx")
    model.save_pretrained(two)
    # An export takes seconds, so the other graph is this one without its second logit.
    graph = onnx.load(two / "onnx" / "model.onnx")
    for table in graph.graph.initializer:
        if table.name.startswith("model.classifier."):
            first = onnx.numpy_helper.to_array(table)[:1]
            table.CopyFrom(onnx.numpy_helper.from_array(first, table.name))
    graph.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 1
    del graph.graph.value_info[:]
    (one / "onnx").mkdir()
    onnx.save(graph, one / "onnx" / "model.onnx")
    model.classifier = torch.nn.Linear(config.hidden_size, 1).requires_grad_(False)
    for name, value in BertForSequenceClassification.from_pretrained(two).classifier.named_parameters():
        getattr(model.classifier, name).copy_(value[:1])
    model.config.num_labels = 1
    model.save_pretrained(one)
    for folder in (one, two):
        save_tokenizer(folder)


def make_config(base: Path) -> SelectorConfig:
    return SelectorConfig(
        name="tiny",
        base_model=str(base),
        max_length=128,
        docs_per_window=3 if "modernbert" in base.name else 1,
        query_length=16,
        vectors="modernbert" not in base.name,
        data=DATA,
        train=TrainConfig(epochs=2, learning_rate=1e-3, batch_tokens=600, checkpoint_steps=2),
    )


def make_reader_config(base: Path) -> ReaderConfig:
    return ReaderConfig(
        base_model=str(base),
        sources=("squad_train44", "hotpotqa"),
        max_length=64,
        stride=16,
        heldout=4,
        batch=2,
        chunk=2,
        checkpoint_chunks=1,
    )


def train_phase1(config: SelectorConfig, data: Path, folder: Path) -> None:
    prepare_groups(data, folder, config.data, config.seed)
    train(config, Run(folder))


def read_all(run: Path) -> list[Group]:
    return [*read_groups(run, "train"), *read_groups(run, "heldout")]


def copy_groups(run: Path, target: Path) -> None:
    for part in ("train", "heldout"):
        write_groups(target, part, read_groups(run, part))


def make_layout(folder: Path) -> Layout:
    """Make a layout of 64 tokens with the tokenizer of the tiny encoders."""
    save_tokenizer(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return Layout(tokenizer, LayoutConfig(2, 3, 0, len(SPECIAL) - 2, len(SPECIAL) - 1, 64, query_length=8))


def make_document(
    title: str | None, sentences: Sequence[str], labels: Sequence[int], gold: int | None = None
) -> GroupDocument:
    """Make a document with a label for each sentence. By default it is gold if a label is not 0."""
    units: list[tuple[int, int]] = []
    for sentence in sentences:
        start = units[-1][1] + 1 if units else 0
        units.append((start, start + len(sentence)))
    return GroupDocument(
        title, " ".join(sentences), units, list(labels), int(any(labels)) if gold is None else gold
    )


class StringMatch:
    """A reader that gives an answer of the question if the context contains one."""

    name = "string match"
    trained_on: frozenset[str] = frozenset()

    def __init__(self, groups: Sequence[Group], fails_on: str = "") -> None:
        self.answers = {g.question: g.answers for g in groups}
        self.fails_on = fails_on
        self.prompts: list[Prompt] = []

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        self.prompts += prompts
        return [None if p.question == self.fails_on else self.find(p) for p in prompts]

    def find(self, prompt: Prompt) -> str:
        return next((a for a in self.answers[prompt.question] if contains_answer(prompt.context, [a])), "")
