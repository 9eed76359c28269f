"""Save and load a trained selector, with everything needed to run or export it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel

from tersely.score.layout import Layout, LayoutConfig
from training.checkpoint import save_whole
from training.selector_model.model import SelectorModel


def save_trained(model: SelectorModel, tokenizer: Any, layout: LayoutConfig, folder: Path) -> None:
    """Write the weights, the encoder's configuration, the tokenizer and the layout."""
    folder.mkdir(parents=True, exist_ok=True)
    save_whole(model.state_dict(), folder / "selector.pt")
    model.encoder.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "layout.json").write_text(json.dumps(layout.to_dict(), indent=2))


def load_trained(folder: Path) -> tuple[SelectorModel, LayoutConfig]:
    """Load the model, in evaluation mode on the CPU, and its layout."""
    encoder = AutoModel.from_config(AutoConfig.from_pretrained(folder))
    layout = _read_layout_config(folder)
    weights = load_weights(folder)
    is_wide = weights["keep.weight"].shape[1] > encoder.config.hidden_size
    model = SelectorModel(encoder, layout.doc_id, "pooled" if is_wide else "sen")
    model.load_state_dict(weights)
    return model.eval(), layout


def load_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Load the parameters by name, on the CPU."""
    return torch.load(folder / "selector.pt", map_location="cpu")


def load_layout(folder: Path) -> Layout:
    """Load the layout with its tokenizer."""
    return Layout(Tokenizer.from_file(str(folder / "tokenizer.json")), _read_layout_config(folder))


def _read_layout_config(folder: Path) -> LayoutConfig:
    return LayoutConfig.from_dict(json.loads((folder / "layout.json").read_text()))
