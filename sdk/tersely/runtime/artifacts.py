"""Find, check and seal model folders.

An artifact is a folder with `config.json`, a model card `README.md`, `manifest.json`, and the files of its
kind. A selector has `tokenizer.json`, and `onnx/model_quantized.onnx` or `onnx/model.onnx` or both; a
summarizer or an agent has an adapter in a GGUF file. The manifest holds the SHA-256 and the size of every
other file, and facts about the export. The files that it lists under "training_files" are needed only for
further training. The repository has them, but an installed package may lack them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PureWindowsPath
from typing import Any, cast

from tersely.errors import ArtifactError, InvalidInputError, TerselyError, is_failure
from tersely.runtime.paths import check_path

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
BUNDLED = "tersely-mini"
"""The selector to use if no model is named."""
ALL_BUNDLED = (BUNDLED, "tersely-agent")

_PACKAGE = Path(__file__).resolve().parent.parent
_GRAPHS = ("onnx/model_quantized.onnx", "onnx/model.onnx")
_REMEDY = "Reinstall tersely, or fetch or export the model again."
_MAX_JSON_BYTES = 2**24
"""Largest number of bytes of a manifest or a configuration."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A checked model folder."""

    path: Path
    config: dict[str, Any]
    manifest: dict[str, Any]

    @property
    def name(self) -> str:
        """The name in the configuration, or else the name of the folder."""
        return str(self.config.get("name") or self.path.name)

    @property
    def fingerprint(self) -> str:
        """A checksum of all listed files: eight hexadecimal digits."""
        files = json.dumps(self.manifest["files"], sort_keys=True)
        return hashlib.sha256(files.encode()).hexdigest()[:8]

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the manifest, all but its format and files, as `write_manifest` takes them."""
        return {name: value for name, value in self.manifest.items() if name not in ("format", "files")}

    def hash_of(self, *names: str) -> str:
        """Return a checksum of these listed files: eight hexadecimal digits."""
        files: dict[str, Any] = self.manifest["files"]
        return hashlib.sha256("".join(files[name]["sha256"] for name in names).encode()).hexdigest()[:8]

    @property
    def tokenizer_path(self) -> Path:
        return self.file("tokenizer.json")

    @property
    def model_path(self) -> Path:
        """The quantized graph if the manifest lists one, else the full one."""
        quantized, full = _GRAPHS
        return self.file(quantized if self.lists(quantized) else full)

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """Size and SHA-256 of the listed files, without training files that are not installed."""
        files: dict[str, dict[str, Any]] = self.manifest["files"]
        return {name: entry for name, entry in files.items() if (self.path / name).is_file()}

    def lists(self, name: str) -> bool:
        """Return whether the manifest lists a file."""
        return name in self.manifest["files"]

    def file(self, name: str) -> Path:
        """Return the path of a listed file. Raises ArtifactError for any other: it was not checked."""
        if not self.lists(name):
            raise ArtifactError(f"{self.path / MANIFEST} does not list {name}. {_REMEDY}")
        return self.path / name

    @contextmanager
    def translate_errors(self) -> Generator[None]:
        """Turn any failure of the block, which loads the model, into an ArtifactError."""
        try:
            yield
        except TerselyError:
            raise
        except BaseException as error:
            if not is_failure(error):  # such as Ctrl-C
                raise
            cause = error or type(error).__name__
            raise ArtifactError(f"{self.path} cannot be used ({cause}). {_REMEDY}") from error


def load_artifact(name_or_path: str | Path | None = None, *, kind: str | None = "selector") -> Artifact:
    """Find and check a model folder. Files that the manifest does not list are never loaded.

    Args:
        name_or_path: None for the bundled selector, a folder, the name of a bundled model, or a hub name
            "owner/name". A folder wins over a name of the same spelling. Only a hub name uses the network.
        kind: the kind of model that the caller can run; None for any.

    Raises:
        ArtifactError: the folder is missing or damaged, or the model is of another kind.
        OfflineError: a hub name was given while `TERSELY_OFFLINE=1`.
        MissingDependencyError: a hub name was given and huggingface_hub is not installed.
        InvalidInputError: the name is neither text nor a path.
    """
    folder = _find_folder(name_or_path)
    manifest = _read_json(folder / MANIFEST)
    listed = _check_files(folder, manifest)
    config = _read_json(folder / "config.json")
    if kind is not None and config.get("kind") != kind:
        raise ArtifactError(
            f"{folder} holds a model of kind {config.get('kind')!r}, not a {kind!r}. Name another model."
        )
    if config.get("kind") == "selector" and not ("tokenizer.json" in listed and listed.intersection(_GRAPHS)):
        raise ArtifactError(
            f"{folder / MANIFEST} lists no tokenizer.json, or neither of {list(_GRAPHS)}. {_REMEDY}"
        )
    return Artifact(folder, config, manifest)


def write_manifest(folder: str | Path, **facts: Any) -> Path:
    """Seal a folder: write `manifest.json` with the hash and size of every file in it, and with `facts`.

    Facts are JSON values such as tool versions, the training command, data sets and metrics. Call it after
    all other files are written.

    Returns:
        The path of the manifest.

    Raises:
        ArtifactError: a fact has the name "format" or "files", which are reserved.
    """
    root = Path(folder)
    reserved = {"format", "files"} & set(facts)
    if reserved:
        names = " and ".join(map(repr, sorted(reserved)))
        raise ArtifactError(f"Reserved in a manifest: {names}. Give these facts other names.")
    paths = sorted(path for path in root.rglob("*") if path.is_file() and path != root / MANIFEST)
    files = {path.relative_to(root).as_posix(): _make_entry(path) for path in paths}
    manifest = {"format": MANIFEST_FORMAT, "files": files, **facts}
    target = root / MANIFEST
    target.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def _make_entry(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        return {"sha256": _sha256(stream), "size": os.fstat(stream.fileno()).st_size}


def _find_folder(name_or_path: str | Path | None) -> Path:
    if name_or_path is None:
        return _find_bundled(BUNDLED)
    try:
        folder = check_path(name_or_path, "The model").expanduser()
        if folder.is_dir():
            return folder
        exists = folder.exists()
    except InvalidInputError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # too long, no home folder
        raise ArtifactError(f"{str(name_or_path)!r} is not the path of a folder ({error}).") from error
    if exists:
        raise ArtifactError(f"{folder} is a file. Name the model's folder instead.")
    if name_or_path in ALL_BUNDLED:
        return _find_bundled(str(name_or_path))
    if isinstance(name_or_path, str) and _HUB_NAME.fullmatch(name_or_path):
        from tersely.runtime.hub import download_model  # a folder needs no network

        return download_model(name_or_path)
    raise ArtifactError(
        f"There is no model folder at {str(name_or_path)!r}. Name an exported folder, a hub model as "
        "'owner/name', or nothing for the bundled model."
    )


def _find_bundled(name: str) -> Path:
    # In the wheel the model is inside the package, in a source checkout at the top.
    for folder in (_PACKAGE / "models" / name, _PACKAGE.parent.parent / "models" / name):
        if (folder / MANIFEST).is_file():
            return folder
    raise ArtifactError(f"The bundled model {name} is missing from {_PACKAGE}. Reinstall tersely.")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        with _open_file(path) as stream:
            raw = stream.read(_MAX_JSON_BYTES + 1)
        if len(raw) > _MAX_JSON_BYTES:
            raise ArtifactError(f"{path} is larger than {_MAX_JSON_BYTES} bytes. {_REMEDY}")
        value: object = json.loads(raw.decode("utf-8"))
    except FileNotFoundError as error:
        raise ArtifactError(
            f"{path.parent} has no {path.name}, so it is not a model exported by tersely. "
            "Name another folder, or export the model again."
        ) from error
    except ValueError as error:  # bytes that are not UTF-8, or bad JSON
        raise ArtifactError(f"{path} is not valid JSON ({error}). {_REMEDY}") from error
    except RecursionError as error:
        raise ArtifactError(f"{path} is nested too deeply. {_REMEDY}") from error
    if not isinstance(value, dict):
        raise ArtifactError(f"{path} does not hold a JSON object. {_REMEDY}")
    return cast("dict[str, Any]", value)


def _check_files(folder: Path, manifest: dict[str, Any]) -> set[str]:
    """Compare the files with the manifest, and return the names that it lists."""
    if manifest.get("format") != MANIFEST_FORMAT:
        raise ArtifactError(
            f"{folder / MANIFEST} has format {manifest.get('format')!r}; this version of tersely "
            f"reads format {MANIFEST_FORMAT}. Upgrade tersely, or export the model again."
        )
    files = manifest.get("files")
    listed = cast("dict[str, Any]", files) if isinstance(files, dict) else {}
    if "config.json" not in listed:
        raise ArtifactError(f"{folder / MANIFEST} does not list the model's files. {_REMEDY}")
    training: object = manifest.get("training_files")
    not_needed = cast("list[object]", training) if isinstance(training, list) else []
    for name, expected in listed.items():
        if not _is_inside(name) or not _is_entry(expected):
            raise ArtifactError(f"{folder / MANIFEST} has a bad entry {name!r}. {_REMEDY}")
        _check_file(folder / name, expected, may_be_missing=name in not_needed)
    return set(listed)


def _is_inside(name: str) -> bool:
    """Return whether a listed name stays inside the folder.

    It is parsed by the rules of Windows, the strictest, so that the result is the same on every system.
    """
    path = PureWindowsPath(name)
    return bool(path.parts) and not path.anchor and ".." not in path.parts and name.isprintable()


def _is_entry(value: object) -> bool:
    """Return whether a value of the manifest describes a file."""
    if not isinstance(value, dict):
        return False
    entry = cast("dict[str, object]", value)
    is_flat = all(isinstance(item, str | int) for item in entry.values())
    return is_flat and isinstance(entry.get("sha256"), str) and type(entry.get("size")) is int


def _check_file(path: Path, expected: dict[str, Any], *, may_be_missing: bool) -> None:
    listed = cast("int", expected["size"])
    try:
        with _open_file(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size != listed:
                raise ArtifactError(f"{path} has {size} bytes, not {listed} as listed. {_REMEDY}")
            digest = _sha256(stream)
    except FileNotFoundError as error:
        if may_be_missing:
            return
        raise ArtifactError(f"{path} is missing although the manifest lists it. {_REMEDY}") from error
    if digest != expected["sha256"]:
        raise ArtifactError(f"{path} was changed or damaged: its checksum is not the listed one. {_REMEDY}")


@contextmanager
def _open_file(path: Path) -> Generator[BufferedReader]:
    """Open a regular file for the block.

    Raises FileNotFoundError if it is missing, and ArtifactError if it cannot be read. A pipe or a device is
    refused too, because it may never end.
    """

    def open_without_waiting(name: str, flags: int) -> int:  # opening a pipe would wait for a writer
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        with open(path, "rb", opener=open_without_waiting) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise ArtifactError(f"{path} is not a regular file. {_REMEDY}")
            yield stream
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read ({error.strerror}). Check its permissions.") from error


def _sha256(stream: BufferedReader) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()
