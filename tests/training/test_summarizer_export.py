"""The adapter of a summarizer as GGUF: the order of its rows, and its names."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gguf")
from gguf import GGUFReader
from safetensors.numpy import save_file

from training.summarizer.card import render_card
from training.summarizer.export import read_arguments
from training.summarizer.gguf import interleave_heads, write_gguf


def test_the_halves_of_a_head_are_interleaved() -> None:
    rows = np.arange(8, dtype=np.float32).reshape(8, 1)
    assert interleave_heads(rows, 2).ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert interleave_heads(rows, 1).ravel().tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


def save_adapter(folder: Path, layer: str = "self_attn.q_proj") -> Path:
    key = f"base_model.model.model.layers.3.{layer}"
    weights = {
        f"{key}.lora_A.weight": np.ones((2, 6), np.float16),
        f"{key}.lora_B.weight": np.arange(16, dtype=np.float16).reshape(8, 2),
    }
    save_file(weights, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"lora_alpha": 32, "r": 2}), "utf-8")
    return folder


def test_the_file_has_llama_cpps_names_and_order(tmp_path: Path) -> None:
    file = tmp_path / "adapter.gguf"
    write_gguf(save_adapter(tmp_path), file, heads=2, kv_heads=1)
    reader = GGUFReader(file)
    tensors = {tensor.name: np.asarray(tensor.data) for tensor in reader.tensors}
    assert set(tensors) == {"blk.3.attn_q.weight.lora_a", "blk.3.attn_q.weight.lora_b"}
    assert tensors["blk.3.attn_q.weight.lora_a"].shape == (2, 6)
    assert tensors["blk.3.attn_q.weight.lora_b"][:, 0].tolist() == [0, 4, 2, 6, 8, 12, 10, 14]
    fields = {name: reader.fields[name].contents() for name in ("general.type", "adapter.type")}
    assert fields == {"general.type": "adapter", "adapter.type": "lora"}
    assert reader.fields["adapter.lora.alpha"].contents() == 32


def test_a_layer_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="which GGUF has no name for"):
        write_gguf(save_adapter(tmp_path, "mlp.router"), tmp_path / "a.gguf", heads=1, kv_heads=1)


def test_the_card_names_the_base_the_data_and_their_licences() -> None:
    facts = {
        "base_model": "owner/base",
        "training_command": "python -m training.summarizer",
        "data": {"qmsum": 3, "hotpotqa": 4},
        "teachers": [],
        "run": {"examples": 5, "tokens": 1234, "minutes": 6, "heldout_loss": [1.5, 0.5]},
        "parity": {"agreement": 0.99, "tokens": 100, "replies": 2},
        "adapter": {"rank": 16, "alpha": 32, "layers": 12},
    }
    card = render_card("my-model", facts)
    for part in (
        "owner/base",
        "Apache-2.0",
        "| qmsum | QMSum | MIT |",
        "CC BY-SA 4.0",
        "5 examples",
        "99.0 %",
    ):
        assert part in card
    assert "no teacher model" in card
    assert "teacher: large-model" in render_card("my-model", {**facts, "teachers": ["large-model"]})


@pytest.mark.parametrize(("given", "named"), [([], ""), (["--max-minutes", "47"], " --max-minutes 47")])
def test_the_card_names_the_command_that_trained_the_run(
    given: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["export", "--run", "r", "--out", "o", *given])
    args = read_arguments("training.agent", None, "own.toml")
    assert args.command == f"python -m training.agent --config own.toml --data DATA --out RUN{named}"
