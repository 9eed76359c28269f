"""Whether a compression pays: what fewer tokens save, against the time that the compression takes.

For documents of b tokens that would become a, with a price p of a token and a worth s of a second:

    whole  = b (h r + (1 - h) w) + n b r        h: share that the provider's cache holds if they stay whole
    short  = a w + n a r                        r, w: of a token read from the cache, and of one that is new
    waits  = seconds(b) - (b (1 - h) - a) / v   n: later calls; v: tokens that the model reads in a second
    gain   = p (whole - short) - s waits

A short text differs from question to question, so no cache holds it in the first call. A compression pays if
the gain is above 0. `seconds` is measured on this machine (`tersely.speed`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import cast

from tersely.errors import InvalidInputError
from tersely.inputs import show_value, type_name
from tersely.speed import Speed

_LARGEST = 1_000_000
"""Tokens up to which a break-even is looked for."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What is to be expected of a compression."""

    pays: bool
    reason: str
    """Both sides of the bill. Money is in the currency of the advisor's price."""
    tokens_before: int
    tokens_after: int
    """Expected."""
    saved: float
    """Money for the model's input; below 0 where whole documents are cheaper: the cache holds them."""
    seconds: float
    """How much longer the answer takes; below 0 where the model saves more than the compression takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisor:
    """Says whether a compression pays, from prices, caches, and times.

    Raises InvalidInputError for a value that cannot be used.
    """

    price: float
    """Of a million input tokens, in any currency. 0 for a model of your own."""
    cache_read: float = 1.0
    """Price of a token that the provider's cache holds, as a share of `price`."""
    cache_write: float = 1.0
    """Price of a token that it does not hold, as a share of `price`."""
    cached: float = 0.0
    """Share of the documents that the cache would hold if they stayed whole, from 0 to 1."""
    repeats: float = 0.0
    """How often the same context is sent again, and read from the cache, as in the turns of an agent."""
    second: float = 0.01
    """What a second of waiting costs. The default is 36 in an hour."""
    reading_speed: float | None = None
    """Tokens that the model reads in a second; None leaves the time of its reading out."""
    expected_rate: float = 0.25
    """Share of the tokens that is expected to stay where no limit says it."""
    speed: Speed | None = None
    """Of compressions. None: a `Compressor` measures it when it is made, once on each machine."""

    def __post_init__(self) -> None:
        for name in ("price", "cache_read", "cache_write", "cached", "repeats", "second", "expected_rate"):
            _check_number(getattr(self, name), name)
        if self.reading_speed is not None and _check_number(self.reading_speed, "reading_speed") == 0:
            raise InvalidInputError("reading_speed is 0. Pass tokens for a second, or None.")
        for name in ("cached", "expected_rate"):
            if getattr(self, name) > 1:
                raise InvalidInputError(f"{name} is {getattr(self, name)}. Pass a share from 0 to 1.")
        if not isinstance(cast("object", self.speed), Speed | None):
            raise InvalidInputError(f"speed is {type_name(self.speed)}. Pass what find_speed() gives.")

    def at(self, speed: Speed) -> Advisor:
        """The same advisor with a speed, unless it has one."""
        return self if self.speed is not None else replace(self, speed=speed)

    def advise(self, tokens_before: int, tokens_after: int | None = None) -> Advice:
        """Whether to compress so many tokens to so many; None for the expected rate.

        Raises InvalidInputError where no speed is known, and for numbers that count no tokens.
        """
        if self.speed is None:
            raise InvalidInputError("The advisor has no speed. Take `Compressor(advisor=...).advisor`.")
        tokens_before = _check_tokens(tokens_before, "tokens_before")
        if tokens_after is not None:
            tokens_after = _check_tokens(tokens_after, "tokens_after")
        else:
            tokens_after = math.ceil(self.expected_rate * tokens_before)
        whole = self.cached * self.cache_read + (1 - self.cached) * self.cache_write
        fewer = tokens_before - tokens_after
        price = self.price / 1e6
        first = tokens_before * whole - tokens_after * self.cache_write
        saved = price * (first + self.repeats * fewer * self.cache_read)
        seconds = self.speed.seconds(tokens_before)
        if self.reading_speed is not None:
            seconds -= (tokens_before * (1 - self.cached) - tokens_after) / self.reading_speed
        cost = self.second * seconds
        money = f"{'save' if saved >= 0 else 'cost'} {abs(saved):.2g}"
        time = f"{abs(seconds):.2g} s {'more cost' if seconds >= 0 else 'less save'} {abs(cost):.2g}"
        reason = f"{tokens_before:,} -> {tokens_after:,} tokens {money}, and {time}"
        return Advice(saved > cost, reason, tokens_before, tokens_after, saved, seconds)

    def break_even(self) -> int | None:
        """About the fewest tokens whose compression to the expected rate pays; None if none up to a million
        do."""
        tokens = 10
        while tokens <= _LARGEST:
            if self.advise(tokens).pays:
                return tokens
            tokens = math.ceil(tokens * 1.02)
        return None


def _check_tokens(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
        raise InvalidInputError(f"{name} is {show_value(value)}. Pass a whole number of tokens, 0 or more.")
    return int(value)


def _check_number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInputError(f"{name} is {type_name(value)}. Pass a number, 0 or more.")
    number = float(value)
    if not (math.isfinite(number) and number >= 0):
        raise InvalidInputError(f"{name} is {value}. Pass a number, 0 or more.")
    return number
