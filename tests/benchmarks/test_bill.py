"""Bills by hand."""

from __future__ import annotations

import pytest

from benchmarks.bill import Prices, compare_retrieval, compare_rewriting, price_agent, shorten_results

PRICES = Prices(write=1.25, read=0.1)


def test_a_cache_that_holds_all_documents_costs_a_tenth() -> None:
    assert compare_retrieval(1.0, 0.1, PRICES) == 0.0
    assert compare_retrieval(1.0, 0.25, PRICES) == 1.5
    assert compare_retrieval(0.5, 0.11, PRICES) == pytest.approx(0.11 / 0.55 - 1)


def test_an_agent_pays_for_what_it_adds_and_reads_the_rest() -> None:
    # 110 written; 110 read and 60 written
    assert price_agent(iter([100, 50]), 10, PRICES) == pytest.approx(1.25 * 110 + 0.1 * 110 + 1.25 * 60)


def test_originals_come_on_top_of_what_was_shortened() -> None:
    assert list(shorten_results(4, 100, 0.25, 0.5)) == [25, 125, 25, 125]
    assert list(shorten_results(3, 100, 0.25, 0.0)) == [25, 25, 25]


def test_a_rewritten_history_pays_off_later() -> None:
    assert compare_rewriting(1, 0.1, PRICES) == pytest.approx(0.125 / 0.1 - 1)
    assert compare_rewriting(2, 0.1, PRICES) == pytest.approx(0.1 * 1.35 / 0.2 - 1)
