"""Training must never read the evaluation split."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TRAINING = Path(__file__).resolve().parents[2] / "training"
FORBIDDEN = {"eval", "test", "dev"}


def forbidden_splits(source: str) -> list[str]:
    """Calls in `source` that hand an evaluation split to a loader, and paths into the folder of that
    split."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            named = [k.value for k in node.keywords if k.arg == "split"]
            callee = ast.unparse(node.func)
            loads = any(part in callee for part in ("load", "read_rows"))
            for argument in named + (list(node.args) if loads else []):
                if isinstance(argument, ast.Constant) and argument.value in FORBIDDEN:
                    found.append(f"line {node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            right = node.right
            if isinstance(right, ast.Constant) and str(right.value).split("/")[0] in FORBIDDEN:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize(
    "path", sorted(TRAINING.rglob("*.py")), ids=lambda path: str(path.relative_to(TRAINING))
)
def test_training_code_never_asks_for_the_evaluation_split(path: Path) -> None:
    assert not forbidden_splits(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source",
    ["load('squad', 'eval')", "load(name, split='eval')", "task.load('test')", "rows = data / 'eval'"],
)
def test_the_check_sees_every_way_of_asking(source: str) -> None:
    assert forbidden_splits(source)


@pytest.mark.parametrize("source", ["load('squad', 'train')", "model.eval()", "mode = 'eval'"])
def test_the_check_lets_other_code_pass(source: str) -> None:
    assert not forbidden_splits(source)
