"""The ledger's file, its comparison of conversations, and its report."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tersely_ledger.store as store
from tersely import Compressor, InvalidInputError
from tersely.cli import main
from tersely_ledger import Entry, Ledger, LedgerError, LedgerSettings, RecordingCompressor, Usage
from tersely_ledger.comparison import LEAST_CONVERSATIONS, Prices, compare
from tersely_ledger.page import make_page
from tersely_ledger.report import make_report
from tersely_ledger.show import describe_period, show_text
from tersely_ledger.store import HELD_OUT, SHADOW, SHORTENED, record_safely
from tersely_ledger.usage import UsageReader, read_usage
from tests.integrations.samples import MUSEUM
from tests.sdk.fakes import FakeScorer

PRICES = Prices(input=2.0, output=10.0, cache_read=0.1, cache_write=1.25)
TOOLS = {"search": (1, 1000, 300)}


@pytest.fixture
def ledger(file: Path) -> Ledger:
    return Ledger(file)


def make_entry(**fields: Any) -> Entry:
    usage = Usage(1000, 0, 0, 0)
    return Entry(**{"source": "proxy", "status": "compressed", "tools": TOOLS, "usage": usage, **fields})


def make_conversations(arm: str, tokens: Sequence[float], **fields: Any) -> list[Entry]:
    return [
        make_entry(arm=arm, conversation=f"{arm}{n}", share=0.1, usage=Usage(int(t), 0, 0, 0), **fields)
        for n, t in enumerate(tokens)
    ]


def test_an_entry_is_read_as_it_was_written(ledger: Ledger) -> None:
    entries = [
        make_entry(conversation="c", arm=HELD_OUT, share=0.1, code=200, model="m", usage=Usage(1, 2, 3, 4)),
        make_entry(usage=None, tools={}),
    ]
    for entry in entries:
        ledger.record(entry)
    assert ledger.read() == entries


def test_the_oldest_entries_go_and_the_file_stays_small(
    ledger: Ledger, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_ROWS", 200)
    sizes: list[int] = []
    for number in range(1200):
        ledger.record(make_entry(code=number))
        if number in (400, 1199):
            ledger._database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            sizes.append(file.stat().st_size)
    assert [entry.code for entry in ledger.read()] == list(range(1000, 1200))
    assert sizes[1] <= sizes[0] + 8192


def test_names_that_a_client_chooses_are_bounded() -> None:
    sums = store.sum_tools((f"{'x' * 1000}{number}"[-70:], 10, 1) for number in range(100))
    assert len(sums) <= store.MAX_TOOLS + 1
    assert max(map(len, sums)) <= store.MAX_NAME
    assert sum(count for count, _, _ in sums.values()) == 100


def test_several_writers_share_a_file(file: Path) -> None:
    def write() -> None:
        own = Ledger(file)
        for _ in range(25):
            own.record(make_entry())
        own.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Ledger(file).read()) == 100


def test_ids_differ_between_files(ledger: Ledger, tmp_path: Path) -> None:
    assert ledger.make_id("Hello") == ledger.make_id("Hello") != ledger.make_id("Hello!")
    assert Ledger(tmp_path / "other.db").make_id("Hello") != ledger.make_id("Hello")


def test_the_share_that_is_held_out_is_kept(ledger: Ledger) -> None:
    settings = LedgerSettings(path="x", holdout=0.1)
    arms = [ledger.choose_arm(ledger.make_id(str(n)), settings) for n in range(4000)]
    assert 320 < arms.count(HELD_OUT) < 480


@pytest.mark.parametrize("holdout", [-0.1, 1.1, "0.1", float("nan")])
def test_a_senseless_share_is_refused(holdout: Any) -> None:
    with pytest.raises(InvalidInputError, match="holdout"):
        LedgerSettings(path="x", holdout=holdout)


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, and long enough to be seen as none" * 100)
    with pytest.raises(LedgerError, match="text"):
        store.open_ledger(tmp_path / "text")
    with pytest.raises(LedgerError, match="Name another file"):
        store.open_ledger(tmp_path / "text" / "ledger.db")


@pytest.mark.parametrize(
    ("fields", "usage"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 7}, Usage(100, 0, 0, 7)),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80}}, Usage(20, 80, 0, 0)),
        ({"prompt_tokens": 100, "prompt_tokens_details": None}, Usage(100, 0, 0, 0)),
        ({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 80}}, Usage(20, 80, 0, 0)),
        ({"input_tokens": 100, "cache_read_input_tokens": 80, "output_tokens": 7}, Usage(100, 80, 0, 7)),
        ({"input_tokens": 1, "cache_creation_input_tokens": 80}, Usage(1, 0, 80, 0)),
        ({"prompt_tokens": "many", "completion_tokens": -1}, Usage(0, 0, 0, 0)),
        ({"total_tokens": 3}, None),
        ({}, None),
    ],
)
def test_cached_tokens_count_once(fields: dict[str, Any], usage: Usage | None) -> None:
    assert read_usage(fields) == usage


@pytest.mark.parametrize(
    ("kind", "encoding", "content"),
    [
        ("application/json", "", b"{"),
        ("application/json", "", b"[]"),
        ("application/json", "gzip", b"no gzip"),
        ("application/json", "br", b'{"usage": {"prompt_tokens": 1}}'),
        ("text/event-stream", "", b'data: {"usage": 3}\n\ndata: {"usage"\n\n'),
        ("text/html", "", b'{"usage": {"prompt_tokens": 1}}'),
    ],
)
def test_an_answer_that_cannot_be_read_reports_nothing(kind: str, encoding: str, content: bytes) -> None:
    reader = UsageReader(kind, encoding)
    reader.feed(content)
    assert reader.read().usage is None


def test_costs_count_each_kind_of_token_at_its_price() -> None:
    assert PRICES.cost(Usage(1_000_000, 0, 0, 0)) == 2.0
    assert PRICES.cost(Usage(0, 1_000_000, 0, 0)) == pytest.approx(0.2)
    assert PRICES.cost(Usage(0, 0, 1_000_000, 100_000)) == pytest.approx(3.5)
    with pytest.raises(InvalidInputError, match="--price-cache-read"):
        Prices(1.0, 1.0).cost(Usage(1, 1, 0, 0))


def test_the_interval_covers_the_true_saving() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(30):
        entries = make_conversations(HELD_OUT, 1e5 * rng.lognormal(0, 0.7, 40))
        entries += make_conversations(SHORTENED, 0.8e5 * rng.lognormal(0, 0.7, 80))
        low, high = compare(entries, PRICES)["interval"]
        covered += low <= 0.2 <= high
    assert covered >= 26


@pytest.mark.parametrize(
    ("factor", "spread", "count", "verdict"),
    [
        (0.5, 0.3, 60, "saving"),
        (1.5, 0.3, 60, "negative"),
        (1.0, 0.3, 60, "not enough conversations"),
        (1.0, 0.001, 60, "no difference"),
        (0.5, 0.01, LEAST_CONVERSATIONS - 1, "not enough conversations"),
        (0.5, 0.01, 1, "not enough conversations"),
        (0.5, 0.0, 60, "saving"),
    ],
)
def test_the_verdict_says_what_the_interval_says(
    factor: float, spread: float, count: int, verdict: str
) -> None:
    rng = np.random.default_rng(3)
    entries = make_conversations(HELD_OUT, 1e5 * rng.lognormal(0, spread, count))
    entries += make_conversations(SHORTENED, factor * 1e5 * rng.lognormal(0, spread, 300))
    net = compare(entries, PRICES)
    assert net["verdict"] == verdict
    assert compare(entries, PRICES) == net, "the same each time"
    if verdict == "saving":
        assert net["saved"] == pytest.approx(300 * 0.1, rel=0.2)


def test_more_requests_in_a_conversation_cost_more() -> None:
    entries = make_conversations(HELD_OUT, [1000.0] * 30)
    entries += make_conversations(SHORTENED, [600.0] * 30) * 2
    assert compare(entries, PRICES)["verdict"] == "negative"


def test_only_what_can_be_compared_is() -> None:
    arms = make_conversations(HELD_OUT, [1000.0] * 30) + make_conversations(SHORTENED, [500.0] * 30)
    expected = compare(arms, PRICES)
    others = [
        make_entry(arm=SHADOW, conversation="w", usage=Usage(9_000_000, 0, 0, 0)),
        make_entry(conversation="x", usage=Usage(9_000_000, 0, 0, 0)),  # before anything was held out
        make_entry(conversation=None, share=0.1, usage=Usage(9_000_000, 0, 0, 0)),
        make_entry(conversation="y", share=0.1, tools={}, usage=Usage(9_000_000, 0, 0, 0)),
        make_entry(conversation="z", share=0.1, source="hook", usage=Usage(9_000_000, 0, 0, 0)),
    ]
    assert compare([*others, *arms], PRICES) == expected
    assert compare(others[:2], PRICES)["verdict"] == "no hold-out"
    assert compare(arms, None)["verdict"] == "no prices"


def fill(ledger: Ledger, factor: float) -> None:
    rng = np.random.default_rng(5)
    for arm, scale in ((SHORTENED, factor), (HELD_OUT, 1.0)):
        for entry in make_conversations(arm, 1e4 * scale * rng.lognormal(0, 0.2, 25), model="m", code=200):
            ledger.record(entry)
    ledger.record(make_entry(arm=SHADOW, tools={"<b>&": (1, 50, 20)}, usage=None))


def test_the_report_is_printed(
    ledger: Ledger, file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fill(ledger, 0.5)
    prices = ["--price-input", "2", "--price-output", "10"]
    assert main(["report", "--ledger-file", str(file), *prices]) == 0
    text = capsys.readouterr().out
    assert re.search(r"Net result: [45]\d\.\d % of the cost saved", text)
    assert "25 shortened conversations with 25 that were held out" in text
    assert re.search(r"search +25 +25,000 +7,500", text)
    page = tmp_path / "report.html"
    assert main(["report", "--ledger-file", str(file), *prices, "--json", "--html", str(page)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["net"]["verdict"] == "saving"
    assert report["delivered"]["tokens_after"] == 25 * 300
    html = page.read_text(encoding="utf-8")
    assert "of the cost saved" in html
    assert "prefers-color-scheme: dark" in html
    assert 'name="viewport"' in html
    assert not re.search(r"(src|href)=.?(http|//)|@import|url\(", html)


def test_a_loss_is_called_negative(ledger: Ledger, file: Path) -> None:
    fill(ledger, 1.6)
    report = make_report(file, PRICES)
    assert "Net result: negative, " in show_text(report)
    assert 'class="net negative"' in make_page(report)


def test_names_cannot_change_the_page(ledger: Ledger, file: Path) -> None:
    ledger.record(make_entry(tools={"<script>": (1, 50, 20)}, model="<i>"))
    page = make_page(make_report(file, PRICES))
    assert "<script>" not in page
    assert "<i>," not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 0, "no requests yet"),
        (["--price-input", "2"], 2, "both --price-input and --price-output"),
        (["--price-input", "-1", "--price-output", "1"], 2, "negative"),
        (["--model", "x"], 2, "It has: none"),
        (["--ledger-file", "/nowhere/ledger.db"], 3, "There is no ledger at"),
    ],
)
def test_bad_usage_is_explained(
    ledger: Ledger,
    file: Path,
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", "--ledger-file", str(file), *arguments]) == code
    assert message in "".join(capsys.readouterr())


def test_a_report_of_one_model(ledger: Ledger, file: Path) -> None:
    ledger.record(make_entry(model="small"))
    ledger.record(make_entry(model="large"))
    assert make_report(file, None, "small")["requests"] == 1


def test_a_ledger_that_is_gone_stops_no_compression(file: Path) -> None:
    compressor = RecordingCompressor(Compressor(FakeScorer()), file)
    compressor._ledger.close()
    assert compressor.compress("When is the museum free?", [MUSEUM], budget=20).status == "compressed"
    record_safely(compressor._ledger, make_entry())


def test_one_request_is_not_written_as_several() -> None:
    report = {"since": "2026-11-26T16:00:00Z", "until": "2026-11-26T17:00:00Z", "models": {}}
    one = describe_period({**report, "requests": 1, "conversations": 1})
    assert one == "1 request in 1 known conversation, 2026-11-26"
    assert describe_period({**report, "requests": 1200, "conversations": 0}).startswith(
        "1,200 requests in 0 known conversations"
    )
