"""A model is proved when it is loaded: a broken one is refused, even if its seal is whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxruntime.datasets import get_example

from tersely import Compressor
from tersely.embedding import SentenceEmbedder
from tersely.errors import ArtifactError
from tersely.runtime.artifacts import write_manifest
from tersely.score.vectors import GRAPH

NAN = float("nan")
Damage = Callable[[Path], object]


def rewrite(name: str, change: Callable[[Any], Any]) -> Damage:
    def damage(root: Path) -> None:
        value = json.loads((root / name).read_text(encoding="utf-8"))
        (root / name).write_text(json.dumps(change(value)), encoding="utf-8")

    return damage


def change_array(file: str, name: str, change: Callable[[Any], Any]) -> Damage:
    def damage(root: Path) -> None:
        with np.load(root / file) as stored:
            arrays = dict(stored)
        np.savez(root / file, **{**arrays, name: change(arrays[name])})

    return damage


def change_config(**changes: Any) -> Damage:
    return rewrite("config.json", lambda config: config | changes)


def change_layout(**changes: Any) -> Damage:
    return rewrite("config.json", lambda config: config | {"layout": config["layout"] | changes})


def change_fusion(layer: str, name: str, change: Callable[[Any], Any]) -> Damage:
    return rewrite(
        "fusion.json", lambda fusion: fusion | {layer: fusion[layer] | {name: change(fusion[layer][name])}}
    )


def add_token(tokenizer: Any) -> Any:
    vocabulary = tokenizer["model"]["vocab"]
    return tokenizer | {"model": tokenizer["model"] | {"vocab": vocabulary | {"zzz": len(vocabulary)}}}


def replace_graph(root: Path, name: str = "onnx/model_quantized.onnx") -> None:
    graph = root / name
    graph.unlink()
    shutil.copy(get_example("mul_1.onnx"), graph)


@pytest.mark.parametrize(
    "damage",
    [
        change_array("lexical.npz", "idf", lambda idf: idf[:-1]),
        change_array("lexical.npz", "idf", lambda idf: idf[None]),
        change_array("lexical.npz", "idf", lambda idf: np.full_like(idf, np.nan)),
        change_array("lexical.npz", "idf", lambda idf: np.full(idf.shape, "a")),
        change_config(threshold=NAN),
        change_config(threshold=7),
        change_config(threshold="high"),
        change_config(layout=None),
        change_layout(sen_id=10**6),
        change_layout(doc_id=-1),
        change_layout(pad_id=2**70),
        change_layout(max_length=100),
        change_layout(query_length="64"),
        change_layout(more=1),
        change_fusion("first", "weights", lambda values: [NAN, *values[1:]]),
        change_fusion("gate", "bias", lambda _: NAN),
        change_fusion("first", "deviation", lambda values: [0.0, *values[1:]]),
        change_fusion("first", "weights", lambda values: [[value, value] for value in values]),
        change_array("attention.npz", "input", lambda values: values * NAN),
        change_array("attention.npz", "deviation", lambda values: values * 0),
        change_array("attention.npz", "relation", lambda values: values[:, :-1]),
        change_array("attention.npz", "input", lambda values: values[0]),
        rewrite("fusion.json", lambda _: []),
        rewrite("calibration.json", lambda _: {"scores": [NAN], "questions": {}}),
        rewrite("calibration.json", lambda _: []),
        rewrite("tokenizer.json", add_token),
        rewrite("tokenizer.json", lambda _: {}),
        replace_graph,
        lambda root: (root / "lexical.npz").unlink(),
    ],
)
def test_a_broken_model_is_refused_when_it_is_loaded(model: Path, damage: Damage) -> None:
    damage(model)
    write_manifest(model)
    with pytest.raises(ArtifactError):
        Compressor(model)


class Bomb:
    """An object that leaves a trace when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


def test_no_code_of_a_model_is_run(model: Path) -> None:
    trace = model / "trace"
    change_array("lexical.npz", "idf", lambda _: np.array([Bomb(trace)], object))(model)
    write_manifest(model)
    with pytest.raises(ArtifactError):
        Compressor(model)
    assert not trace.exists()


def test_parts_that_the_manifest_does_not_list_are_not_loaded(model: Path) -> None:
    manifest = json.loads((model / "manifest.json").read_text(encoding="utf-8"))
    for name in ("calibration.json", GRAPH):
        del manifest["files"][name]
    (model / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert Compressor(model).compress("Who?", ["Ada built it. It is long."]).status != "failed_open"
    with pytest.raises(ArtifactError, match="has no onnx/sentences"):
        SentenceEmbedder(model)
    del manifest["files"]["lexical.npz"]
    (model / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"does not list lexical\.npz"):
        Compressor(model)


@pytest.mark.parametrize("load", [SentenceEmbedder, Compressor])
def test_broken_sentence_graph_is_refused_on_loading(model: Path, load: Any) -> None:
    replace_graph(model, GRAPH)
    write_manifest(model)
    with pytest.raises(ArtifactError):
        load(model)
