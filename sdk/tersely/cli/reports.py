"""What `tersely inspect` and `tersely doctor` find out."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any, cast

from tersely.cli.arguments import DEMO_QUERY
from tersely.cli.documents import demo_documents
from tersely.compressor import Compressor
from tersely.errors import ArtifactError, MissingDependencyError, OfflineError
from tersely.runtime.artifacts import Artifact, load_artifact
from tersely.runtime.workers import usable_cores
from tersely.score.layout import check_layout_version

_PACKAGES = ("tersely", "onnxruntime", "tokenizers", "sentencex", "numpy")
_TIMED_RUNS = 5


@dataclass(frozen=True, slots=True)
class Report:
    """Facts to print, and what is wrong: a report with a problem ends in a non-zero exit code."""

    heading: str
    facts: dict[str, Any]
    """JSON values, sizes in bytes; nested objects become dotted names in print."""
    problem: str | None = None
    shown: tuple[tuple[str, str], ...] = ()
    """What is printed instead of the facts, where those are for programs."""

    def rows(self) -> Iterator[tuple[str, str]]:
        """Names and values for a table of two columns."""
        return iter(self.shown) if self.shown else _flatten(self.facts, "")


def inspect(model: str | None) -> Report:
    """A model's card head, configuration, verified files and measured metrics.

    Raises:
        ArtifactError: the model is missing or damaged; a report is given only of a model that would load.
    """
    artifact = load_artifact(model, kind=None)
    if artifact.config.get("kind") == "selector":
        check_layout_version(artifact)
    files = artifact.files
    facts: dict[str, Any] = {
        "name": artifact.name,
        "path": str(artifact.path),
        "size": sum(entry["size"] for entry in files.values()),
        "checksums": f"{len(files)} files verified",
        "files": files,
        "config": {
            key: value for key, value in artifact.config.items() if not isinstance(value, dict | list)
        },
        **{key: value for key, value in artifact.manifest.items() if key not in ("format", "files")},
    }
    return Report(_card_head(artifact), facts)


def doctor(model: str | None, threads: int | None) -> Report:
    """Versions, threads, the model, and one timed compression of the sample documents.

    A fault of the model becomes part of the report instead of ending it.
    """
    cores = usable_cores()
    facts: dict[str, Any] = {
        "python": f"{platform.python_version()} on {platform.platform()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "threads": f"{min(threads or cores, cores)} used, {os.cpu_count()} cores in the machine",
        "offline": os.environ.get("TERSELY_OFFLINE", "not set; only a hub name uses the network"),
    }
    problem = None
    try:
        facts["model"] = _describe(_load(model))
        facts["compression"], problem = _time_compression(model, threads)
    except (ArtifactError, OfflineError, MissingDependencyError) as error:
        problem = str(error)
    facts["result"] = problem or "all is well"
    return Report("", facts, problem)


def _load(model: str | None) -> Artifact:
    artifact = load_artifact(model, verify=True)
    check_layout_version(artifact)
    return artifact


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _describe(artifact: Artifact) -> str:
    size = artifact.model_path.stat().st_size
    return f"{artifact.name} at {artifact.path}, {size / 1e6:.1f} MB, checksums verified"


def _time_compression(model: str | None, threads: int | None) -> tuple[dict[str, str], str | None]:
    """Measurements, and what is wrong."""
    documents = demo_documents()
    start = time.perf_counter()
    compressor = Compressor(model, threads=threads)
    result = compressor.compress(DEMO_QUERY, documents)
    first = time.perf_counter() - start
    runs: list[float] = []
    for _ in range(_TIMED_RUNS):
        start = time.perf_counter()
        result = compressor.compress(DEMO_QUERY, documents)
        runs.append(time.perf_counter() - start)
    facts = {
        "documents": f"{len(documents)}, {result.tokens_before:,} -> {result.tokens_after:,} tokens",
        "first": f"{first * 1000:.0f} ms with loading",
        "next": f"{statistics.median(runs) * 1000:.0f} ms, median of {_TIMED_RUNS}",
    }
    return facts, result.reason if result.status == "failed_open" else None


def _card_head(artifact: Artifact) -> str:
    """The model card from its title to its first section, without the YAML in front."""
    card = artifact.path / "README.md"
    if not card.is_file():
        return ""
    lines = card.read_text(encoding="utf-8").splitlines()
    if lines[:1] == ["---"] and "---" in lines[1:]:
        lines = lines[lines.index("---", 1) + 1 :]
    end = next((number for number, line in enumerate(lines) if line.startswith("## ")), len(lines))
    return "\n".join(lines[:end]).strip()


def _flatten(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, object]", value).items():
            yield from _flatten(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        items = cast("list[object]", value)
        if any(isinstance(item, Mapping) for item in items):
            for number, item in enumerate(items, start=1):
                yield from _flatten(item, f"{name}.{number}")
        else:
            yield name, ", ".join(map(str, items))
    elif isinstance(value, float):
        yield name, f"{value:g}"
    else:
        yield name, f"{value:,}" if type(value) is int else str(value)
