"""Saving and loading of a selector."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tersely.score.layout import EncodedDocument, collate
from tests.training.tiny import make_config, save_encoder
from training.selector_model.model import build_selector
from training.selector_model.trained import load_layout, load_trained, save_trained


@pytest.mark.parametrize("kind", ["bert", "modernbert", "mpnet"])
def test_loaded_selector_computes_what_the_saved_one_did(kind: str, tmp_path: Path) -> None:
    """transformers has no fused attention for MPNet."""
    save_encoder(kind, tmp_path / kind)
    model, tokenizer, layout_config = build_selector(make_config(tmp_path / kind))
    save_trained(model, tokenizer, layout_config, tmp_path / "final")
    loaded, _ = load_trained(tmp_path / "final")
    layout = load_layout(tmp_path / "final")
    question, title, *sentences = layout.tokenize(["what river", "the town", "by the river", "a harbour"])
    windows = layout.windows(question, [EncodedDocument(title, sentences)])
    inputs = {
        name: torch.from_numpy(values) for name, values in collate(windows, layout_config.pad_id).items()
    }
    with torch.inference_mode():
        torch.testing.assert_close(loaded(**inputs), model.eval()(**inputs))
