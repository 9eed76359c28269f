"""Links and paths on the pages lead somewhere, and the pages agree with the code and the recorded results."""

from __future__ import annotations

import os
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

import tersely
from benchmarks.pages import percent, render_pages
from tersely.options import OPTION_FIELDS
from tersely.runtime.artifacts import load_artifact
from tersely.score.calibration import read_calibration
from tersely.score.selector import MAX_TOKENS, MORE_TOKENS
from tersely.types import Compression, Status
from tersely.view import REASONS
from tests.docs.guarantees import GUARANTEES
from tests.docs.pages import PAGES, ROOT, TOPICS, prose, read_page, tables
from tests.docs.records import load

FOLDERS = "benchmarks|docs|integrations|models|scripts|sdk|tests|training|\\.ci"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
OPTIONS_PAGE = "docs/options-and-results.md"
BELOW = [
    path.relative_to(ROOT).as_posix()
    for folder in ("benchmarks", "models", "tests", "training")
    for path in sorted((ROOT / folder).rglob("README.md"))
]
"""The pages that introduce a folder."""
SCRIPTS = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix]


def anchors(name: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", prose(name), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", [*PAGES, *BELOW])
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
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_index_lists_every_page() -> None:
    links = [link.partition("#")[0] for link in LINK.findall(read_page("docs/index.md"))]
    listed = {f"docs/{link}" for link in links if "/" not in link and link.endswith(".md")}
    assert listed == set(TOPICS) - {"docs/index.md"}


def test_the_documentation_is_short() -> None:
    assert len(read_page("README.md").splitlines()) <= 120
    assert len(TOPICS) <= 14


def test_every_guarantee_has_tests_that_exist() -> None:
    numbers = re.findall(r"^## (\d+)\. ", read_page("docs/guarantees.md"), re.MULTILINE)
    assert [int(number) for number in numbers] == list(GUARANTEES)
    for test in [test for tests in GUARANTEES.values() for test in tests]:
        file, _, name = test.partition("::")
        assert (ROOT / file).is_file(), test
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8"), test


def first_column(header: str) -> set[str]:
    """Return the names in the first column of a table of the page of options."""
    (rows,) = re.findall(rf"^\| {header} \|.*\n\|-.*\n((?:\|.*\n)+)", read_page(OPTIONS_PAGE), re.MULTILINE)
    return {name for row in rows.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_the_page_of_options_has_every_option_of_the_code() -> None:
    assert first_column("option") == {option.name for option in OPTION_FIELDS}


def test_the_page_of_options_has_every_field_of_a_result() -> None:
    public = {name for name in Compression.__dataclass_fields__ if not name.startswith("_")}
    assert first_column("field of `Compression`") == public | {"rate"}


def test_options_page_has_every_status_and_reason() -> None:
    assert first_column("status") == set(get_args(Status))
    kept, dropped = first_column("reason of a kept span"), first_column("reason of a dropped span")
    assert kept | dropped == REASONS.keys()


def test_the_changelog_has_the_current_version() -> None:
    assert re.search(rf"^## {re.escape(tersely.__version__)}\b", read_page("CHANGELOG.md"), re.MULTILINE)


def test_the_tables_of_the_pages_are_the_recorded_ones() -> None:
    for page, text in render_pages().items():
        assert "<!-- table: " in text, page.name
        assert page.read_text(encoding="utf-8") == text, f"{page.name}: python -m benchmarks.results"


def test_the_first_sentence_of_the_readme_is_true() -> None:
    systems = next(t for t in tables(read_page("README.md")) if "HotpotQA, 10 paragraphs" in t)
    figures = {
        name: round(float(value.strip("*"))) for name, value in systems["HotpotQA, 10 paragraphs"].items()
    }
    best_rival = max((value, name) for name, value in figures.items() if name != "tersely")
    for page in ("README.md", "docs/index.md"):
        found = re.findall(r"(\d+) %", read_page(page))[:2]
        assert [int(figure) for figure in found] == [figures["tersely"], best_rival[0]], page
    assert best_rival[1] in read_page("README.md").split("\n\n")[1]


def test_how_it_works_has_the_numbers_of_the_bundled_model() -> None:
    page = " ".join(read_page("docs/how-it-works.md").split())
    questions = read_calibration(load_artifact())
    assert questions is not None
    assert f"was calibrated on {len(questions.scores):,} questions of" in page
    assert f"the encoder reads up to {MAX_TOKENS:,} tokens" in page
    assert f"up to {MORE_TOKENS:,} more" in page


def test_prepared_documents_take_the_recorded_times() -> None:
    times = load("prepared").find("Times").select(documents="prepared")
    least, most, least_of_30, most_of_30, hotpotqa, natural_questions = (
        round(share)
        for kind in ("10 documents", "30 documents", "HotpotQA", "Natural Questions")
        for share in sorted(
            percent(row["of unprepared"]) for row in times if str(row["request"]).startswith(kind)
        )
    )
    page = " ".join(read_page("docs/prepared.md").split())
    assert f"take {least} and {most} % of the usual time if they have ten documents" in page
    assert f"and {least_of_30} and {most_of_30} % if they have thirty" in page
    assert f"requests of Natural Questions take {natural_questions} % of the usual time" in page
    assert f"those of HotpotQA, which often need two steps, {hotpotqa} %" in page


@pytest.mark.parametrize("script", [*SCRIPTS, ROOT / ".ci/run"], ids=lambda path: path.name)
def test_scripts_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
