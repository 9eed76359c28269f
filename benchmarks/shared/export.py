"""Export from torch to ONNX and to int8, for the shipped model and for the controls of the benchmarks."""

# torch, transformers and onnxruntime's tools are typed in part only.
# pyright: basic

from __future__ import annotations

import contextlib
import copy
import io
import logging
import os
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

OPSET = 20

Inputs = dict[str, tuple[torch.Tensor, dict[int, Any]]]
"""Name to a sample and its free dimensions."""

LARGE_TABLE = 10_000
"""Number of rows from which a table of embeddings is quantised: that of the vocabulary."""


class _HiddenStates(torch.nn.Module):
    """An encoder from tensors to last hidden states, which the exporter can trace."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def export_encoder(encoder: Any, path: Path, *, max_length: int) -> None:
    """Write a transformers encoder: inputs input_ids and attention_mask, output states, free batch size."""
    encoder.set_attn_implementation("eager")
    sample = torch.ones((2, 8), dtype=torch.int64)
    axes = {0: make_dimension("batch", 4096), 1: make_dimension("length", max_length, at_least=2)}
    export_graph(
        _HiddenStates(encoder),
        {"input_ids": (sample, axes), "attention_mask": (sample.clone(), axes)},
        ["states"],
        path,
    )


def make_dimension(name: str, at_most: int, *, at_least: int = 1) -> Any:
    """Return a free dimension of a graph."""
    return torch.export.Dim(name, min=at_least, max=at_most)


def export_graph(model: torch.nn.Module, inputs: Inputs, outputs: list[str], path: Path) -> None:
    """Write a float32 graph.

    Eager attention at opset 20 exports every encoder used here and is the faster graph in onnxruntime. A
    network that differs from an earlier one in its weights alone isn't traced again.

    Args:
        inputs: name to a sample and its free dimensions, in the order of the model's arguments. Sizes of the
            sample must differ from each other and from 1, or the exporter takes them for constants.
        outputs: names, in the order in which the model returns them.
    """
    traced = _trace(_Network(_describe(model.eval(), inputs, outputs), model, inputs, outputs))
    program = copy.copy(traced)
    program.model = traced.model.clone()
    tensors = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers())
    program.apply_weights({name: tensors[name].detach() for name in program.model.graph.initializers})
    with contextlib.redirect_stdout(io.StringIO()):
        program.optimize()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.onnx")
    program.save(str(partial), external_data=False)
    partial.replace(path)


@dataclass(frozen=True)
class _Network:
    """A network with its inputs and outputs. Two with equal descriptions differ in their weights alone."""

    description: str
    model: torch.nn.Module = field(compare=False)
    inputs: Inputs = field(compare=False)
    outputs: list[str] = field(compare=False)


def _describe(model: torch.nn.Module, inputs: Inputs, outputs: list[str]) -> str:
    """Return all that the exporter's graph depends on, beside the weights."""
    parts: list[Any] = [outputs]
    for name, module in model.named_modules():
        plain = {k: v for k, v in vars(module).items() if isinstance(v, str | int | float | tuple | None)}
        parts.append((name, type(module).__qualname__, plain, str(getattr(module, "config", ""))))
    parts.extend((name, tuple(t.shape), t.dtype) for name, t in model.state_dict().items())
    parts.extend((name, tuple(t.shape), t.dtype, axes) for name, (t, axes) in inputs.items())
    return repr(parts)


@lru_cache(maxsize=4)
def _trace(network: _Network) -> Any:
    """Return the exporter's program, before it is optimised: that step renames the weights."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the exporter's own internals
        program = torch.onnx.export(
            network.model,
            tuple(sample for sample, _ in network.inputs.values()),
            input_names=list(network.inputs),
            output_names=network.outputs,
            dynamic_shapes=tuple(axes for _, axes in network.inputs.values()),
            opset_version=OPSET,
            dynamo=True,
            optimize=False,
        )
    assert program is not None
    return program


def quantise(source: Path, target: Path, *, narrowing: bool = True) -> None:
    """Quantise the graph `source` to dynamic int8 and write it to `target`.

    narrowing: True to turn the layers with fewer outputs than inputs into int8 too. If their inputs have
        outliers, as in MPNet, the one scale of all inputs leaves too few steps for the rest.

    Signed weights reach the fast kernels, scales for each channel keep the accuracy, and 7-bit weights cannot
    saturate the 16-bit sums of processors without VNNI. Small tables stay as they are: one step for a whole
    table of positions would be a third of its standard deviation.
    """
    graph = onnx.load(source, load_external_data=False).graph
    tables = {t.name: t.dims for t in graph.initializer if len(t.dims) == 2}
    small = {name for name, (rows, _) in tables.items() if rows < LARGE_TABLE}
    whole = set() if narrowing else {name for name, (inputs, outputs) in tables.items() if inputs > outputs}
    quantize_dynamic(
        source,
        target,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        op_types_to_quantize=["MatMul", "Gather"],
        nodes_to_exclude=[
            n.name
            for n in graph.node
            if (n.op_type == "Gather" and n.input[0] in small)
            or (n.op_type == "MatMul" and n.input[1] in whole)
        ],
    )
