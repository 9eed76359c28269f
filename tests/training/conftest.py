"""Tiny encoders with random weights, and a data folder of texts written for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, ModernBertConfig, ModernBertModel, PreTrainedTokenizerFast

from tests.benchmarks.conftest import data as data

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", "[unused2]")
WORDS = (
    "who founded the town is a harbour on northern coast it was by after great flood its exports to",
    "islands every spring visitors praise quiet market and lighthouse what does export said about barley",
    "shipment item of list speaker salt copper wire which river crosses orvelle brackmoor lindisvale",
    "tarnwick ada penrose bertil krans",
)


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


SHAPE: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
}


@pytest.fixture(scope="session", params=["bert", "modernbert"])
def tiny_encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "bert":
        BertModel(BertConfig(**SHAPE)).save_pretrained(folder)
    else:
        ids = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
        ModernBertModel(ModernBertConfig(**SHAPE, **ids)).save_pretrained(folder)
    save_tokenizer(folder)
    return folder
