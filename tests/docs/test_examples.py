"""The Python examples run, and give the values that they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.conftest import SERVER
from tests.docs.pages import blocks, pages_with, read_page, run_examples


@pytest.mark.parametrize("name", pages_with("python"))
def test_examples_give_what_they_show(name: str, working_folder: Path, chat_url: str) -> None:
    compared = run_examples(name, {SERVER: chat_url})
    assert compared == sum(block.count("# -> ") for block in blocks(name, "python"))


def test_the_readme_shows_an_example_first() -> None:
    assert pages_with("python")[0] == "README.md"
    assert read_page("README.md").index("tersely demo") < read_page("README.md").index("```python")
