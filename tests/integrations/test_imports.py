"""Adapters stand on public names: of the SDK they import nothing else."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

INTEGRATIONS = Path(__file__).resolve().parents[2] / "integrations"
PUBLIC_MODULES = {
    "tersely",
    "tersely.adapters",
    "tersely_agents.agent",
    "tersely_agents.chat",
    "tersely.errors",
    "tersely_agents.experience",
    "tersely_agents.memory",
    "tersely.rerank",
    "tersely_agents.summaries",
}
FILES = sorted(INTEGRATIONS.rglob("*.py"))


def read_imports(file: Path) -> Iterator[tuple[str, str | None]]:
    """(module, name) of every import from the SDK; the name is None for `import module`."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if is_in_sdk(alias.name))
        elif isinstance(node, ast.ImportFrom) and is_in_sdk(node.module or ""):
            yield from ((node.module or "", alias.name) for alias in node.names)


def is_in_sdk(module: str) -> bool:
    return module.split(".")[0] == "tersely"


def is_public(module: str, name: str | None) -> bool:
    if name is None or f"{module}.{name}" in PUBLIC_MODULES:
        return module in PUBLIC_MODULES
    return module in PUBLIC_MODULES and name in importlib.import_module(module).__all__


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_an_adapter_imports_only_public_names(file: Path) -> None:
    private = [(module, name) for module, name in read_imports(file) if not is_public(module, name)]
    assert private == []


def test_private_modules_and_names_are_recognised() -> None:
    assert not is_public("tersely.inputs", "check_count")
    assert not is_public("tersely_agents.memory.shortening", "Shortener")
    assert not is_public("tersely.adapters", "_OPTION_NAMES")
    assert not is_public("tersely.cli", None)
    assert is_public("tersely.adapters", "Shortener")
    assert is_public("tersely", "adapters")
