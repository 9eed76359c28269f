"""Modules and classes stay small enough to be read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MAX_LINES = 350
"""Largest number of lines of a module, tests included."""
MAX_MEMBERS = 10
"""Public methods and properties of a class of the SDK. Fields and inherited members do not count."""
EXCUSE = "Many members: "
"""A class with more says why in its docstring, in a sentence that begins so."""


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def public_members(definition: ast.ClassDef) -> set[str]:
    functions = [
        statement.name
        for statement in definition.body
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {name for name in functions if not name.startswith("_")}


def large_classes(source: str) -> dict[str, int]:
    """Return the classes with too many members and no excuse, and their number of members."""
    definitions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    return {
        definition.name: len(public_members(definition))
        for definition in definitions
        if len(public_members(definition)) > MAX_MEMBERS
        and EXCUSE not in (ast.get_docstring(definition) or "")
    }


@pytest.mark.parametrize("folder", ["sdk", "training", "benchmarks", "integrations", "tests"])
def test_no_module_is_too_long(folder: str) -> None:
    lines = {
        name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(folder)
    }
    assert lines
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_no_class_of_the_sdk_has_too_many_public_members() -> None:
    large = {
        f"{name_of(path)}: {name}": count
        for path in python_files("sdk")
        for name, count in large_classes(path.read_text(encoding="utf-8")).items()
    }
    assert large == {}
