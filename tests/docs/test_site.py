"""The documentation site builds without a warning, holds every page, and loads nothing from outside."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uv")

import tersely
from tests.browsers import browser as browser
from tests.browsers import check_accessibility, needs_browser
from tests.browsers import screen as screen
from tests.docs.pages import ROOT, TOPICS

OUTSIDE = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built strictly in an environment with nothing but the group `docs`."""
    folder, environment = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("environment")
    uv = [sys.executable, "-m", "uv"]
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables |= {"UV_CONSTRAINT": str(ROOT / "constraints.txt"), "NO_MKDOCS_2_WARNING": "1"}
    for command in (
        [*uv, "venv", "--quiet", "--clear", "--python", sys.executable, environment],
        [*uv, "pip", "install", "--quiet", "--python", python, "--group", "docs"],
        [python, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
    ):
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


def test_every_page_is_on_the_site_and_in_its_navigation(site: Path) -> None:
    home = (site / "index.html").read_text("utf-8")
    for topic in TOPICS:
        name = Path(topic).with_suffix(".html").name
        assert (site / name).is_file()
        assert f'href="{name}"' in home, name


def test_the_home_page_says_what_it_is_for(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8").partition("<article")[2]
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))
    claim, figure, commands, cases = (
        text.find(part)
        for part in (
            "Send your language model a tenth",
            " % of the questions of HotpotQA",
            "pip install . tersely demo",
            "Claude Code",
        )
    )
    assert 0 < claim < figure < commands < cases
    for name in ("playground.png", "playground-dark.png"):
        assert name in page
        assert (site / name).is_file()
    targets = ("frameworks.html#claude-code", "frameworks.html#codex", "server.html#gateways")
    assert all(f'href="{target}"' in page for target in targets)


def test_pages_from_elsewhere_have_links_that_work_on_the_site(site: Path) -> None:
    start = (site / "get-started.html").read_text("utf-8")
    assert 'href="guarantees.html"' in start
    assert "docs/" not in "".join(re.findall(r'href="([^"]+)"', start))
    assert (site / "plots" / "quality.png").is_file()
    assert "Training data" in (site / "models" / "tersely-mini.html").read_text("utf-8")


def test_the_reference_has_every_public_name(site: Path) -> None:
    page = (site / "api" / "tersely.html").read_text("utf-8")
    shown = re.findall(r'id="tersely\.(\w+)"', page)
    assert shown[0] == "Compressor"
    assert {name for name in tersely.__all__ if not name.startswith("_")} <= set(shown)
    assert (tersely.Compressor.compress.__doc__ or "").splitlines()[0] in page


def test_the_reference_has_types_and_defaults_of_options(site: Path) -> None:
    page = (site / "api" / "tersely.html").read_text("utf-8")
    signature = re.sub(r"<[^>]+>", "", page.partition('id="tersely.Compressor.compress"')[2])[:3000]
    assert "budget: int | None = None" in html.unescape(signature)
    first = re.sub(r"<[^>]+>", "", page.partition('id="tersely.Compressor"')[2])[:1500]
    assert "threads: int | None = None" in html.unescape(first)


def test_the_reference_shows_code_and_lists_line_by_line(site: Path) -> None:
    run_together = re.compile(r"^(?:\S+ {2,}\S|from \w+ import |\w+ = |tersely \w+ -)", re.M)
    found = [
        text
        for page in (site / "api").glob("*.html")
        for paragraph in re.findall(r"<p>(.*?)</p>", page.read_text("utf-8"), re.DOTALL)
        if run_together.search(text := html.unescape(re.sub(r"<[^>]+>", "", paragraph)))
    ]
    assert found == []


def test_nothing_is_loaded_from_outside(site: Path) -> None:
    found = [
        tag
        for page in site.rglob("*.html")
        for tag in OUTSIDE.findall(page.read_text("utf-8"))
        if 'rel="canonical"' not in tag
    ]
    assert found == []
    assert OUTSIDE.findall('<script async src="https://cdn.example/x.js"></script>'), "the scan finds one"
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)]*", styles) == []


@needs_browser
@pytest.mark.parametrize(
    "name", ["index.html", "options-and-results.html", "results.html", "api/tersely.html"]
)
def test_everybody_can_read_the_site(browser: Any, screen: int, site: Path, name: str) -> None:
    for _ in range(2):  # the first visit stores the colours
        browser.get((site / name).as_uri())
        browser.execute_script("localStorage.clear()")
    is_dark = browser.execute_script("return matchMedia('(prefers-color-scheme: dark)').matches")
    scheme = browser.execute_script("return document.body.dataset.mdColorScheme")
    assert scheme == ("slate" if is_dark else "default")
    check_accessibility(browser, screen)
