"""The ONNX cross-encoder against transformers, on a tiny model with random weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertForSequenceClassification

from tersely import ArtifactError, Document
from tersely.rerank import CrossEncoder
from tests.training.tiny import save_cross_encoder

QUERY = "who founded the town"
DOCS = [
    Document("the town was founded by ada penrose after the great flood", title="orvelle"),
    Document("visitors praise the quiet market"),
    Document("copper wire is on the list of exports " * 40),
]


@pytest.fixture(scope="module", params=[1, 2])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cross")
    save_cross_encoder(out, labels=request.param)
    return out


def test_scores_are_those_of_transformers(folder: Path) -> None:
    scores = CrossEncoder(folder, max_length=96).rank(QUERY, DOCS)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for document, score in zip(DOCS, scores, strict=True):
        text = f"{document.title}\n{document.text}" if document.title else document.text
        pair = tokenizer(
            QUERY,
            text,
            truncation="only_second",
            max_length=96,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        with torch.inference_mode():
            logits = model(**pair).logits[0]
        logit = logits[0] if len(logits) == 1 else logits[1] - logits[0]
        assert score == pytest.approx(float(torch.sigmoid(logit)), abs=1e-5)
    assert len(set(scores)) == 3


def test_the_error_names_the_part_that_a_folder_lacks(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"has none of .*model\.onnx"):
        CrossEncoder(tmp_path)
    (tmp_path / "model.onnx").write_bytes((folder / "onnx" / "model.onnx").read_bytes())
    with pytest.raises(ArtifactError, match=r"tokenizer\.json"):
        CrossEncoder(tmp_path)
