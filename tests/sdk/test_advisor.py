"""The advisor's bill by hand, what a compressor makes of it, and the speed that is measured once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tersely import Advisor, Compression, Compressor, InvalidInputError
from tersely.selector import DocumentScores, ScoredInput
from tersely.speed import Speed, find_speed, measure_speed
from tests.sdk.compressor_cases import DOCS, QUERY
from tests.sdk.fakes import FakeScorer

SPEED = Speed(((100, 0.1), (1100, 0.3)))
"""0.1 s for 100 tokens, and 0.02 s for each further hundred."""


def test_a_speed_follows_straight_lines() -> None:
    assert [SPEED.seconds(tokens) for tokens in (0, 50, 100, 600, 1100, 2100)] == pytest.approx(
        [0.1, 0.1, 0.1, 0.2, 0.3, 0.5]
    )
    assert Speed(((100, 0.2),)).seconds(300) == pytest.approx(0.6)
    assert Speed(((100, 0.2), (200, 0.1))).seconds(1000) == 0.2, "noise never makes more tokens faster"


@pytest.mark.parametrize(
    ("prices", "saved", "seconds"),
    [
        # 1,100 tokens to 275, 2 for a million: 825 fewer cost 0.00165 less, after 0.3 s.
        ({}, 0.00165, 0.3),
        # New tokens cost 1.25 of it.
        ({"cache_write": 1.25}, 0.0020625, 0.3),
        # The cache holds nine tenths: 1100 * (0.9 * 0.1 + 0.1 * 1.25) - 275 * 1.25 = -107.25 tokens.
        ({"cache_read": 0.1, "cache_write": 1.25, "cached": 0.9}, -0.0002145, 0.3),
        # Ten more calls read 825 tokens less each, at a tenth.
        ({"cache_read": 0.1, "repeats": 10}, 0.00165 + 10 * 0.000165, 0.3),
        # The model reads 1,000 tokens a second: 0.825 s less.
        ({"reading_speed": 1000}, 0.00165, 0.3 - 0.825),
        # Of what the cache holds, it reads nothing: (1100 * 0.5 - 275) / 1000 = 0.275 s less.
        ({"reading_speed": 1000, "cached": 0.5}, 0.00165, 0.025),
    ],
)
def test_the_bill_is_that_of_the_hand(prices: dict[str, Any], saved: float, seconds: float) -> None:
    for second, pays in ((0.0, saved > 0), (1.0, saved > seconds)):
        advice = Advisor(price=2, second=second, speed=SPEED, **prices).advise(1100)
        assert (advice.tokens_before, advice.tokens_after) == (1100, 275)
        assert (advice.saved, advice.seconds) == (pytest.approx(saved), pytest.approx(seconds))
        assert advice.pays is pays


def test_a_reason_gives_both_sides() -> None:
    advisor = Advisor(price=2, second=0.01, speed=SPEED)
    assert advisor.advise(1100, 275).reason == "1,100 -> 275 tokens save 0.0016, and 0.3 s more cost 0.003"
    local = Advisor(price=0, cached=0, reading_speed=100, speed=SPEED)
    assert local.advise(1100, 275).reason == "1,100 -> 275 tokens save 0, and 8 s less save 0.08"


def test_the_break_even_is_where_the_bill_turns() -> None:
    # A tenth stays: 0.9 * 1e-5 a token, against 1e-5 a token up to 100 and 2e-6 after that.
    advisor = Advisor(price=10, second=0.01, speed=SPEED, expected_rate=0.1)
    least = advisor.break_even()
    assert least is not None
    assert 100 < least < 130
    assert advisor.advise(least).pays
    assert not advisor.advise(100).pays
    assert Advisor(price=0, speed=SPEED).break_even() is None


@pytest.mark.parametrize("bad", [{"price": -1}, {"price": None}, {"price": True}, {"cached": 1.5},
                                 {"second": float("nan")}, {"reading_speed": 0}])  # fmt: skip
def test_a_value_that_cannot_be_used_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(bad))):
        Advisor(**{"price": 3, **bad})


class CountingScorer(FakeScorer):
    """Counts its calls."""

    calls = 0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        self.calls += 1
        return super().score(query, documents)


def make(**prices: Any) -> tuple[Compressor, CountingScorer]:
    scorer = CountingScorer()
    return Compressor(scorer, advisor=Advisor(speed=SPEED, **prices)), scorer


@pytest.mark.parametrize("options", [{}, {"rate": 0.4}, {"recall": None, "max_docs": 1}])
def test_what_does_not_pay_is_bypassed_before_the_model_is_asked(options: dict[str, Any]) -> None:
    compressor, scorer = make(price=1, second=1)
    result = compressor.compress(QUERY, DOCS, **options)
    assert (result.status, scorer.calls, result.dropped) == ("bypassed", 0, ())
    assert result.tokens_after == result.tokens_before
    assert result.reason is not None
    assert result.reason.startswith(f"it does not pay: {result.tokens_before} -> ")
    assert {span.reason for span in result.kept} == {"bypassed"}


def test_what_pays_is_compressed_as_without_an_advisor() -> None:
    compressor, _ = make(price=1000, second=0)
    assert compressor.compress(QUERY, DOCS, rate=0.4) == Compressor(
        compressor_scorer := CountingScorer()
    ).compress(QUERY, DOCS, rate=0.4)
    assert compressor_scorer.calls == 1


def test_a_budget_is_kept_whatever_the_advisor_says() -> None:
    compressor, _ = make(price=0, second=1)
    result = compressor.compress(QUERY, DOCS, budget=20)
    assert result.status == "compressed"
    assert result.tokens_after <= 20


def test_chats_whose_compression_does_not_pay_stay_as_they_are() -> None:
    compressor, _ = make(price=0, second=1)
    call = {"id": "1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": QUERY},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": DOCS[0].text},
    ]
    result = compressor.compress_messages(messages)
    assert result.messages == messages
    assert result.receipt.status == "bypassed"


def test_an_advisor_without_a_speed_says_where_to_get_one() -> None:
    with pytest.raises(InvalidInputError, match="has no speed"):
        Advisor(price=3).advise(100)
    with pytest.raises(InvalidInputError, match="Pass a tersely"):
        Compressor(FakeScorer(), advisor="cheap")  # pyright: ignore[reportArgumentType]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tersely" / "speed.json"


def test_a_speed_of_your_own_reads_and_writes_no_file(cache: Path) -> None:
    cache.parent.mkdir()
    cache.mkdir()  # whoever reads or writes it fails
    scorer = CountingScorer()
    own = Compressor(scorer, advisor=Advisor(price=3, speed=SPEED)).advisor
    assert own is not None
    assert (own.speed, scorer.calls, list(cache.parent.iterdir())) == (SPEED, 0, [cache])


def test_the_speed_is_measured_once_for_a_model_and_kept(cache: Path) -> None:
    scorer = CountingScorer()
    first = Compressor(scorer, advisor=Advisor(price=3)).advisor
    assert first is not None
    assert first.speed is not None
    assert scorer.calls == 13, "four sizes three times, and one to warm up"
    again = Compressor(scorer, advisor=Advisor(price=9))
    assert again.advisor is not None
    assert (again.advisor.speed, scorer.calls) == (first.speed, 13)
    again.find_speed(again=True)
    assert scorer.calls == 26
    Compressor(scorer, threads=1, token_counter=len).find_speed()
    assert len(json.loads(cache.read_text())) == 2, "another counter or another number of threads is another"


def test_the_measured_speed_is_that_of_the_calls() -> None:
    sizes: list[int] = []

    def compress(query: str, texts: Sequence[str]) -> Compression:
        result = Compressor(FakeScorer()).compress(query, texts, rate=0.25)
        sizes.append(result.tokens_before)
        return result

    speed = measure_speed(compress)
    assert [tokens for tokens, _ in speed.times] == sorted({*sizes})
    assert all(seconds > 0 for _, seconds in speed.times)


@pytest.mark.parametrize("damage", ["", "[]", '{"m": [[0, 1]]}', '{"m": "fast"}', '{"m": [[5, null]]}'])
def test_a_damaged_file_is_measured_again(cache: Path, damage: str) -> None:
    cache.parent.mkdir()
    cache.write_text(damage)
    compressor = Compressor(FakeScorer())
    speed = find_speed("m", compressor.compress)
    assert find_speed("m", compressor.compress) == speed, "and then known"


def test_a_folder_that_cannot_be_written_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(find_speed("m", Compressor(FakeScorer()).compress).times) == 4
