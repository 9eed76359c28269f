"""The adapter of a summarizer as GGUF: the order of its rows, and its names."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader
from safetensors.numpy import save_file

from training.summarizer.card import render_card
from training.summarizer.export import make_parser, read_arguments
from training.summarizer.gguf import interleave_heads, write_gguf
from training.summarizer.package import Base


def save_adapter(folder: Path, layer: str = "self_attn.q_proj") -> Path:
    key = f"base_model.model.model.layers.3.{layer}"
    weights = {
        f"{key}.lora_A.weight": np.ones((2, 6), np.float16),
        f"{key}.lora_B.weight": np.arange(16, dtype=np.float16).reshape(8, 2),
    }
    save_file(weights, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"lora_alpha": 32, "r": 2}), "utf-8")
    return folder


def test_file_has_the_names_and_order_of_llama_cpp(tmp_path: Path) -> None:
    write_gguf(save_adapter(tmp_path), tmp_path / "adapter.gguf", heads=2, kv_heads=1)
    reader = GGUFReader(tmp_path / "adapter.gguf")
    tensors = {tensor.name: np.asarray(tensor.data) for tensor in reader.tensors}
    assert set(tensors) == {"blk.3.attn_q.weight.lora_a", "blk.3.attn_q.weight.lora_b"}
    assert tensors["blk.3.attn_q.weight.lora_a"].shape == (2, 6)
    # The halves of each of two heads are interleaved.
    assert tensors["blk.3.attn_q.weight.lora_b"][:, 0].tolist() == [0, 4, 2, 6, 8, 12, 10, 14]
    rows = np.arange(8, dtype=np.float32).reshape(8, 1)
    assert interleave_heads(rows, 1).ravel().tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    names = ("general.type", "adapter.type", "adapter.lora.alpha")
    assert [reader.fields[name].contents() for name in names] == ["adapter", "lora", 32]


def test_refuses_a_layer_without_a_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="which GGUF has no name for"):
        write_gguf(save_adapter(tmp_path, "mlp.router"), tmp_path / "a.gguf", heads=1, kv_heads=1)


@pytest.mark.parametrize(
    ("teachers", "named"), [([], "no teacher model"), (["large-model"], "teacher: large-model")]
)
def test_card_names_data_licences_and_teacher(teachers: list[str], named: str) -> None:
    facts = {
        "base_model": "owner/base",
        "training_command": "python -m training.summarizer",
        "data": {"qmsum": 3, "hotpotqa": 4},
        "teachers": teachers,
        "run": {"examples": 5, "tokens": 1234, "minutes": 6, "heldout_loss": [1.5, 0.5]},
        "parity": {"agreement": 0.99, "tokens": 100, "replies": 2},
        "adapter": {"rank": 16, "alpha": 32, "layers": 12},
        "blocks": 30,
    }
    card = render_card("my-model", facts)
    assert all(part in card for part in ("| qmsum | QMSum | MIT |", "CC BY-SA 4.0", "99.0 %", named))


@pytest.mark.parametrize(("given", "named"), [([], ""), (["--max-minutes", "47"], " --max-minutes 47")])
def test_export_names_the_command_that_trained_the_run(
    given: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["export", "--run", "r", "--out", "o", *given])
    args = read_arguments("training.agent", make_parser("training.agent", None, "own.toml"))
    assert args.command == f"python -m training.agent --config own.toml --data DATA --out RUN{named}"
    assert args.base == Base()


def test_export_needs_the_base_model_for_both_libraries(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["export", "--run", "r", "--out", "o", "--base", "folder", "--base-name", "owner/base"]
    monkeypatch.setattr(sys, "argv", [*given, "--base-gguf", "base.gguf"])
    args = read_arguments("training.agent", make_parser("training.agent", None, "own.toml"))
    assert args.base == Base("owner/base", "folder", Path("base.gguf"))
    assert "--out RUN --base owner/base" in args.command
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit):
        read_arguments("training.agent", make_parser("training.agent", None, "own.toml"))
    assert "--base and --base-gguf belong together" in capsys.readouterr().err
