"""`python -m benchmarks.surfaces.playground`: how soon the playground shows a result, and how long a move of
its slider takes, in headless Chromium.

Every round starts a server and opens its page before anybody else has asked it anything. Needs Debian's
packages chromium and chromium-driver. Prints a table, writes the JSON and fills RESULTS.md.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.surfaces.processes import TERSELY, Options, read_options, start_process
from tersely.errors import MissingDependencyError
from tersely.runtime.artifacts import load_artifact

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


@dataclass(frozen=True, slots=True)
class PlaygroundRun:
    """One run of the benchmark. Times are medians, and the longest."""

    benchmark: str
    model: str
    seed: int
    rounds: int
    environment: Environment
    browser: str
    first_s: tuple[float, float]
    """From opening the page to the first result of a server that was just started."""
    move_ms: tuple[float, float]
    """Of the slider, with 200 sentences."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = read_options("playground", __doc__, 7, arguments)
    return publish("playground", lambda: measure(options), render, options.out)


def measure(options: Options) -> PlaygroundRun:
    """Open the page of fresh servers."""
    first: list[float] = []
    moves: list[float] = []
    progress = Progress(options.rounds)
    with open_browser() as browser:
        for _ in range(options.rounds):
            with start_process([*TERSELY, "serve", "--port", "0"]) as server:
                started = time.perf_counter()
                show_example(browser, server.url)
                first.append(time.perf_counter() - started)
                show_sentences(browser, server.url, SENTENCES)
                moves.append(browser.execute_script(MOVE))
            progress.step("rounds")
        name = f"Chromium {browser.capabilities['browserVersion']}"
    progress.close()
    return PlaygroundRun(
        benchmark="playground",
        model=name_model(load_artifact(None)),
        seed=options.seed,
        rounds=options.rounds,
        environment=read_environment(),
        browser=name,
        first_s=_summarize(first),
        move_ms=_summarize(moves),
    )


@contextmanager
def open_browser() -> Generator[Any]:
    """Headless Chromium, driven by selenium. Raises MissingDependencyError where it is not installed."""
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
    """The elements of the page that a CSS selector finds."""
    return browser.find_elements(By.CSS_SELECTOR, selector)


def wait(condition: Callable[[], T], seconds: float = 30) -> T:
    """What the condition gives, as soon as that is true. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not happen in time")
        time.sleep(0.01)
    return value


def show_example(browser: Any, url: str) -> None:
    """Open the page and press the button for an example, until its result is shown."""
    browser.get(url)
    find(browser, "#example")[0].send_keys(Keys.ENTER)
    wait(lambda: find(browser, ".unit.kept"))


def show_sentences(browser: Any, url: str, count: int) -> None:
    """Open the page and compress so many sentences."""
    browser.get(url)
    lines = " ".join(f"Sentence number {i} says something about boats." for i in range(count))
    browser.execute_script("document.getElementById('documents').value = arguments[0]", lines)
    find(browser, "#query")[0].send_keys("Which boats?" + Keys.ENTER)
    wait(lambda: len(find(browser, ".unit")) >= count)


def render(run: PlaygroundRun) -> str:
    """The section of RESULTS.md."""
    first, move = run.first_s, run.move_ms
    return "\n\n".join(
        [
            f"Model {run.model}. {run.environment.describe()} {run.browser}, headless, {run.rounds} rounds.",
            f"- From opening the page of a server that was just started to the result of its example: "
            f"{first[0]:.2f} s at the median, {first[1]:.2f} s at most.\n"
            f"- A move of the slider over {SENTENCES} sentences, with layout: {move[0]:.1f} ms at the "
            f"median, {move[1]:.1f} ms at most; 33 ms would be 30 frames a second.",
        ]
    )


def _summarize(values: list[float]) -> tuple[float, float]:
    return round(float(np.median(values)), 3), round(max(values), 3)


if __name__ == "__main__":
    sys.exit(main())
