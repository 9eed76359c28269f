"""The playground in a real browser, without a window."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("selenium")
import httpx2
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tersely import Compressor
from tersely_server import build_app
from tersely_server.endpoints import PLAYGROUND
from tests.servers import serve_app

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs Debian's chromium and chromium-driver"
)
WORK = """
const slider = document.getElementById("share"), start = performance.now();
for (let i = 1; i <= 50; i++) {
  slider.value = 2 * i; slider.dispatchEvent(new Event("input"));
  document.body.getBoundingClientRect();
}
return (performance.now() - start) / 50;
"""


@pytest.fixture(scope="module")
def url(bundled: Compressor) -> Iterator[str]:
    with serve_app(build_app(bundled)) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1000,1400"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(str(DRIVER)))
    yield browser
    browser.quit()


def wait(condition: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return value


def find(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements(By.CSS_SELECTOR, selector)


def open_example(browser: Any, url: str) -> None:
    browser.get(url)
    find(browser, "#example")[0].send_keys(Keys.ENTER)
    wait(lambda: find(browser, ".unit.kept"))


def test_the_page_loads_nothing_from_outside(url: str) -> None:
    page = httpx2.get(url)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert re.findall(r'(?:src|href|action)="(?!data:)', page.text) == []
    assert page.text == PLAYGROUND.read_text("utf-8")


@needs_browser
def test_an_example_is_compressed_and_explained(browser: Any, url: str) -> None:
    open_example(browser, url)
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
    open_example(browser, url)
    text = browser.execute_script("return reply.text")
    names: dict[str, Any] = {}
    exec(find(browser, "#python")[0].text.replace("print(result.text)", ""), names)
    assert names["result"].text == text


@needs_browser
def test_the_slider_changes_what_is_kept(browser: Any, url: str) -> None:
    open_example(browser, url)
    before = len(find(browser, ".unit.kept"))
    slider = find(browser, "#share")[0]
    slider.send_keys(Keys.END)
    wait(lambda: len(find(browser, ".unit.kept")) == len(find(browser, ".unit")))
    slider.send_keys(Keys.HOME)
    wait(lambda: len(find(browser, ".unit.kept")) < before)
    wait(lambda: "tokens" in find(browser, "#summary")[0].text)


@needs_browser
def test_the_slider_is_fast_with_many_sentences(browser: Any, url: str) -> None:
    browser.get(url)
    lines = " ".join(f"Sentence number {i} says something about boats." for i in range(200))
    browser.execute_script("document.getElementById('documents').value = arguments[0]", lines)
    find(browser, "#query")[0].send_keys("Which boats?" + Keys.ENTER)
    wait(lambda: len(find(browser, ".unit")) >= 200)
    milliseconds = browser.execute_script(WORK)
    assert milliseconds < 1000 / 30, "work for a frame"


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
    open_example(browser, url)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    axe = axe_selenium.Axe(browser)
    axe.inject()
    serious = [v for v in axe.run()["violations"] if v["impact"] in ("serious", "critical")]
    assert serious == []
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
