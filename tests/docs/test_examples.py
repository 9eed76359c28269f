"""The Python examples run, and give the values that they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.conftest import COMPRESSION_SERVER, SERVER
from tests.docs.pages import blocks, pages_with, read_page, run_examples


@pytest.mark.parametrize("name", pages_with("python"))
def test_examples_give_what_they_show(
    name: str, working_folder: Path, chat_url: str, request: pytest.FixtureRequest
) -> None:
    replacements = {SERVER: chat_url}
    if any(COMPRESSION_SERVER in block for block in blocks(name, "python")):
        pytest.importorskip("fastapi")
        replacements[COMPRESSION_SERVER] = request.getfixturevalue("compression_url")
    compared = run_examples(name, replacements)
    assert compared == sum(block.count("# -> ") for block in blocks(name, "python"))


def test_the_readme_shows_an_example_first() -> None:
    assert pages_with("python")[0] == "README.md"
    assert read_page("README.md").index("tersely demo") < read_page("README.md").index("```python")
