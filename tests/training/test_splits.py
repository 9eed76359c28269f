"""Training never reads the evaluation split."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

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


def test_finds_every_way_to_name_the_split() -> None:
    named = ["load('squad', 'eval')", "load(name, split='eval')", "task.load('test')", "rows = data / 'eval'"]
    assert all(map(find_evaluation_splits, named))
    assert not any(map(find_evaluation_splits, ["load('squad', 'train')", "model.eval()", "mode = 'eval'"]))
