"""The package's long description has no link that a package index would break."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hatchling")
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://code.example/tersely"
TARGET = re.compile(r"\]\(([^)\s]+)\)")


def read_metadata(address: str) -> Any:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]["address"] = address
    return ProjectMetadata(str(ROOT), PluginManager(), settings).core


def test_links_are_absolute_once_there_is_an_address() -> None:
    metadata = read_metadata(ADDRESS)
    targets = TARGET.findall(metadata.readme)
    assert f"{ADDRESS}/raw/HEAD/docs/answers.png" in targets
    for target in targets:
        path = re.sub(rf"^{ADDRESS}/(?:blob|raw)/HEAD/|#.*", "", target)
        assert (ROOT / path).is_file(), target
    assert all(url.startswith(ADDRESS) for url in metadata.urls.values())
    assert metadata.urls.keys() >= {"Source", "Documentation", "Changelog"}


def test_links_are_plain_text_without_an_address() -> None:
    metadata = read_metadata("")
    assert TARGET.findall(metadata.readme) == []
    assert "calibrated on" in metadata.readme
    assert metadata.urls == {}
