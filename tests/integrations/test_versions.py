"""The adapters check the version of their framework, and use only public names of the SDK."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from tersely import MissingDependencyError
from tersely.adapters import require_package

ROOT = Path(__file__).resolve().parents[2]
# The package of each adapter's framework, and the adapter's extra.
EXTRAS = {
    "tersely_haystack": ("haystack-ai", "haystack"),
    "tersely_langchain": ("langchain", "langchain"),
    "tersely_llamaindex": ("llama-index-core", "llamaindex"),
    "tersely_mcp": ("mcp", "mcp"),
    "tersely_proxy": ("httpx2", "server"),
    "tersely_ray": ("ray", "ray"),
    "tersely_server": ("fastapi", "server"),
}


@pytest.mark.parametrize(
    ("version", "is_supported"),
    [
        ("1.2.9", False),
        ("1.3", True),
        ("1.3.0rc1", True),
        ("1.10.4", True),
        ("2.0.0", False),
        ("2.0a1", False),
    ],
)
def test_versions_compare_as_numbers(
    monkeypatch: pytest.MonkeyPatch, version: str, is_supported: bool
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: version)
    if is_supported:
        require_package("framework", "extra", (1, 3), (2,))
    else:
        with pytest.raises(MissingDependencyError, match=rf"{version}.*1\.3.*below 2: pip install"):
            require_package("framework", "extra", (1, 3), (2,))


def test_a_framework_that_is_missing_is_named() -> None:
    with pytest.raises(MissingDependencyError, match="no-such-framework is not installed: pip install"):
        require_package("no-such-framework", "extra", (1,), (2,))


@pytest.mark.parametrize("adapter", EXTRAS)
def test_every_adapter_checks_its_framework_first(monkeypatch: pytest.MonkeyPatch, adapter: str) -> None:
    package, extra = EXTRAS[adapter]
    for name in [n for n in sys.modules if n.split(".")[0] == adapter]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(metadata, "version", lambda name: "0.0.1" if name == package else "1")
    with pytest.raises(MissingDependencyError) as refused:
        importlib.import_module(adapter)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (specification,) = [s for s in declared[extra] if re.match(rf"{package}\b(?!-)", s)]
    name, low, high = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+),<([\d.]+)", specification).groups()
    assert str(refused.value) == (
        f"{name} 0.0.1 is installed, and tersely needs {low} or newer, below {high}: "
        f"pip install '.[{extra}]' in a clone of tersely"
    ), "the range of the extra"


def test_adapters_import_no_private_names() -> None:
    imported: list[str] = []
    for file in (ROOT / "integrations").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported += [f"{node.module}.{alias.name}" for alias in node.names]
    of_the_sdk = [name for name in imported if name.split(".")[0] in ("tersely", "tersely_agents")]
    assert "tersely.adapters.ToolLimits" in of_the_sdk
    assert [name for name in of_the_sdk if re.search(r"\._", name)] == []
