"""import-linter sees every module. It ignores a folder that is not a package."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("package", "folder"),
    [
        ("tersely", "sdk"),
        ("tersely_haystack", "integrations"),
        ("tersely_langchain", "integrations"),
        ("tersely_ledger", "integrations"),
        ("tersely_llamaindex", "integrations"),
        ("tersely_mcp", "integrations"),
        ("tersely_hook", "integrations"),
        ("tersely_http", "integrations"),
        ("tersely_proxy", "integrations"),
        ("tersely_ray", "integrations"),
        ("tersely_server", "integrations"),
        ("training", "."),
        ("benchmarks", "."),
    ],
)
def test_every_module_is_in_the_import_graph(package: str, folder: str) -> None:
    base = ROOT / folder
    files = [path.relative_to(base).with_suffix("") for path in (base / package).rglob("*.py")]
    modules = {".".join(path.parts).removesuffix(".__init__") for path in files}
    assert modules - grimp.build_graph(package, cache_dir=None).modules == set()
