"""Read the pages of the repository, and the code and commands on them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOPICS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", *TOPICS]
"""Paths from the root of the repository."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

Table = dict[str, dict[str, str]]
"""Cells by the first column and the header, without emphasis."""


def read_page(name: str) -> str:
    """Return the text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


def prose(name: str) -> str:
    """Return a page without its fenced blocks."""
    return _BLOCK.sub("", read_page(name))


def blocks(name: str, language: str) -> list[str]:
    """Return the contents of a page's fenced blocks in one language."""
    return [body for kind, body in _BLOCK.findall(read_page(name)) if kind == language]


def commands(program: str) -> list[tuple[str, str]]:
    """Return the page and the text of each command in an `sh` block that calls `program`."""
    found: list[tuple[str, str]] = []
    for name in PAGES:
        lines = "".join(blocks(name, "sh")).replace("\\\n", " ").splitlines()
        found += [(name, line) for line in lines if line.startswith(f"{program} ")]
    return found


def pages_with(language: str) -> list[str]:
    """Return the names of the pages with a block in a language."""
    return [name for name in PAGES if blocks(name, language)]


def tables(text: str) -> list[Table]:
    """Return the Markdown tables in a text."""
    parsed: list[Table] = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        header, _, *rows = [
            [cell.strip(" *") for cell in line.strip("|").split("|")] for line in block.splitlines()
        ]
        parsed.append({row[0]: dict(zip(header[1:], row[1:], strict=False)) for row in rows})
    return parsed


def run_examples(name: str, replacements: dict[str, str]) -> int:
    """Run a page's Python blocks in order, with shared names. Return the number of values compared.

    A statement whose last line ends in `# -> value` must have that value. `replacements` are made in the code
    before it runs.
    """
    names: dict[str, Any] = {}
    compared = 0
    for block in blocks(name, "python"):
        for old, new in replacements.items():
            block = block.replace(old, new)
        lines = block.splitlines()
        for statement in ast.parse(block).body:
            _, arrow, expected = lines[(statement.end_lineno or 0) - 1].partition("# -> ")
            source = ast.unparse(statement)
            if arrow:
                assert repr(eval(source, names)) == repr(ast.literal_eval(expected)), source
                compared += 1
            else:
                exec(source, names)
    return compared
