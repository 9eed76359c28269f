"""The options of a compression. The compressor, the command line and the adapters all take these.

To add an option, add a field to `CompressionOptions`, a key to `CompressionArguments`, and a row to
docs/options-and-results.md. The command line and the adapters take the option from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from functools import partial
from numbers import Integral
from typing import Any, Literal, TypedDict, cast, get_args

from tersely.errors import InvalidInputError
from tersely.inputs import check_count, check_share, check_time_limit, show_value

Detail = Literal[1, 2, 3, 4, 5]
LEVEL_CHARACTERS: dict[Detail, tuple[int, int]] = {
    1: (100, 500),
    2: (500, 1000),
    3: (1000, 2000),
    4: (2000, 3000),
    5: (3000, 6000),
}
"""Smallest and largest number of characters of a document at each level of detail (ZipRL, appendix J.2)."""
Order = Literal["source", "rerank"]
Marks = Literal["structure", "all"]


def _option(check: Callable[[Any, str], Any], placeholder: str, explanation: str) -> dict[str, Any]:
    """Return the metadata of an option. `check` takes its value and its name, and returns the value."""
    return {"check": check, "placeholder": placeholder, "help": explanation}


def _check_question_share(value: object, name: str, *, questions: str) -> float:
    remedy = f"Pass the share of {questions}, above 0 and below 1."
    share = check_share(value, name, remedy)
    if share == 1:
        raise InvalidInputError(f"{name} is 1.0, which no calibration can promise. {remedy}")
    return share


def _check_level(level: object, name: str) -> Detail:
    if isinstance(level, bool) or not isinstance(level, Integral) or int(level) not in LEVEL_CHARACTERS:
        raise InvalidInputError(f"{name} is {show_value(level)}. Pass a level of detail from 1 to 5.")
    return cast("Detail", int(level))


def _check_choice(value: object, name: str, *, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise InvalidInputError(f"{name} is {show_value(value)}. Pass {' or '.join(map(repr, choices))}.")
    return cast("str", value)


_check_tokens = partial(check_count, unit="tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionOptions:
    """Checked options. The metadata of each field holds its check, and its help for the command line.

    Raises:
        InvalidInputError: a value cannot be used; the message says which and why.
    """

    budget: int | None = field(
        default=None, metadata=_option(_check_tokens, "N", "at most N tokens, titles and separators included")
    )
    rate: float | None = field(
        default=None,
        metadata=_option(
            partial(check_share, remedy="Pass a share above 0 and at most 1."),
            "R",
            "at most this share of the input's tokens, in (0, 1]",
        ),
    )
    recall: float | None = field(
        default=None,
        metadata=_option(
            partial(_check_question_share, questions="questions that must keep their answer sentence"),
            "R",
            "keep the answer sentence in this share of questions, in (0, 1), as far as a limit allows",
        ),
    )
    abstain: float | None = field(
        default=None,
        metadata=_option(
            partial(_check_question_share, questions="answerable questions that must not be refused"),
            "R",
            "return nothing if the documents seem not to answer the question; this share of the answerable "
            "questions, in (0, 1), still gets a text",
        ),
    )
    level: Detail | None = field(
        default=None,
        metadata=_option(
            _check_level, "L", "detail of each document: from 1 (at most 500 characters) to 5 (6,000)"
        ),
    )
    max_docs: int | None = field(
        default=None,
        metadata=_option(
            partial(check_count, unit="documents"), "N", "keep only the N most relevant documents"
        ),
    )
    order: Order = field(
        default="source",
        metadata=_option(
            partial(_check_choice, choices=get_args(Order)),
            "ORDER",
            "source: documents as given (default); rerank: the most relevant first",
        ),
    )
    marks: Marks = field(
        default="structure",
        metadata=_option(
            partial(_check_choice, choices=get_args(Marks)),
            "WHERE",
            "where marks replace left-out text: structure: in lists, code and the like (default); "
            "all: in prose too",
        ),
    )
    min_tokens: int | None = field(
        default=None,
        metadata=_option(
            _check_tokens,
            "N",
            "return everything unchanged if the input has fewer than N tokens (not with --abstain, nor if it "
            "exceeds the budget)",
        ),
    )
    timeout: float | None = field(
        default=None,
        metadata=_option(
            check_time_limit, "S", "seconds until the result is due; the model stops reading in time"
        ),
    )

    def __post_init__(self) -> None:
        if self.budget is not None and self.rate is not None:
            raise InvalidInputError("Both budget and rate are given. Pass one of them, or neither.")
        for option in fields(self):
            value: object = getattr(self, option.name)
            if value is not None or option.default is not None:
                object.__setattr__(self, option.name, option.metadata["check"](value, option.name))

    @property
    def is_limited(self) -> bool:
        """True if a budget or a rate sets a hard limit."""
        return self.budget is not None or self.rate is not None

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Smallest and largest number of characters of each document; None without a level."""
        return None if self.level is None else LEVEL_CHARACTERS[self.level]

    def limit(self, tokens_before: int) -> int:
        """Return the largest number of tokens that the result may have.

        `tokens_before` is the number of tokens of the input, which the result never exceeds.
        """
        if self.budget is not None:
            return min(tokens_before, self.budget)
        if self.rate is None:
            return tokens_before
        # The epsilon keeps a share such as 0.29 of 100 from losing a token to floating point.
        return min(tokens_before, math.floor(self.rate * tokens_before + 1e-9))

    def check_without_query(self) -> None:
        """Raise InvalidInputError for options that do not work without a query."""
        for name in ("recall", "abstain"):
            if getattr(self, name) is not None:
                raise InvalidInputError(f"{name} needs a query. Pass one, or leave {name} out.")
        if not self.is_limited and self.level is None:
            raise InvalidInputError(
                "There is no query, so nothing says how much is enough. Pass budget, rate or level."
            )

    def arguments(self) -> CompressionArguments:
        """Return the same options as keyword arguments."""
        return cast("CompressionArguments", asdict(self))


class CompressionArguments(TypedDict, total=False):
    """The options as keyword arguments of `Compressor.compress`."""

    budget: int | None
    rate: float | None
    recall: float | None
    abstain: float | None
    level: Detail | None
    max_docs: int | None
    order: Order
    marks: Marks
    min_tokens: int | None
    timeout: float | None


OPTION_FIELDS: tuple[Field[Any], ...] = fields(CompressionOptions)
"""Name, default and metadata ("check", "placeholder", "help") of every option."""


def make_options(arguments: Mapping[str, Any]) -> CompressionOptions:
    """Return keyword arguments as checked options.

    Raises InvalidInputError for an unknown option, or for a value that cannot be used.
    """
    names = [option.name for option in OPTION_FIELDS]
    if unknown := sorted(map(str, arguments.keys() - set(names))):
        raise InvalidInputError(f"There is no option {unknown[0]!r}. The options are: {', '.join(names)}.")
    return CompressionOptions(**arguments)
