"""Training never reads what measures the model."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from benchmarks.real_results.questions import FOLDER, SETS
from training.package_questions.texts import read_questions

TRAINING = Path(__file__).resolve().parents[2] / "training"
FORBIDDEN = {"eval", "test", "dev"}


def find_evaluation_splits(source: str) -> list[str]:
    """Find calls that pass an evaluation split to a loader, and paths into its folder."""
    places: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            named = [k.value for k in node.keywords if k.arg == "split"]
            callee = ast.unparse(node.func)
            loads = any(part in callee for part in ("load", "read_rows"))
            for argument in named + (list(node.args) if loads else []):
                if isinstance(argument, ast.Constant) and argument.value in FORBIDDEN:
                    places.append(f"line {node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            right = node.right
            if isinstance(right, ast.Constant) and str(right.value).split("/")[0] in FORBIDDEN:
                places.append(f"line {node.lineno}: {ast.unparse(node)}")
    return places


@pytest.mark.parametrize(
    "path", sorted(TRAINING.rglob("*.py")), ids=lambda path: str(path.relative_to(TRAINING))
)
def test_training_never_reads_the_evaluation_split(path: Path) -> None:
    assert not find_evaluation_splits(path.read_text(encoding="utf-8"))


def test_no_training_result_shows_a_file_of_a_held_out_question() -> None:
    shown = (FOLDER / "training" / "commands.toml").read_text(encoding="utf-8")
    held_out = {question.file for question in read_questions() if question.split == "held_out"}
    assert not [file for file in held_out if "/" in file and "/".join(file.split("/")[-2:]) in shown]


def test_no_set_of_tool_results_has_a_command_or_text_of_another() -> None:
    seen: set[str] = set()
    for name in SETS:
        commands = tomllib.loads((FOLDER / name / "commands.toml").read_text(encoding="utf-8"))
        own = {command for results in commands.values() for command in results.values()}
        own |= {path.read_text(encoding="utf-8") for path in (FOLDER / name / "texts").iterdir()}
        assert not own & seen
        seen |= own
