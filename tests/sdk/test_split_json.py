"""JSON that parses goes on parsing, with the records that matter and every omission counted in place."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import Compressor, Document
from tersely.split.json_values import find_json_end
from tersely.split.lines import Lines
from tests.sdk.checks import check_all
from tests.sdk.counters import COUNTERS
from tests.sdk.fakes import FakeScorer
from tests.sdk.json_oracle import MARK, check_json
from tests.sdk.units import grows_linearly, list_units

QUESTION = "When was lighthouse 17 built?"
COMPRESSORS = [Compressor(FakeScorer(), token_counter=counter) for counter in COUNTERS]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40)
long_texts = st.lists(
    st.sampled_from(["The lamp was lit.", 'née \\ "so"\n', "x" * 50, "灯塔。", "\t1861:"])
).map(lambda parts: " ".join(parts * 5))
values = st.recursive(
    scalars | long_texts,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=12), inner, max_size=12),
    max_leaves=60,
)


def lighthouses(count: int) -> list[dict[str, Any]]:
    return [
        {"id": n, "name": f"lighthouse {n}", "built": 1700 + n, "keeper": ["Ada", "Bo", "Cy"][n % 3]}
        for n in range(count)
    ]


def envelope(count: int) -> dict[str, Any]:
    return {"status": "ok", "results": lighthouses(count), "total": count}


@given(
    st.sampled_from(COMPRESSORS),
    values,
    st.sampled_from([None, 1, 2]),
    st.booleans(),
    st.sampled_from([20, 60, 120, 300, None]),
)
def test_json_still_parses_and_omissions_are_counted(
    compressor: Compressor, value: Any, indent: int | None, is_ascii: bool, budget: int | None
) -> None:
    text = json.dumps(envelope(9) | {"more": [value] * 3}, indent=indent, ensure_ascii=is_ascii)
    docs = [Document(text)]
    result = compressor.compress(QUESTION, docs, budget=budget)
    check_all(result, docs, compressor.count_tokens, budget=budget)
    if result.text:
        assert check_json(text, result.text) == len(result.marks)


@pytest.mark.parametrize("number", [0, 3, 21, 39])
@pytest.mark.parametrize("indent", [None, 2])
def test_the_record_that_is_asked_for_is_kept_whole(number: int, indent: int | None) -> None:
    text = json.dumps(envelope(40), indent=indent)
    result = Compressor().compress(f"When was lighthouse {number} built?", [text], budget=90)
    results = json.loads(result.text)["results"]
    assert lighthouses(40)[number] in results
    assert sum(int(MARK.fullmatch(r)[1]) if isinstance(r, str) else 1 for r in results) == 40


def test_a_large_record_keeps_its_name_beside_what_is_asked_for() -> None:
    harbours = [
        {"id": n, "name": f"harbour {n}", **{f"field_{k}": f"value {k} of {n}" for k in range(40)}}
        for n in range(30)
    ]
    question = "What is field_23 of harbour 12?"
    result = Compressor().compress(question, [json.dumps({"harbours": harbours})], budget=150)
    records = [r for r in json.loads(result.text)["harbours"] if isinstance(r, dict)]
    assert any(r.get("name") == "harbour 12" and r.get("field_23") == "value 23 of 12" for r in records)
    assert all("name" in r and "id" in r for r in records)


def test_a_long_string_is_opened_at_its_sentences() -> None:
    story = " ".join(f'On day {n} the keeper wrote "{n * 7} ships".\n' for n in range(200))
    text = json.dumps({"url": "https://coast.example", "content": story})
    result = Compressor().compress("What did the keeper write on day 123?", [text], budget=120)
    value = json.loads(result.text)
    assert value["url"] == "https://coast.example"
    assert 'On day 123 the keeper wrote "861 ships".' in value["content"]
    check_json(text, result.text)


def test_a_value_before_a_comma_is_opened() -> None:
    body = json.dumps(lighthouses(40), indent=1)
    result = Compressor(FakeScorer()).compress(QUESTION, [body + ","], budget=150)
    assert result.text.endswith("],")
    check_json(body, result.text.removesuffix(","))


def test_a_block_that_is_small_and_fits_stays_whole() -> None:
    body = json.dumps(lighthouses(8))
    docs = [f"{'Bread is baked in the morning. ' * 30}\n\n{body}\n\nNobody slept. It rained."]
    result = Compressor(FakeScorer()).compress("lighthouse 3 built", docs, rate=0.75)
    assert body in result.text
    assert not any("more" in result.text[mark.text_start : mark.text_end] for mark in result.marks)


def test_many_numbers_are_kept_in_small_groups() -> None:
    generator = random.Random(5)
    numbers = [generator.randrange(10**6) for _ in range(3000)]
    text = json.dumps({"name": "tide", "levels": numbers})
    result = Compressor().compress(f"Where is {numbers[1234]}?", [text], budget=80)
    assert numbers[1234] in json.loads(result.text)["levels"]
    check_json(text, result.text)


def test_values_that_never_end_take_linear_time() -> None:
    def run(size: int) -> None:
        lines = Lines("x=[\n" * (4 * size))
        assert not any(find_json_end(lines, index) for index in range(len(lines)))

    assert grows_linearly(run)


@pytest.mark.parametrize("size", [4090, 4096, 4100, 70_000])
def test_a_long_value_is_found(size: int) -> None:
    for filler in ('"' + "x" * size + '"', "[" + "1, " * (size // 3) + "true]", " " * size + "-Infinity"):
        value = f'{{"a": {filler}, "b": 1}}'
        assert list_units(f"Some words.\n\n{value}\n\nMore words.")[1] == ("json", value)
