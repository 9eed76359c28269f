"""A browser without a window, its screens, and what every page must pass on each of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

needs_browser = pytest.mark.skipif(
    shutil.which("chromium") is None or shutil.which("chromedriver") is None,
    reason="needs Debian's chromium and chromium-driver: scripts/browser",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("selenium")
    from benchmarks.surfaces.playground import open_browser

    with open_browser() as browser:
        yield browser


@pytest.fixture(params=[(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")], ids=str)
def screen(browser: Any, request: pytest.FixtureRequest) -> Iterator[int]:
    """Yield the width of the browser's screen, in a colour scheme."""
    width, scheme = request.param
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield width
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def check_accessibility(browser: Any, width: int) -> None:
    """Check the page as it is shown with axe, and that it is not wider than the screen."""
    axe_selenium = pytest.importorskip("axe_selenium_python")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    axe = axe_selenium.Axe(browser)
    axe.inject()
    assert axe.run()["violations"] == []
