"""Read the weights of a checkpoint of verl, TRL or transformers, and turn them into an adapter.

An adapter is taken as it is. Of a whole model, each linear layer's difference from the base becomes a
low-rank product, by its largest singular values; differences of other weights are left out.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from training.causal import ADAPTER_FILES

_SHARD = re.compile(r"model_world_size_(\d+)_rank_(\d+)\.pt$")
_LINEAR = re.compile(r"layers\.\d+\.(?:self_attn|mlp)\.\w+\.weight$")


def find_weights(checkpoint: Path) -> Path:
    """Return the folder with the policy's weights: of verl's `global_step_N` its `actor` or the adapter in
    it, and of TRL's output folder its last checkpoint.

    Raises ValueError if the folder has no weights.
    """
    steps = sorted(checkpoint.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    places = (checkpoint / "actor", checkpoint, *steps[::-1])
    for folder in (place for parent in places for place in (parent / "lora_adapter", parent)):
        if any((folder / name).exists() for name in ADAPTER_FILES[1:]) or _list_files(folder):
            return folder
    raise ValueError(f"{checkpoint} holds no weights: expected a checkpoint of verl, TRL or transformers")


def _list_files(folder: Path) -> list[Path]:
    shards = [path for path in folder.glob("*.pt") if _SHARD.search(path.name)]
    return sorted(shards) or sorted(folder.glob("model*.safetensors"))


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Read all weights of a model: safetensors, or the shards of verl's FSDP.

    Raises ValueError if a shard is missing.
    """
    files = _list_files(folder)
    if files[0].suffix != ".pt":
        return {name: weight for file in files for name, weight in load_file(file).items()}
    worlds = {int(match[1]) for file in files if (match := _SHARD.search(file.name))}
    if worlds != {len(files)}:
        raise ValueError(f"{folder} has {len(files)} shards of {max(worlds)}")
    parts: defaultdict[str, list[Any]] = defaultdict(list)
    order = sorted(files, key=lambda file: int(_SHARD.search(file.name)[2]))
    for file in order:
        # The shards hold DTensors, which need pickle: read only checkpoints of your own.
        for name, weight in torch.load(file, map_location="cpu", weights_only=False).items():
            parts[name].append(weight)
    return {name: _join(weights) for name, weights in parts.items()}


def _join(parts: list[Any]) -> Tensor:
    """Join the parts of a weight, which are DTensors if it is sharded."""
    first = parts[0]
    if not hasattr(first, "placements"):
        return first
    local = [part.to_local() for part in parts]
    (placement,) = [p for p in first.placements if p.is_shard()] or [None]
    return local[0] if placement is None else torch.cat(local, dim=placement.dim)


def make_adapter(
    weights: Mapping[str, Tensor], base: Any, name: str, folder: Path, rank: int
) -> dict[str, float]:
    """Write the difference of `weights` from the model `base`, called `name`, as an adapter of peft.

    Returns `kept`, the share of the linear layers' squared difference that the adapter has, and `left_out`,
    the share of the whole squared difference in other weights. Raises ValueError for weights of another
    model.
    """
    old = base.state_dict()
    shared = {key: weight for key, weight in weights.items() if key in old}
    if not any(map(_LINEAR.search, shared)) or any(old[k].shape != w.shape for k, w in shared.items()):
        raise ValueError("the checkpoint holds weights of a model that is not the base")
    factors: dict[str, Tensor] = {}
    whole = linear = kept = 0.0
    for key, weight in shared.items():
        difference = weight.float() - old[key].float()
        size = float(difference.square().sum())
        whole += size
        if not _LINEAR.search(key):
            continue
        left, values, right = torch.svd_lowrank(difference, q=min(rank, *difference.shape), niter=4)
        linear += size
        kept += float(values.square().sum())
        path = f"base_model.model.{key.removesuffix('.weight')}"
        factors[f"{path}.lora_A.weight"] = (values.sqrt()[:, None] * right.T).contiguous()
        factors[f"{path}.lora_B.weight"] = (left * values.sqrt()).contiguous()
    save_file(factors, folder / "adapter_model.safetensors")
    layers = sorted({key.split(".")[-3] for key in factors})
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": name,
        "r": rank,
        "lora_alpha": rank,
        "target_modules": layers,
        "inference_mode": True,
    }
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    return {"kept": kept / max(linear, 1e-30), "left_out": 1 - linear / max(whole, 1e-30)}


def copy_adapter(source: Path, name: str, folder: Path) -> None:
    """Copy an adapter in float16, with the name of its base model."""
    shutil.copy(source / ADAPTER_FILES[0], folder)
    config = json.loads((folder / ADAPTER_FILES[0]).read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = name
    (folder / ADAPTER_FILES[0]).write_text(json.dumps(config, indent=2), encoding="utf-8")
    weights = load_file(source / ADAPTER_FILES[1])
    save_file({key: weight.half() for key, weight in weights.items()}, folder / ADAPTER_FILES[1])
