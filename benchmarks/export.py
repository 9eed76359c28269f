"""Encoders to ONNX with torch, for the controls of both benchmarks, and int8 as every graph here uses it."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from pathlib import Path
from typing import Any

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic


class _States(torch.nn.Module):
    """An encoder reduced to tensors in, last hidden states out, which is what the exporter can trace."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def export_encoder(encoder: Any, path: Path, *, max_length: int, external_data: bool = False) -> None:
    """Write a transformers encoder as `path`: inputs input_ids and attention_mask, output states, any batch
    size.

    Eager attention at opset 20 exports every encoder used here and is the faster graph in onnxruntime.
    `external_data` is needed above protobuf's limit of 2 GB.
    """
    encoder.set_attn_implementation("eager")
    model = _States(encoder).eval()
    sample = torch.ones((2, 8), dtype=torch.int64)
    axes = {
        0: torch.export.Dim("batch", min=1, max=4096),
        1: torch.export.Dim("length", min=2, max=max_length),
    }
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the exporter's own internals
        program = torch.onnx.export(
            model,
            (sample, sample.clone()),
            input_names=["input_ids", "attention_mask"],
            output_names=["states"],
            dynamic_shapes={"input_ids": axes, "attention_mask": axes},
            opset_version=20,
            dynamo=True,
        )
    assert program is not None
    partial = path if external_data else path.with_suffix(f".{os.getpid()}.onnx")
    program.save(str(partial), external_data=external_data)
    partial.replace(path)


def quantise(source: Path, target: Path) -> None:
    """Dynamic int8. Signed weights reach the fast kernels, per-channel scales keep the accuracy, and 7-bit
    weights cannot saturate the 16-bit sums of processors without VNNI."""
    quantize_dynamic(
        source,
        target,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        op_types_to_quantize=["MatMul", "Gather"],
    )
