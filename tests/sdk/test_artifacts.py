"""Model folders: found, checked against their manifest, refused with a remedy."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tersely.errors import ArtifactError, OfflineError
from tersely.runtime.artifacts import MANIFEST, load_artifact, write_manifest
from tersely.score.layout import LAYOUT_VERSION, Layout

GRAPH = "onnx/model.onnx"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "model"
    (root / "onnx").mkdir(parents=True)
    (root / "config.json").write_text(
        json.dumps({"kind": "selector", "name": "tiny", "layout_version": LAYOUT_VERSION}), encoding="utf-8"
    )
    (root / "tokenizer.json").write_text("{}", encoding="utf-8")
    (root / "README.md").write_text("# tiny\n", encoding="utf-8")
    (root / GRAPH).write_bytes(bytes(range(256)) * 64)
    write_manifest(root, command="train tiny", metrics={"answers": 0.5})
    return root


def edit_config(root: Path, **changes: object) -> None:
    path = root / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    write_manifest(root)


def test_a_sealed_folder_loads_with_its_facts(folder: Path) -> None:
    artifact = load_artifact(folder)
    assert artifact.name == "tiny"
    assert artifact.manifest["command"] == "train tiny"
    assert artifact.manifest["metrics"] == {"answers": 0.5}
    assert set(artifact.manifest["files"]) == {"config.json", "tokenizer.json", "README.md", GRAPH}
    assert artifact.tokenizer_path == folder / "tokenizer.json"
    assert artifact.model_path == folder / GRAPH


def test_the_quantized_graph_is_preferred(folder: Path) -> None:
    (folder / "onnx" / "model_quantized.onnx").write_bytes(b"small")
    write_manifest(folder)
    assert load_artifact(str(folder)).model_path.name == "model_quantized.onnx"


def test_a_graph_that_the_manifest_does_not_list_is_not_loaded(folder: Path) -> None:
    fingerprint = load_artifact(folder).fingerprint
    (folder / "onnx" / "model_quantized.onnx").write_bytes(b"another")
    artifact = load_artifact(folder)
    assert (artifact.fingerprint, artifact.model_path.name) == (fingerprint, "model.onnx")


def test_a_file_that_the_manifest_does_not_list_has_no_path(folder: Path) -> None:
    (folder / "calibration.json").write_text("{}", encoding="utf-8")
    artifact = load_artifact(folder)
    assert not artifact.lists("calibration.json")
    with pytest.raises(ArtifactError, match=r"does not list calibration\.json"):
        artifact.file("calibration.json")


def test_missing_training_file_is_fine_but_damaged_is_not(folder: Path) -> None:
    weights = folder / "adapter_model.safetensors"
    weights.write_bytes(b"weights")
    write_manifest(folder, training_files=[weights.name])
    assert weights.name in load_artifact(folder).files
    weights.write_bytes(b"weighty")
    with pytest.raises(ArtifactError, match="changed or damaged"):
        load_artifact(folder)
    weights.unlink()
    assert weights.name not in load_artifact(folder).files


def flip_a_bit(root: Path) -> None:
    path = root / GRAPH
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)


def write_text(name: str, text: str) -> Callable[[Path], None]:
    return lambda root: (root / name).write_text(text, encoding="utf-8") and None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda root: (root / MANIFEST).unlink(), r"no manifest\.json.*export"),
        (lambda root: (root / GRAPH).unlink(), r"model\.onnx is missing"),
        (lambda root: (root / "tokenizer.json").unlink(), r"tokenizer\.json is missing"),
        (lambda root: (root / GRAPH).write_bytes(b"half"), r"has 4 bytes, not 16384"),
        (flip_a_bit, r"changed or damaged"),
        (write_text(MANIFEST, '{"format": 1'), r"not valid JSON"),
        (write_text(MANIFEST, "[]"), r"does not hold a JSON object"),
        (write_text(MANIFEST, '{"format": 99, "files": {}}'), r"format 99.*Upgrade"),
        (write_text(MANIFEST, '{"format": 1, "files": {}}'), r"does not list"),
        (write_text(MANIFEST, '{"format": 1, "files": {"config.json": {}}}'), r"bad entry 'config\.json'"),
        (lambda root: (root / GRAPH).unlink() or write_manifest(root), r"or neither of"),
        (lambda root: (root / MANIFEST).write_bytes(b"\xff\xfe\x00"), r"not valid JSON"),
        (lambda root: replace_entry("../outside", ENTRY)(root), r"bad entry"),
        (lambda root: edit_config(root, kind="summarizer"), r"kind 'summarizer', not a 'selector'"),
    ],
)
def test_the_error_names_the_damage_and_its_remedy(
    folder: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(folder)
    with pytest.raises(ArtifactError, match=message):
        load_artifact(folder)


def replace_entry(name: str, entry: object) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
        manifest["files"][name] = entry
        (root / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")

    return damage


def replace_file(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        (root / name).unlink()
        make(root / name)

    return damage


ENTRY = {"sha256": "0" * 64, "size": 1}
ODD_NAMES = ["nul\0", "", ".", "..", "a/../../b", "/etc/passwd", "..\\up", "C:x", "\udcff", "a" * 300]
ODD_VALUES = [*({"size": size} for size in ("1", True, 1.0, 10**30)), {"sha256": None}, {"more": [[]]}]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders on this platform")
@pytest.mark.parametrize("name", [MANIFEST, "config.json", GRAPH])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_an_endless_file_is_refused_at_once(
    folder: Path, name: str, make: Callable[[Path], object]
) -> None:
    replace_file(name, make)(folder)
    with pytest.raises(ArtifactError, match="not a regular file"):
        load_artifact(folder)


@pytest.mark.parametrize(
    "damage",
    [
        write_text(MANIFEST, "[" * 100_000),
        write_text(MANIFEST, '{"format": 1, "files": {}, "training_files": [[5]]}'),
        write_text(MANIFEST, f'{{"format": 1, "files": {{}}, "x": {"[" * 500}{"]" * 500}}}'),
        write_text(MANIFEST, f'{{"format": {"1" * 10_000}}}'),
        write_text(MANIFEST, " " * (2**24 + 1)),
        lambda root: write_text("config.json", f'{{"kind": {"[" * 50_000}')(root) or write_manifest(root),
        *(replace_entry(name, ENTRY) for name in ODD_NAMES),
        *(
            replace_entry(GRAPH, entry)
            for entry in (None, [], {}, *({**ENTRY, **change} for change in ODD_VALUES))
        ),
        replace_file(GRAPH, Path.mkdir),
        replace_file(GRAPH, lambda path: path.symlink_to(path)),
    ],
)
def test_every_odd_folder_is_refused_with_the_same_error(
    folder: Path, damage: Callable[[Path], object]
) -> None:
    damage(folder)
    with pytest.raises(ArtifactError):
        load_artifact(folder)


@pytest.mark.parametrize("name", ["a" * 5_000, "~nobody-of-this-name/model", "\udcff"])
def test_every_odd_path_is_refused_with_the_same_error(name: str) -> None:
    with pytest.raises(ArtifactError):
        load_artifact(name)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (LAYOUT_VERSION + 1, r"layout version.*Upgrade"),
        (0, r"layout version 0.*Export"),
        (None, r"layout version None"),
    ],
)
def test_another_layout_version_is_refused(folder: Path, version: int | None, message: str) -> None:
    edit_config(folder, layout_version=version)
    with pytest.raises(ArtifactError, match=message):
        Layout.load(load_artifact(folder))


def test_a_tokenizer_that_cannot_be_read_is_refused(folder: Path) -> None:
    with pytest.raises(ArtifactError, match="cannot be used"):
        Layout.load(load_artifact(folder))


def test_paths_without_a_model_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="is a file"):
        load_artifact(folder / "config.json")
    with pytest.raises(ArtifactError, match="no model folder"):
        load_artifact(tmp_path / "absent")
    with pytest.raises(ArtifactError, match="no model folder"):
        load_artifact(Path("looks/like-a-hub-name"))


def test_offline_mode_refuses_only_hub_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    with pytest.raises(OfflineError, match="TERSELY_OFFLINE"):
        load_artifact("someone/some-model")
    assert load_artifact(folder).name == "tiny"


def test_manifest_facts_cannot_replace_the_hashes(folder: Path) -> None:
    with pytest.raises(ArtifactError, match="files"):
        write_manifest(folder, files={})
