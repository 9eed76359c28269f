"""The kit for adapters, without a framework."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tersely import CompressionOptions, InvalidInputError
from tersely.adapters import gather_options, name_options
from tests.integrations.options import EXAMPLES, OPTION_NAMES


def test_there_is_an_example_of_every_option() -> None:
    assert list(EXAMPLES) == OPTION_NAMES
    defaults = CompressionOptions()
    assert all(getattr(defaults, name) != value for name, value in EXAMPLES.items())


def test_options_are_gathered_and_other_arguments_stay() -> None:
    gathered = gather_options({"budget": 12, "title_key": None, "order": "rerank"})
    assert gathered == {"options": CompressionOptions(budget=12, order="rerank"), "title_key": None}


@pytest.mark.parametrize(
    "options", [CompressionOptions(budget=12, level=2), {"budget": 12, "level": 2}, None]
)
def test_an_option_that_stands_on_its_own_replaces_the_same_one(options: Any) -> None:
    gathered = gather_options({"options": options, "budget": 20})
    assert gathered["options"] == CompressionOptions(budget=20, level=None if options is None else 2)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"no option 'ratio'\. The options are: budget, rate, "):
        gather_options({"options": {"ratio": 0.3}})


def test_a_signature_names_every_option() -> None:
    @name_options
    def run(query: str, **options: Any) -> dict[str, Any]:
        return {"query": query, **options}

    parameters = inspect.signature(run).parameters
    assert list(parameters) == ["query", *OPTION_NAMES]
    assert parameters["budget"].annotation == int | None
    assert parameters["order"].default == "source"
    assert run("q", budget=12) == {"query": "q", "budget": 12}
