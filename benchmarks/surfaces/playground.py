"""`python -m benchmarks.surfaces.playground`: how soon the playground shows a result and its slider moves.

Every round starts a server and opens its page in headless Chromium as the first request. Needs
Debian's packages chromium and chromium-driver.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.surfaces.processes import TERSELY, start_process
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.errors import MissingDependencyError

SENTENCES = 200
MOVE = """
const slider = document.getElementById("share"), start = performance.now();
for (let i = 1; i <= 50; i++) {
  slider.value = 2 * i; slider.dispatchEvent(new Event("input"));
  document.body.getBoundingClientRect();
}
return (performance.now() - start) / 50;
"""
"""Milliseconds of one of 50 moves of the slider, layout included."""

T = TypeVar("T")


COLUMNS = (
    Column("what"),
    Column("unit"),
    Column("median", format=".2f"),
    Column("longest", format=".2f"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.surfaces.playground", __doc__, rounds=7)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Open the page of fresh servers."""
    first: list[float] = []
    moves: list[float] = []
    with open_browser() as browser:
        for _ in track(range(options.rounds), "rounds"):
            with start_process([*TERSELY, "serve", "--port", "0"]) as server:
                started = time.perf_counter()
                show_example(browser, server.url)
                first.append(time.perf_counter() - started)
                show_sentences(browser, server.url, SENTENCES)
                moves.append(browser.execute_script(MOVE))
        name = f"Chromium {browser.capabilities['browserVersion']}"
    rows = (
        _describe("first result after opening the page", "s", first),
        _describe(f"a move of the slider over {SENTENCES} sentences", "ms", moves),
    )
    settings = {"rounds": options.rounds, "browser": name}
    return Measured([Table("Times", COLUMNS, rows)], Compressor().model, settings)


@contextmanager
def open_browser() -> Generator[Any]:
    """Start headless Chromium, driven by selenium. Raises MissingDependencyError if it is not installed."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise MissingDependencyError(
            "There is no browser. Run scripts/browser, or install chromium and its driver."
        )
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1000,1400"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def find(browser: Any, selector: str) -> list[Any]:
    """Return the elements of the page that a CSS selector finds."""
    return browser.find_elements(By.CSS_SELECTOR, selector)


def wait(condition: Callable[[], T], seconds: float = 30) -> T:
    """Return the value of the condition as soon as it is true. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not happen in time")
        time.sleep(0.01)
    return value


def show_example(browser: Any, url: str) -> None:
    """Open the page, and wait until it shows the result of its example."""
    browser.get(url)
    wait(lambda: find(browser, ".unit.kept"))


def show_sentences(browser: Any, url: str, count: int) -> None:
    """Open the page and compress `count` sentences."""
    show_example(browser, url)
    lines = " ".join(f"Sentence number {i} says something about boats." for i in range(count))
    browser.execute_script("document.getElementById('documents').value = arguments[0]", lines)
    find(browser, "#query")[0].clear()
    find(browser, "#query")[0].send_keys("Which boats?" + Keys.ENTER)
    wait(lambda: len(find(browser, ".unit")) >= count)


def _describe(what: str, unit: str, values: list[float]) -> Row:
    median = round(float(np.median(values)), 3)
    return {"what": what, "unit": unit, "median": median, "longest": round(max(values), 3)}


if __name__ == "__main__":
    sys.exit(main())
