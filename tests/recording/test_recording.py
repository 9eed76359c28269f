"""Compressions give what they gave when they were recorded: every character, span, reason and number.

The recording holds for one model. Int8 arithmetic differs between kinds of processors, so that elsewhere a
score may fall on the other side of a threshold. Where many compressions differ on another machine, record the
unchanged code anew there (`record.py`), and compare with that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.recording.record import read
from tests.recording.requests import Request, kinds, requests
from tests.recording.run import Outcome, run

TOLERANCE = 1e-3
"""Most by which a score may differ."""
SHOWN = 5
"""Compressions of a kind that are shown where they differ."""
LONGEST = 300

Difference = tuple[str, str, Any, Any]
"""Id, field, expected, got."""


@cache
def _expected() -> dict[str, Outcome]:
    return read()


@cache
def _by_kind() -> dict[str, list[Request]]:
    by_kind: dict[str, list[Request]] = {kind: [] for kind in kinds()}
    for request in requests():
        by_kind[request.kind].append(request)
    return by_kind


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds())
def test_compressions_are_as_recorded(kind: str) -> None:
    found: list[Difference] = []
    count = 0
    for request in _by_kind()[kind]:
        for outcome in run(request):
            count += 1
            # Through JSON, as what was recorded: tuples are lists, and keys are texts.
            found += compare(_expected().get(outcome["id"]), json.loads(json.dumps(outcome, default=repr)))
    differing = {name for name, *_ in found}
    if found:
        message = f"{len(differing)} of {count} compressions of kind {kind!r} differ:\n{describe(found)}"
        pytest.fail(message, pytrace=False)


def test_every_recorded_compression_is_compared() -> None:
    ids = {name for kind in _by_kind().values() for request in kind for name in _ids(request)}
    assert ids == set(_expected())


def _ids(request: Request) -> Iterator[str]:
    if request.via != "batch":
        yield request.id
    else:
        yield from (f"{request.id}/{number}" for number in range(len(request.more) + 1))


def compare(expected: Outcome | None, got: Outcome) -> list[Difference]:
    """The fields that differ; scores only where they do by more than the tolerance."""
    name = got["id"]
    if expected is None:
        return [(name, "recorded", None, "a request that was not recorded")]
    if expected["input"] != got["input"]:
        return [(name, "input", "the recorded request", "another request: the generator has changed")]
    fields = sorted((expected.keys() | got.keys()) - {"receipt_sha256", "text_sha256"})
    found = [
        (name, field, *first_difference(expected.get(field), got.get(field)))
        for field in fields
        if not is_close(expected.get(field), got.get(field))
    ]
    return sorted(found, key=lambda difference: difference[1] not in ("error", "status", "text"))


def is_close(expected: Any, got: Any) -> bool:
    """Whether two JSON values are the same, up to the last digits of numbers with a fraction."""
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(is_close, expected, got))
    if isinstance(expected, float) and isinstance(got, float):
        return abs(expected - got) <= TOLERANCE
    return type(expected) is type(got) and expected == got


def first_difference(expected: Any, got: Any) -> tuple[Any, Any]:
    """Of two lists the first entries that differ, with their place; of two texts the places that differ."""
    if isinstance(expected, list) and isinstance(got, list):
        pairs = zip(expected, got, strict=False)
        shorter = min(len(expected), len(got))
        place = next((n for n, (a, b) in enumerate(pairs) if not is_close(a, b)), shorter)
        return tuple(f"[{place}] of {len(side)}: {side[place : place + 1]}" for side in (expected, got))
    if isinstance(expected, str) and isinstance(got, str):
        pairs = zip(expected, got, strict=False)
        place = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(got)))
        return tuple(f"from character {place}: {side[max(place - 40, 0) :]!r}" for side in (expected, got))
    return expected, got


def describe(found: list[Difference]) -> str:
    """The first field that differs of the first compressions, and the names of the other fields."""
    by_name: dict[str, list[Difference]] = {}
    for difference in found:
        by_name.setdefault(difference[0], []).append(difference)
    lines: list[str] = []
    for name, own in list(by_name.items())[:SHOWN]:
        _, field, expected, got = own[0]
        others = f" (also {', '.join(other for _, other, *_ in own[1:])})" if own[1:] else ""
        lines += [f"{name}, {field}{others}"]
        lines += [f"  expected {_shorten(expected)}", f"  got      {_shorten(got)}"]
    if len(by_name) > SHOWN:
        lines.append(f"... and {', '.join(list(by_name)[SHOWN:])}")
    return "\n".join(lines)


def _shorten(value: Any) -> str:
    shown = value if isinstance(value, str) else json.dumps(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
