"""The playground in a real browser without a window."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("selenium")
import httpx2
from selenium.webdriver.common.keys import Keys

from benchmarks.surfaces.playground import find, open_browser, show_example, wait
from tersely import Compressor
from tersely_server import build_app
from tersely_server.endpoints import PLAYGROUND
from tests.servers import serve_app

needs_browser = pytest.mark.skipif(
    shutil.which("chromium") is None or shutil.which("chromedriver") is None,
    reason="needs Debian's chromium and chromium-driver: scripts/browser",
)


@pytest.fixture(scope="module")
def url(bundled: Compressor) -> Iterator[str]:
    with serve_app(build_app(bundled)) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


def test_the_page_loads_nothing_from_outside(url: str) -> None:
    page = httpx2.get(url)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert re.findall(r'(?:src|href|action)="(?!data:)', page.text) == []
    assert page.text == PLAYGROUND.read_text("utf-8")


@needs_browser
def test_an_example_is_compressed_and_explained(browser: Any, url: str) -> None:
    show_example(browser, url)
    kept = [element.text for element in find(browser, ".unit.kept")]
    assert any("only folded bicycles" in sentence for sentence in kept)
    assert len(kept) < len(find(browser, ".unit"))
    assert re.match(r"\d+ → \d+ tokens, \d+ of \d+ sentences", find(browser, "#summary")[0].text)
    find(browser, "#shown")[0].send_keys(Keys.ARROW_DOWN)
    first = find(browser, "#why")[0].text
    assert re.match(r"(Kept|Dropped): .*; score 0\.\d\d\.", first)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert browser.switch_to.active_element.get_attribute("data-unit") == "1"
    assert "from tersely import Compressor" in find(browser, "#python")[0].text
    assert f"{url}/v1/compress" in find(browser, "#curl")[0].text
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@needs_browser
def test_the_shown_programs_give_the_shown_text(browser: Any, url: str, bundled: Compressor) -> None:
    show_example(browser, url)
    text = browser.execute_script("return reply.text")
    names: dict[str, Any] = {}
    exec(find(browser, "#python")[0].text.replace("print(result.text)", ""), names)
    assert names["result"].text == text


@needs_browser
def test_the_slider_changes_what_is_kept(browser: Any, url: str) -> None:
    show_example(browser, url)
    before = len(find(browser, ".unit.kept"))
    slider = find(browser, "#share")[0]
    slider.send_keys(Keys.END)
    wait(lambda: len(find(browser, ".unit.kept")) == len(find(browser, ".unit")))
    slider.send_keys(Keys.HOME)
    wait(lambda: len(find(browser, ".unit.kept")) < before)
    wait(lambda: "tokens" in find(browser, "#summary")[0].text)


@needs_browser
def test_markup_in_documents_is_text(browser: Any, url: str) -> None:
    browser.get(url)
    attack = "<img src=x onerror='document.title=1'> The boat <b>leaves</b> at noon."
    browser.execute_script("document.getElementById('documents').value = arguments[0]", attack)
    find(browser, "#query")[0].send_keys("When does it leave?" + Keys.ENTER)
    wait(lambda: find(browser, "#shown .unit"))
    assert find(browser, "#shown img, #shown b") == []
    assert browser.title == "tersely playground"


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1000])
def test_everybody_can_use_it(browser: Any, url: str, scheme: str, width: int) -> None:
    axe_selenium = pytest.importorskip("axe_selenium_python")
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    show_example(browser, url)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    axe = axe_selenium.Axe(browser)
    axe.inject()
    serious = [v for v in axe.run()["violations"] if v["impact"] in ("serious", "critical")]
    assert serious == []
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
