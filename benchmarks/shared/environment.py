"""The machine and the versions that a run is measured with."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tersely.runtime.artifacts import Artifact
from tersely.runtime.workers import usable_cores

_INT8 = {"amx_int8": "AMX", "avx512_vnni": "AVX-512 VNNI", "avx_vnni": "AVX VNNI", "avx2": "AVX2"}
"""Instructions for int8 as Linux names them, and as people do; widest first."""
_PACKAGES = ("tersely", "onnxruntime", "tokenizers", "numpy", "sentencex", "llmslim", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Environment:
    """Hardware, versions and day of a run."""

    date: str
    cpu: str
    cores: int
    ram_gb: int
    system: str
    python: str
    packages: dict[str, str]
    """Version by name; packages that are not installed are absent."""

    def describe(self) -> str:
        """Return hardware and versions, without the day."""
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        return f"{self.cpu}, {cores}, {self.ram_gb} GB, {self.system}, Python {self.python}; {packages}"


def name_model(artifact: Artifact) -> str:
    """Return name and fingerprint of a model, as every record names it."""
    return f"{artifact.name}@{artifact.fingerprint}"


def read_environment() -> Environment:
    """Return the environment of this process."""
    versions = {name: _read_version(name) for name in _PACKAGES}
    return Environment(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        cpu=read_processor(),
        cores=usable_cores(),
        ram_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: number for name, number in versions.items() if number},
    )


def read_processor(info: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name and its widest instructions for int8.

    The model's speed depends on these instructions, and virtual machines of one name differ in them.
    """
    name = platform.processor() or platform.machine()
    if not info.is_file():
        return name
    fields = dict(
        re.findall(r"^(model name|flags)\s*:\s*(.+)$", info.read_text(encoding="utf-8"), re.MULTILINE)
    )
    name = fields.get("model name", name).strip()
    flags = fields.get("flags", "").split()
    widest = next((title for flag, title in _INT8.items() if flag in flags), None)
    return f"{name} with {widest}" if widest else name


def _read_version(package: str) -> str | None:
    try:
        return version(package).split("+")[0]
    except PackageNotFoundError:
        return None
