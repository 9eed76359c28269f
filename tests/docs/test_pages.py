"""Links and paths of the pages lead somewhere, and the pages agree with the repository."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

import tersely
from tersely.runtime.artifacts import load_artifact
from tersely.score.calibration import read_calibration
from tersely.score.selector import MAX_TOKENS, MORE_TOKENS
from tests.docs.pages import PAGES, ROOT, TOPICS, defined_tests, prose, read_page

FOLDERS = "benchmarks|docs|integrations|models|scripts|sdk|tests|training|\\.ci"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SETS = re.compile(r"^### (.+?)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)

Table = dict[str, dict[str, str]]
"""Cells by the first column and the header, without emphasis."""


def tables(text: str) -> list[Table]:
    """The Markdown tables in a text."""
    parsed: list[Table] = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        header, _, *rows = [
            [cell.strip(" *") for cell in line.strip("|").split("|")] for line in block.splitlines()
        ]
        parsed.append({row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows})
    return parsed


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


def test_the_tests_that_pages_name_exist() -> None:
    """A guarantee without its test would be a claim."""
    named = {name for page in PAGES for name in re.findall(r"`(test_\w+)`", prose(page))}
    assert named, "the page of guarantees names some"
    assert named - defined_tests() == set()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_a_title_and_skips_no_level(name: str) -> None:
    levels = [len(marks) for marks in re.findall(r"^(#+) ", prose(name), re.MULTILINE)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_index_lists_every_page() -> None:
    listed = {f"docs/{link}" for link in LINK.findall(read_page("docs/index.md")) if "/" not in link}
    assert listed == set(TOPICS) - {"docs/index.md"}


def test_the_readme_is_short() -> None:
    assert len(read_page("README.md").splitlines()) <= 150


def test_the_changelog_has_the_current_version() -> None:
    assert re.search(rf"^## {re.escape(tersely.__version__)}\b", read_page("CHANGELOG.md"), re.MULTILINE)


def test_the_figures_of_the_readme_are_the_recorded_ones() -> None:
    (shown,) = [t for t in tables(read_page("README.md")) if "HotpotQA, 10 paragraphs" in t]
    quality = read_page("benchmarks/RESULTS.md").partition("<!-- quality:end -->")[0]
    recorded = {title: tables(text)[0] for title, text in SETS.findall(quality)}
    for title, systems in shown.items():
        for system, value in systems.items():
            assert recorded[title][system]["rate 0.1"].startswith(f"{value} "), (title, system)


def test_how_it_works_has_the_numbers_of_the_bundled_model() -> None:
    page = " ".join(read_page("docs/how-it-works.md").split())
    questions = read_calibration(load_artifact())
    assert questions is not None
    assert f"was calibrated on {len(questions.scores):,} questions of" in page
    assert f"the encoder reads up to {MAX_TOKENS:,} tokens" in page
    assert f"up to {MORE_TOKENS:,} more" in page


def test_the_comparison_on_the_results_page_is_the_recorded_one() -> None:
    (shown,) = [t for t in tables(read_page("docs/results.md")) if "HotpotQA, 10 paragraphs" in t]
    quality = read_page("benchmarks/RESULTS.md").partition("<!-- quality:end -->")[0]
    (recorded,) = [table for table in tables(quality) if "HotpotQA, 10 paragraphs: answers" in table]
    for title, cells in shown.items():
        for rate, cell in cells.items():
            value, standing = cell.split()
            full = recorded[f"{title}: answers"][rate]
            assert full.startswith(f"{value} "), (title, rate)
            assert f"*{standing}*" in full, (title, rate)
