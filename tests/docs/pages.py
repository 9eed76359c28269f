"""The pages of the repository, and the code and commands in them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOPICS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", *TOPICS]

_TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def read_page(name: str) -> str:
    """The text of a page, whose name is its path from the root of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def prose(name: str) -> str:
    """A page without its fenced blocks."""
    return _BLOCK.sub("", read_page(name))


def blocks(name: str, language: str) -> list[str]:
    """The contents of a page's fenced blocks in one language."""
    return [body for kind, body in _BLOCK.findall(read_page(name)) if kind == language]


def commands(name: str, program: str) -> list[str]:
    """The commands of a page's `sh` blocks that call `program`; continued lines are joined."""
    lines = "".join(blocks(name, "sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith(f"{program} ")]


def defined_tests() -> set[str]:
    """Names of all tests of the repository."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for file in files for name in _TEST.findall(file.read_text(encoding="utf-8"))}


def pages_with(language: str) -> list[str]:
    """Names of the pages that have a block in a language."""
    return [name for name in PAGES if blocks(name, language)]


def run_examples(name: str, replacements: dict[str, str]) -> int:
    """Run a page's Python blocks one after the other, with shared names; the number of values compared.

    A statement whose last line ends in `# -> value` must give that value. `replacements` are made in the code
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
