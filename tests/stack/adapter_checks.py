"""What holds for every adapter that the package bundles."""

from __future__ import annotations

from tersely.runtime.artifacts import load_artifact

MAX_MB = 16
FILES = {"adapter.gguf", "adapter_model.safetensors", "adapter_config.json", "README.md"}


def check_adapter(name: str, kind: str, prompts: dict[str, str]) -> None:
    """It is small and complete, it has learned these prompts, and llama.cpp runs it as transformers does."""
    artifact = load_artifact(name, kind=kind)
    files = artifact.manifest["files"]
    assert set(files) >= FILES
    assert sum(entry["size"] for entry in files.values()) <= MAX_MB * 1e6
    assert artifact.config["prompts"] == prompts
    assert artifact.manifest["parity"]["agreement"] >= 0.9
