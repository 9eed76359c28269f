"""The playground in a real browser without a window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("selenium")
import httpx2
from selenium.webdriver.common.keys import Keys

from benchmarks.surfaces.playground import find, show_example, wait
from tersely import Compressor
from tersely.cli import main
from tersely.cli.read import DEMO_QUERY
from tersely.view import make_page
from tersely_ledger import Entry, Ledger, LedgerSettings, Usage
from tersely_ledger.store import HELD_OUT, SHORTENED
from tersely_server import ServerSettings, build_app
from tests.browsers import browser as browser
from tests.browsers import check_accessibility, needs_browser
from tests.browsers import screen as screen
from tests.servers import serve_app


@pytest.fixture(scope="module")
def url(bundled: Compressor) -> Iterator[str]:
    with serve_app(build_app(bundled)) as url:
        yield url


def test_the_page_loads_nothing_from_outside(url: str) -> None:
    page = httpx2.get(url)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert re.findall(r'(?:src|href|action)="(?!data:)', page.text) == []
    assert DEMO_QUERY in page.text
    assert "null /* the example */" not in page.text


def read(browser: Any, selector: str) -> list[str]:
    """Return the texts of elements at one moment, while the page may replace them."""
    script = "return [...document.querySelectorAll(arguments[0])].map(element => element.textContent)"
    return browser.execute_script(script, selector)


@needs_browser
def test_the_example_is_answered_at_once(browser: Any, url: str) -> None:
    show_example(browser, url)
    kept = " ".join(element.text for element in find(browser, ".unit.kept"))
    result = find(browser, ".result .text")[0].text
    for answer in ("The 20:40 is the last departure of the day", "only folded bicycles in a bag"):
        assert answer in kept
        assert answer in result
    headline = find(browser, "#summary")[0].text
    assert re.search(r"−\d\d %\s+1,349 → \d+ tokens\s+\d+ of 66 sentences\s+\d+ of 12 documents", headline)
    assert (
        browser.execute_script("return document.querySelector('.result').getBoundingClientRect().top") < 400
    )
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@needs_browser
def test_a_saving_that_a_cache_would_give_is_not_claimed(browser: Any, url: str) -> None:
    show_example(browser, url)
    summary = find(browser, "#summary")[0].text.replace(",", "")
    before, after = map(int, re.findall(r"(\d+) → (\d+)", summary)[0])
    plain, cached = 3 * (before - after) / 1000, 3 * (after - before / 10) / 1000
    assert find(browser, "#money")[0].text.endswith(
        f"1,000 requests cost ${plain:.2f} less without a cache, and ${cached:.2f} more if a cache serves "
        "the documents at a tenth of the price."
    )


@needs_browser
def test_the_arrow_keys_explain_sentences(browser: Any, url: str) -> None:
    show_example(browser, url)
    find(browser, "#shown")[0].send_keys(Keys.ARROW_DOWN)
    assert re.match(r"(Kept|Dropped): .*; score 0\.\d\d\.", find(browser, "#why")[0].text)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert browser.switch_to.active_element.id == find(browser, ".unit")[1].id


@needs_browser
def test_a_tap_explains_a_sentence(browser: Any, url: str) -> None:
    touch = {"enabled": True, "maxTouchPoints": 1}
    metrics = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", touch)
    try:
        show_example(browser, url)
        assert find(browser, "#why")[0].text == "Tap a sentence to see why."
        sentence = find(browser, ".unit.kept")[0]
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", sentence)
        box = browser.execute_script(
            "const b = arguments[0].getBoundingClientRect(); return [b.x, b.y]", sentence
        )
        point = {"x": box[0] + 30, "y": box[1] + 10}
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert wait(lambda: find(browser, "#why")[0].text).startswith("Kept: ")
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@needs_browser
def test_the_shown_programs_give_the_shown_text(browser: Any, url: str) -> None:
    show_example(browser, url)
    text = browser.execute_script("return reply.text")
    names: dict[str, Any] = {}
    exec(find(browser, "#python")[0].get_attribute("textContent").replace("print(result.text)", ""), names)
    assert names["result"].text == text
    assert f"{url}/v1/compress" in find(browser, "#curl")[0].get_attribute("textContent")


@needs_browser
def test_a_link_holds_the_state(browser: Any, url: str) -> None:
    show_example(browser, url)
    find(browser, "#edit")[0].click()
    field = find(browser, "#documents")[0]
    field.clear()
    field.send_keys("Keys\n\nThe spare key hangs behind the pot. Rain is due.\n---\nDer Schlüssel hängt 鍵.")
    find(browser, "#query")[0].clear()
    find(browser, "#query")[0].send_keys("Where is the spare key?")
    browser.execute_script("setShare(80)")
    find(browser, "button.main")[0].click()
    wait(lambda: "behind the pot" in "".join(read(browser, ".result .text")))
    link = browser.execute_script("return makeLink().then(link => location.origin + '/#' + link)")
    browser.get("about:blank")
    browser.get(link)
    wait(lambda: "behind the pot" in "".join(read(browser, ".result .text")))
    assert find(browser, "#query")[0].get_attribute("value") == "Where is the spare key?"
    assert "Der Schlüssel hängt 鍵." in find(browser, "#documents")[0].get_attribute("value")
    assert read(browser, ".document b") == ["Keys", "document 2"]
    assert read(browser, "#percent") == ["80 %"]
    browser.get(url + "/?damaged#0")
    wait(lambda: "damaged" in read(browser, "#problem")[0])


DROP = """
const data = new DataTransfer();
for (const [name, text] of arguments[0]) data.items.add(new File([text], name));
document.body.dispatchEvent(new DragEvent("drop", {bubbles: true, dataTransfer: data}));
"""


@needs_browser
def test_files_can_be_dropped_anywhere(browser: Any, url: str) -> None:
    show_example(browser, url)
    browser.execute_script(
        DROP, [["note.md", "A bear was seen on the last boat in winter."], ["a.pdf", "%PDF-1.7"]]
    )
    wait(lambda: "note.md" in read(browser, ".document b"))
    assert "13 documents" in read(browser, "#summary")[0]
    browser.execute_script(DROP, [["a.pdf", "%PDF-1.7"]])
    wait(lambda: "a.pdf is not text" in read(browser, "#problem")[0])


def ledger_size(path: Path) -> int:
    ledger = Ledger(path)
    try:
        return len(ledger.read())
    finally:
        ledger.close()


def test_what_somebody_tries_is_not_in_the_ledger(bundled: Compressor, tmp_path: Path) -> None:
    settings = ServerSettings(ledger=LedgerSettings(path=tmp_path / "ledger.db"))
    body = {"query": "Who holds the key?", "documents": ["Ada holds the key. The roof is new."], "rate": 0.6}
    with serve_app(build_app(bundled, settings)) as url:
        view = httpx2.post(f"{url}/playground/view", json=body).json()
        assert ledger_size(tmp_path / "ledger.db") == 0
        text = httpx2.post(f"{url}/v1/compress", json=body).json()["text"]
        assert ledger_size(tmp_path / "ledger.db") == 1
    assert view["text"] == text
    assert "Ada holds the key." in view["result"]


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
    show_example(browser, url)
    attack = "The boat <b>leaves</b> at noon, says <img src=x onerror='document.title=1'> the captain."
    browser.execute_script("document.getElementById('documents').value = arguments[0]", attack)
    find(browser, "#query")[0].clear()
    find(browser, "#query")[0].send_keys("When does it leave?" + Keys.ENTER)
    wait(lambda: "of 1 document" in read(browser, "#summary")[0])
    assert attack in find(browser, "#shown")[0].text
    assert find(browser, "#shown img, #right img, .words b") == []
    assert browser.title == "tersely playground"


@needs_browser
def test_everybody_can_use_it(browser: Any, url: str, screen: int) -> None:
    show_example(browser, url)
    check_accessibility(browser, screen)
    find(browser, "#edit")[0].click()
    for details in find(browser, ".code summary"):
        details.click()
    check_accessibility(browser, screen)


@needs_browser
def test_everybody_can_read_the_page_of_a_result(
    browser: Any, bundled: Compressor, screen: int, tmp_path: Path
) -> None:
    documents = [("Keys", "# House\n\nAda holds the key. The roof is new."), (None, '{"key": {"at": "pot"}}')]
    result = bundled.compress("Who holds the key?", [text for _, text in documents], rate=0.5)
    page = tmp_path / "view.html"
    page.write_text(make_page(result.to_dict(), "Who holds the key?", documents), encoding="utf-8")
    browser.get(page.as_uri())
    assert "Ada holds the key." in find(browser, ".result")[0].text
    check_accessibility(browser, screen)


@needs_browser
def test_everybody_can_read_the_report(browser: Any, screen: int, tmp_path: Path) -> None:
    file, page = tmp_path / "ledger.db", tmp_path / "report.html"
    ledger = Ledger(file)
    for arm in (SHORTENED, HELD_OUT):
        for number in range(40):
            tools = {"mcp__library__list_books_by_author": (2, 12_000 + 100 * number, 1_900)}
            usage = Usage(5_000 + 100 * number + 3_000 * (arm == HELD_OUT), 0, 0, 500)
            ledger.record(
                Entry(
                    source="proxy",
                    arm=arm,
                    status="compressed",
                    tools=tools,
                    best_left_out=number % 9 == 0,
                    conversation=f"{arm}{number}",
                    share=0.5,
                    usage=usage,
                    time=1.7e9 + 86_400 * number,
                )
            )
    prices = ("--price-input", "3", "--price-output", "15")
    assert main(["report", "--ledger-file", str(file), *prices, "--html", str(page)]) == 0
    browser.get(page.as_uri())
    assert "of the cost saved" in find(browser, "body")[0].text
    check_accessibility(browser, screen)
