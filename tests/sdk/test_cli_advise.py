"""`tersely advise`. Measures the bundled model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sdk.cli_runner import check_failure, run_tersely


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_it_measures_once_and_says_from_where_on_it_pays() -> None:
    first = json.loads(run_tersely("advise", "--price", "3", "--second", "0", "--json").stdout)
    assert first["pays_from"] == 10, "time costs nothing"
    assert [own["tokens_before"] for own in first["advice"]] == [500, 1000, 2000, 4000, 8000, 16000]
    again = run_tersely(
        "advise", "--price", "3", "--cached", "1", "--cache-read", "0.1", "--tokens", "3000", "--json"
    )
    facts = json.loads(again.stdout)
    assert facts["times"] == first["times"]
    assert facts["pays_from"] is None, "the cache is cheaper"
    assert facts["advice"][0]["saved"] == pytest.approx(-0.00135)
    shown = run_tersely("advise", "--price", "0", "--reading-speed", "1", "--tokens", "3000").stdout
    assert "3,000 tokens" in shown
    assert "pays: 3,000 -> 750 tokens save 0, and 2.2e+03 s less save" in shown


def test_bad_prices_are_refused() -> None:
    check_failure(run_tersely("advise", "--price", "-1"), 2, "price is -1")
    no_price = run_tersely("proxy", "--upstream", "http://127.0.0.1:9", "--second", "1")
    check_failure(no_price, 2, "--second goes")
