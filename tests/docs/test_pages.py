"""Links and paths of the pages lead somewhere, and the pages agree with the repository."""

from __future__ import annotations

import re

import pytest

import tersely
from tests.docs.pages import PAGES, ROOT, TOPICS, prose, read_page

FOLDERS = "benchmarks|docs|integrations|models|scripts|sdk|tests|training|\\.ci"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(name: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", prose(name), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for link in LINK.findall(prose(name)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.resolve().relative_to(ROOT).as_posix()), link


@pytest.mark.parametrize("name", PAGES)
def test_paths_exist(name: str) -> None:
    assert [path for path in PATH.findall(prose(name)) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_a_title_and_skips_no_level(name: str) -> None:
    levels = [len(marks) for marks in re.findall(r"^(#+) ", prose(name), re.MULTILINE)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


def test_the_index_lists_every_page() -> None:
    listed = {f"docs/{link}" for link in LINK.findall(read_page("docs/index.md")) if "/" not in link}
    assert listed == set(TOPICS) - {"docs/index.md"}


def test_the_readme_is_short() -> None:
    assert len(read_page("README.md").splitlines()) <= 150


def test_the_changelog_has_the_current_version() -> None:
    assert re.search(rf"^## {re.escape(tersely.__version__)}\b", read_page("CHANGELOG.md"), re.MULTILINE)
