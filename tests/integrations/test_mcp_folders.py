"""An MCP client reads the files in the allowed folders, and no others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
from mcp import MCPError

from tersely_mcp.folders import Folders
from tests.audit.folder_swap import count_leaks
from tests.integrations.mcp_client import call, connect, read_error
from tests.integrations.samples import HARBOUR, MUSEUM


@pytest.mark.parametrize(
    "name",
    ["../secret.md", "/etc/passwd", "link.md", "away/secret.md", "away/none.md", "away/*.md", "../../*/x.md"],
)
def test_paths_out_of_the_folders_are_refused(allowed: Path, name: str) -> None:
    message = read_error("compress", {"query": "password", "paths": [name]}, folders=[allowed])
    assert "leads out of the allowed folders" in message
    assert "swordfish" not in message


@pytest.mark.parametrize(
    "name", ["*/secret.md", "*/s*.md", "*/zzz*.md", "*way/../*.md", "**.md", "***", "**/**/*.md", "x" * 300]
)
def test_patterns_do_not_tell_what_is_outside(allowed: Path, name: str) -> None:
    message = read_error("compress", {"query": "password", "paths": [name]}, folders=[allowed])
    assert "No file in the allowed folders is named" in message


def test_a_pattern_skips_links_that_lead_out(allowed: Path) -> None:
    (allowed / "picture.md").unlink()
    titles = [document.title for document in Folders([allowed]).read(["**/*.md"]).documents]
    assert titles == ["plan[1].md", "town/harbour.md", "town/museum.md"]


def test_a_pipe_does_not_block(allowed: Path) -> None:
    os.mkfifo(allowed / "pipe.md")
    arguments = {"query": "q", "paths": ["pipe.md"]}
    assert "No file" in read_error("compress", arguments, folders=[allowed])


def test_paths_are_found_in_every_folder(allowed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "more.md").write_text("The museum has a café.", encoding="utf-8")
    both = Folders([allowed, other])
    documents = both.read(["more.md", str(other / "more.md"), "plan[1].md"]).documents
    assert [document.title for document in documents] == ["more.md", "plan[1].md"]
    documents = both.read([str(allowed / "town" / "*.md")]).documents
    assert [document.title for document in documents] == ["town/harbour.md", "town/museum.md"]


def test_no_folder_is_allowed_by_default() -> None:
    assert "--folder" in read_error("compress", {"query": "q", "paths": ["a.md"]})


def test_nothing_leaks_while_folders_become_links() -> None:
    reads, refusals, leaks = count_leaks(swaps=3000)
    assert leaks == 0
    assert reads
    assert refusals


def test_links_inside_a_folder_are_not_followed(allowed: Path) -> None:
    (allowed / "short.md").symlink_to(allowed / "town" / "museum.md")
    (allowed / "city").symlink_to(allowed / "town")
    for name in ("short.md", "city/museum.md", "city/*.md"):
        message = read_error("compress", {"query": "q", "paths": [name]}, folders=[allowed])
        assert "through a link" in message


@pytest.mark.parametrize("pattern", ["**/town/*.md", "*/town/*.md", "**/town/museum.md"])
def test_a_pattern_skips_links_that_it_names(allowed: Path, pattern: str) -> None:
    (allowed / "a").mkdir()
    (allowed / "a" / "town").symlink_to(allowed.parent)
    (allowed / "b" / "town").mkdir(parents=True)
    (allowed / "b" / "town" / "museum.md").write_text(MUSEUM, encoding="utf-8")
    titles = [document.title for document in Folders([allowed]).read([pattern]).documents]
    assert "b/town/museum.md" in titles
    assert not any("a/town" in str(title) for title in titles)


@pytest.mark.parametrize(
    "name", ["town/museum.md", "notes/town/museum.md", "./notes/town/museum.md", "town/../town/museum.md"]
)
def test_a_path_may_begin_with_the_name_of_its_folder(allowed: Path, name: str) -> None:
    (document,) = Folders([allowed]).read([name]).documents
    assert (document.title, document.text) == ("town/museum.md", MUSEUM)


def test_a_path_may_be_the_one_of_the_command_line(allowed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(allowed.parent.parent)
    given = Path(allowed.parent.name) / "notes"
    names = [
        str(given / "town" / "museum.md"),
        str(given / "town" / "*.md"),
        str(allowed / "town/harbour.md"),
    ]
    titles = [document.title for document in Folders([given]).read(names).documents]
    assert titles == ["town/museum.md", "town/harbour.md"]


def test_a_nested_folder_lists_and_reads_each_file_once(allowed: Path) -> None:
    (allowed / "town" / "deep").mkdir()
    (allowed / "town" / "deep" / "well.md").write_text("A well.", encoding="utf-8")
    given = [allowed / "town" / "deep", allowed, allowed / "town", allowed]
    folders = Folders(given)
    names = [file.name for file in folders.list()]
    assert names == [file.name for file in Folders([allowed]).list()]
    assert folders.names == ["notes"]
    same = ["deep/well.md", "town/deep/well.md", "notes/town/deep/well.md", "well.md", "**/well.md"]
    same += [str(allowed / "town/deep/well.md"), "deep/*.md"]
    (document,) = folders.read(same).documents
    assert (document.title, document.text) == ("town/deep/well.md", "A well.")


def test_a_hidden_folder_is_listed_if_it_is_allowed(allowed: Path) -> None:
    (allowed / ".drafts").mkdir()
    (allowed / ".drafts" / "a.md").write_text("A draft.", encoding="utf-8")
    (allowed / ".drafts" / ".b.md").write_text("Another.", encoding="utf-8")
    names = [file.name for file in Folders([allowed, allowed / ".drafts"]).list()]
    assert [name for name in names if "drafts" in name] == ["notes/.drafts/a.md"]


def test_the_name_of_a_listed_file_leads_to_it(tmp_path: Path) -> None:
    # Also if folders have the same name, and if a folder holds one with its own name.
    for place in ("one/docs", "two/docs", "two/docs/docs", "three", "three/docs"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "a.md").write_text(f"In {place}.", encoding="utf-8")
    folders = Folders([tmp_path / "one/docs", tmp_path / "two/docs", tmp_path / "three"])
    assert folders.names == ["one/docs", "two/docs", "three"]
    listed = folders.list()
    names = [file.name for file in listed]
    assert len(set(names)) == len(names) == 5
    for file in listed:
        (document,) = folders.read([file.name]).documents
        assert document.text == f"In {file.folder.path.relative_to(tmp_path).joinpath(*file.parts[:-1])}."
        assert document.text == file.read_document()[0].text


def test_a_pattern_reports_files_that_cannot_be_read(allowed: Path) -> None:
    reply = call("compress", {"query": "museum", "paths": ["*.md", "town/*"]}, folders=[allowed])
    skipped = reply.meta["tersely"]["skipped"]
    assert [file["source"] for file in skipped] == ["picture.md"]
    assert "not UTF-8" in skipped[0]["reason"]
    assert "museum" in reply.content[0].text
    message = read_error("compress", {"query": "q", "paths": ["pic*.md"]}, folders=[allowed])
    assert "None of the files can be read" in message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_pattern_skips_a_folder_that_may_not_be_read(allowed: Path) -> None:
    closed = allowed / "closed"
    closed.mkdir(mode=0)
    read = Folders([allowed]).read(["**/*.md"])
    assert "closed" in [path for path, _ in read.skipped]
    assert read.documents


def test_a_message_says_which_files_there_are(allowed: Path) -> None:
    message = read_error("compress", {"query": "q", "paths": ["museum.md"]}, folders=[allowed])
    assert "notes/town/harbour.md, notes/town/museum.md" in message
    assert "secret.md" not in message


def test_the_files_are_listed_as_resources(allowed: Path) -> None:
    (allowed / ".hidden.md").write_text("Hidden.", encoding="utf-8")

    async def look(client: Any) -> Any:
        resources = (await client.list_resources()).resources
        text = (await client.read_resource(resources[-1].uri)).contents[0].text
        with pytest.raises(MCPError, match="not UTF-8"):
            await client.read_resource(resources[0].uri)
        (allowed / "new file.md").write_text("New.", encoding="utf-8")
        names = [r.name for r in (await client.list_resources()).resources]
        new = await client.read_resource("tersely://files/notes/new%20file.md")
        return resources, text, names, new.contents[0].text, client.instructions

    resources, text, names, new, instructions = connect(look, folders=[allowed])
    listed = [resource.name for resource in resources]
    assert listed == ["notes/picture.md", "notes/plan[1].md", "notes/town/harbour.md", "notes/town/museum.md"]
    assert text == MUSEUM
    assert "notes/new file.md" in names
    assert new == "New."
    assert "resources: notes." in instructions
    read = Folders([allowed]).read(listed[1:]).documents
    assert [document.text for document in read] == ["A plan.", HARBOUR, MUSEUM]


@pytest.mark.parametrize(
    "uri", ["tersely://files/notes/link.md", "tersely://files/secret.md", "file:///etc/passwd"]
)
def test_only_listed_resources_can_be_read(allowed: Path, uri: str) -> None:
    async def read(client: Any) -> Any:
        with pytest.raises(MCPError, match="no resource"):
            await client.read_resource(uri)

    connect(read, folders=[allowed])
