"""`python -m training.export.restore --config training/configs/selector_mini.toml --out RUN`: restore the
weights of an artifact, to continue training.

Writes RUN/final for `--start-from`. The weights come from the int8 graph, so they have been rounded once;
exporting them unchanged gives that graph again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from tersely.runtime.artifacts import load_artifact
from tersely.score.layout import check_layout_version
from training.selector_model.config import SelectorConfig
from training.selector_model.model import build_selector
from training.selector_model.trained import save_trained
from training.settings import read_settings

OUTPUTS = ("keep_logits", "relevance_logits")
OLD_PREFIX = "model."
"""Prefix of the selector's parameters in graphs that were exported with another output."""
_PARAMETER = (".weight", ".bias")


def restore(config: SelectorConfig, folder: Path | None, out: Path, base_share: float = 0.0) -> None:
    """Write the weights of the artifact in `folder` to `out`; None is the bundled one.

    The encoder's weights become (1 - base_share) * artifact + base_share * base model. A small share gives
    back what training made the encoder forget (weight averaging: Wortsman et al. 2022, "Robust fine-tuning of
    zero-shot models", equation 1).

    Raises ValueError if `config` does not describe the artifact, or `base_share` is outside of 0 to 1.
    """
    if not 0 <= base_share <= 1:
        raise ValueError(f"--base-share is {base_share:g}; it must be from 0 to 1")
    artifact = load_artifact(folder)
    check_layout_version(artifact)
    model, tokenizer, layout = build_selector(config)
    if layout.to_dict() != artifact.config["layout"]:
        raise ValueError(f"{artifact.name} does not have the layout that these settings give")
    parameters = read_weights(onnx.load(artifact.model_path).graph)
    for name, value in model.encoder.state_dict(prefix="encoder.").items():
        if name in parameters:
            parameters[name] = torch.lerp(parameters[name], value, base_share)
    keys = model.load_state_dict(parameters, strict=False)
    missing = [name for name in keys.missing_keys if not name.startswith("encoder.pooler.")]
    if missing or keys.unexpected_keys:
        raise ValueError(
            f"{artifact.name} was not made from {config.base_model}: {missing or keys.unexpected_keys}"
        )
    save_trained(model, tokenizer, layout, out)
    (out / "runs.json").write_text(json.dumps(artifact.manifest["runs"], indent=2))


def read_weights(graph: Any) -> dict[str, torch.Tensor]:
    """Read the parameters of a graph that `training.export` wrote, by their names in the model."""
    values = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    producers = {name: node for node in graph.node for name in node.output}
    consumers = {name: node for node in graph.node for name in node.input}
    parameters: dict[str, NDArray[Any]] = {}
    for name, value in values.items():
        if name.removesuffix("_quantized").endswith(_PARAMETER):
            is_quantized = name.endswith("_quantized")  # embeddings
            parameters[name.removesuffix("_quantized")] = (
                _dequantised(values, name) if is_quantized else value
            )
    for node in graph.node:
        is_int8 = node.op_type == "MatMulInteger"
        if is_int8 or (node.op_type == "MatMul" and node.input[1] in values):
            # The graph names a linear layer's bias, but not its weight.
            after = node
            while after.op_type != "Add":
                after = consumers[after.output[0]]
            bias = next(name for name in after.input if name.endswith(".bias"))
            matrix = _dequantised(values, node.input[1]) if is_int8 else values[node.input[1]]
            parameters[f"{bias.removesuffix('bias')}weight"] = matrix.T
    scales = [_find_scale(producers, values, name) for name in OUTPUTS]
    parameters["scale"] = np.array(scales, dtype=np.float32)
    return {
        name.removeprefix(OLD_PREFIX): torch.from_numpy(np.array(value, dtype=np.float32))
        for name, value in parameters.items()
    }


def _dequantised(values: dict[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    """Convert an int8 matrix to float32; scale and zero point are per column, or one for all."""
    stem = name.removesuffix("_quantized")
    zero = values[f"{stem}_zero_point"].astype(np.float32)
    return (values[name].astype(np.float32) - zero) * values[f"{stem}_scale"]


def _find_scale(producers: dict[str, Any], values: dict[str, NDArray[Any]], output: str) -> float:
    """Return the factor of a head's cosine (logit = head + factor * cosine); 0 for a head without a
    cosine."""
    products = [producers[name] for name in producers[output].input if name in producers]
    factors = (
        float(values[name])
        for node in products
        if node.op_type == "Mul"
        for name in node.input
        if name in values and not values[name].ndim
    )
    return next(factors, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.export.restore", description=__doc__)
    parser.add_argument(
        "--config", type=Path, required=True, help="the settings that the artifact was trained with"
    )
    parser.add_argument("--artifact", type=Path, help="its folder; the bundled model by default")
    parser.add_argument("--out", type=Path, required=True, help="run folder; the weights go to its `final`")
    parser.add_argument(
        "--base-share",
        type=float,
        default=0.0,
        help="share of the base model in the encoder's weights, 0 to 1",
    )
    args = parser.parse_args()
    try:
        settings = read_settings(SelectorConfig, args.config)
        restore(settings, args.artifact, args.out / "final", args.base_share)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
