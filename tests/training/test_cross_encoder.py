"""The ONNX cross-encoder against transformers, on tiny models with random weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertForSequenceClassification

from tersely import ArtifactError, Document
from tersely.rerank import CrossEncoder

QUERY = "who founded the town"
DOCS = [
    Document("the town was founded by ada penrose after the great flood", title="orvelle"),
    Document("visitors praise the quiet market"),
    Document("copper wire is on the list of exports " * 40),
]
LIMITS = {"truncation": "only_second", "max_length": 96, "return_token_type_ids": False}


@pytest.mark.parametrize("labels", [1, 2])
def test_scores_are_those_of_transformers(labels: int, cross_encoders: dict[int, Path]) -> None:
    folder = cross_encoders[labels]
    scores = CrossEncoder(folder, max_length=96).rank(QUERY, DOCS)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for document, score in zip(DOCS, scores, strict=True):
        text = f"{document.title}\n{document.text}" if document.title else document.text
        with torch.inference_mode():
            logits = model(**tokenizer(QUERY, text, return_tensors="pt", **LIMITS)).logits[0]
        logit = logits[0] if labels == 1 else logits[1] - logits[0]
        assert score == pytest.approx(float(torch.sigmoid(logit)), abs=1e-5)
    assert len(set(scores)) == 3


def test_error_names_the_missing_part(cross_encoders: dict[int, Path], tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"has none of .*model\.onnx"):
        CrossEncoder(tmp_path)
    (tmp_path / "model.onnx").write_bytes((cross_encoders[1] / "onnx" / "model.onnx").read_bytes())
    with pytest.raises(ArtifactError, match=r"tokenizer\.json"):
        CrossEncoder(tmp_path)
