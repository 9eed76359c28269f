"""An MCP client reads the files in the allowed folders, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from tersely import InvalidInputError
from tersely_mcp.folders import Folders
from tests.integrations.mcp_client import read_error


@pytest.mark.parametrize(
    "name",
    ["../secret.md", "/etc/passwd", "link.md", "away/secret.md", "away/none.md", "away/*.md", "../../*/x.md"],
)
def test_paths_that_lead_out_of_the_folders_are_refused(allowed: Path, name: str) -> None:
    message = read_error("compress", {"query": "password", "paths": [name]}, folders=[allowed])
    assert "leads out of the allowed folders" in message
    assert "swordfish" not in message


@pytest.mark.parametrize(
    "name", ["*/secret.md", "*/s*.md", "*/zzz*.md", "*way/../*.md", "**.md", "***", "**/**/*.md", "x" * 300]
)
def test_patterns_do_not_tell_what_is_outside(allowed: Path, name: str) -> None:
    message = read_error("compress", {"query": "password", "paths": [name]}, folders=[allowed])
    assert "No file in the allowed folders is named" in message


def test_a_pattern_passes_over_links_that_lead_out(allowed: Path) -> None:
    (allowed / "picture.md").unlink()
    titles = [document.title for document in Folders([allowed]).read(["**/*.md"])]
    assert titles == ["plan[1].md", "town/harbour.md", "town/museum.md"]


def test_a_pipe_does_not_block(allowed: Path) -> None:
    os.mkfifo(allowed / "pipe.md")
    arguments = {"query": "q", "paths": ["pipe.md"]}
    assert "No file" in read_error("compress", arguments, folders=[allowed])


def test_an_empty_folder_name_allows_nothing() -> None:
    with pytest.raises(InvalidInputError, match="no folder ''"):
        Folders([""])


def test_paths_are_found_in_every_folder(allowed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "more.md").write_text("The museum has a café.", encoding="utf-8")
    both = Folders([allowed, other])
    documents = both.read(["more.md", str(other / "more.md"), "plan[1].md"])
    assert [document.title for document in documents] == ["more.md", "plan[1].md"]
    documents = both.read([str(allowed / "town" / "*.md")])
    assert [document.title for document in documents] == ["town/harbour.md", "town/museum.md"]


def test_no_folder_is_allowed_by_default() -> None:
    assert "--folder" in read_error("compress", {"query": "q", "paths": ["a.md"]})
