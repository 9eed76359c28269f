"""A model fitted to questions of one's own."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.shared.statistics import Estimate
from tersely import Compressor
from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely.score.fusion import LinearLayer
from tersely.score.layout import Window
from tests.training.tiny import WORDS, make_config
from training.adapt import __main__ as program
from training.adapt import questions as adapt
from training.adapt import tune
from training.adapt.fit import split_in_halves
from training.adapt.tune import TOKENS, choose_windows
from training.export.artifact import export_artifact
from training.export.fit_fusion import Case, fit_towards
from training.selector_model.batching import Item
from training.selector_model.groups import Group, GroupDocument

NAMES = ("Ada", "Bert", "Cleo", "Dora", "Egon", "Fay", "Gus", "Hild", "Ivo", "Jana", "Kurt", "Lena")
Write = Callable[[list[Any]], Path]


def make_row(name: str) -> dict[str, Any]:
    number = 100 + 7 * NAMES.index(name)
    kept = f"{name} owns {number} sheep. The barn is red. Rain is rare in the valley."
    other = f"{name} was born in a village. The village has a mill. The mill is old."
    return {"query": f"How many sheep does {name} own?", "documents": [kept, other], "answers": [str(number)]}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.setattr(adapt, "FEWEST", len(NAMES))

    def write(rows: list[Any]) -> Path:
        path = tmp_path / "own.jsonl"
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


def test_sentences_with_an_answer_are_needed(write: Write) -> None:
    unanswered = make_row("Ada") | {"answers": ["no such thing"]}
    groups, unlabelled = adapt.read_questions(write([*map(make_row, NAMES), unanswered]))
    assert unlabelled == 1
    assert [d.labels for d in groups[0].documents] == [[1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize(
    ("evidence", "labels"), [(["The mill is old."], [[0, 0, 0], [0, 0, 1]]), ([], [[1, 0, 0], [0, 0, 0]])]
)
def test_evidence_goes_before_answers_unless_empty(
    write: Write, evidence: list[str], labels: list[list[int]], start: bytes
) -> None:
    path = write([make_row(name) | {"evidence": evidence} for name in NAMES])
    path.write_bytes(start + path.read_bytes())
    groups, _ = adapt.read_questions(path)
    assert [d.labels for d in groups[0].documents] == labels


def test_a_line_that_is_not_utf8_is_named(write: Write) -> None:
    path = write([make_row(name) for name in NAMES])
    path.write_bytes(path.read_bytes() + b'\n{"query": "\xe9"}')
    with pytest.raises(adapt.UnusableDataError, match="line 13: not UTF-8"):
        adapt.read_questions(path)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "line 2: not valid JSON"),
        (make_row("Bert") | {"evidence": "The mill is old."}, 'line 2: expected "evidence": \\[string'),
        (make_row("Bert") | {"evidence": ["The mill is old.", 3]}, 'line 2: expected "evidence": \\[string'),
        ({"query": "Why?", "documents": ["So."]}, 'line 2: it has neither "answers" nor "evidence"'),
        ({"query": " ", "documents": ["So."], "answers": ["So"]}, 'line 2: "query" is missing or empty'),
        ({"query": "Why?", "documents": ["So."], "answers": "So"}, 'line 2: expected "answers": \\[string'),
        (
            {"query": "Why?", "documents": ["So."], "evidence": ["Thus."]},
            "line 2: the evidence 'Thus.' is in no",
        ),
    ],
)
def test_a_wrong_line_is_named(write: Write, row: Any, problem: str) -> None:
    with pytest.raises(adapt.UnusableDataError, match=problem):
        adapt.read_questions(write([make_row("Ada"), row]))


def test_too_few_questions_are_refused(write: Write) -> None:
    with pytest.raises(adapt.UnusableDataError, match="At least 12 are needed"):
        adapt.read_questions(write([make_row("Ada")]))


@pytest.fixture(scope="session")
def model(phase1: Path, bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny exported model."""
    root = tmp_path_factory.mktemp("model")
    shutil.copytree(phase1, root / "run")
    return export_artifact(make_config(bert), root / "run", root / "model", "make tiny")


def make_rows(count: int, sign: str = "") -> list[dict[str, Any]]:
    """Return questions whose needed sentences, and no others, have the word `sign`, if there is one."""
    rng, rows = random.Random(5), list[dict[str, Any]]()
    words = [word for word in " ".join(WORDS).split() if word != sign]
    for _ in range(count):
        documents = [[" ".join(rng.sample(words, 5)).capitalize() + "." for _ in range(4)] for _ in range(3)]
        place = rng.randrange(4)
        needed = documents[0][place].replace(" ", f" {sign} " if sign else " ", 1)
        documents[0][place] = needed
        rng.shuffle(documents)
        question = f"what is {rng.choice(words)}"
        rows.append({"query": question, "documents": list(map(" ".join, documents)), "evidence": [needed]})
    return rows


def test_networks_learn_what_the_questions_have_in_common(
    write: Write,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = replace(tune.SETTINGS, learning_rate=5e-3, epochs=12)
    monkeypatch.setattr(tune, "SETTINGS", settings)
    data, out = write(make_rows(40, "copper")), tmp_path / "model"
    assert program.main(["--data", str(data), "--out", str(out), "--model", str(model)]) == 0, (
        capsys.readouterr().out
    )
    assert "Written to" in capsys.readouterr().out
    before, after = (load_artifact(folder) for folder in (model, out))
    assert after.manifest["adapted"] == "adapted to 40 questions of the user's own"
    assert "adapted to 40 questions" in (out / "README.md").read_text(encoding="utf-8")
    assert before.hash_of("onnx/model_quantized.onnx") != after.hash_of("onnx/model_quantized.onnx")
    new = make_rows(60, "copper")[40:]
    kept = {
        folder: sum(
            row["evidence"][0] in Compressor(folder).compress(row["query"], row["documents"], rate=0.2).text
            for row in new
        )
        for folder in (model, out)
    }
    assert kept[out] >= 15 > kept[model]


def test_a_model_that_is_as_good_is_not_replaced(
    write: Write,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With so few questions, the difference is mostly chance, so the comparison is given."""
    monkeypatch.setattr(program, "compare", lambda *_: Estimate(0.01, -0.02, 0.04))
    data, out = write(make_rows(len(NAMES))), tmp_path / "model"
    assert program.main(["--data", str(data), "--out", str(out), "--model", str(model)]) == program.NOT_BETTER
    assert not out.exists()
    printed = capsys.readouterr().out
    assert "+1.0 (-2.0 to +4.0)" in printed
    assert "nothing was written" in printed


def test_weights_that_cannot_be_restored_are_named(
    write: Write, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(model, changed)
    artifact = load_artifact(model)
    config = artifact.config | {"layout": artifact.config["layout"] | {"title_length": 3}}
    (changed / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_manifest(changed, **artifact.facts)
    data = write([*map(make_row, NAMES)])
    assert program.main(["--data", str(data), "--out", str(tmp_path / "out"), "--model", str(changed)]) == 2
    assert "does not have the layout" in capsys.readouterr().err


def test_questions_about_one_document_are_in_one_half() -> None:
    def make_group(number: int, text: str) -> Group:
        return Group(f"{number}", "own", "?", [], [GroupDocument(None, text, [(0, 1)], [1], 1, 0)])

    groups = [make_group(i, "abcd"[i % 4]) for i in range(12)]
    halves = split_in_halves(groups)
    assert sorted(map(len, halves)) == [6, 6]
    assert all(len({i % 4 for i in half}) == 2 for half in halves)
    alike = [make_group(i, "a") for i in range(12)]
    assert sorted(map(len, split_in_halves(alike))) == [6, 6]


def test_windows_with_needed_sentences_come_first() -> None:
    def make_window(document: int, tokens: int) -> Window:
        return Window([0] * tokens, [], [], [], [(document, 0)], [document])

    item = Item([make_window(i, 600) for i in range(5)], [[0], [0], [0], [1], [-1]], [0, 0, 0, 1, 1])
    chosen = choose_windows(item, random.Random(0))
    assert chosen.windows[0].sentences[0][0] == 3
    assert len(chosen.windows) == 2
    long = Item([make_window(0, 2 * TOKENS)], [[1]], [1])
    assert len(choose_windows(long, random.Random(0)).windows) == 1


def test_layer_moves_only_as_far_as_the_labels_ask() -> None:
    group = Group("q", "own", "?", [], [GroupDocument(None, "a b", [(0, 1), (2, 3)], [1, 0], 1, 0)])
    case = Case.make(group)
    prior = LinearLayer(np.zeros(2), np.ones(2), np.array([1.0, 0.0]), 0.0)
    same = fit_towards(prior, [np.array([[6.0, 0.0], [-6.0, 0.0]])], [case])
    assert same.weights == pytest.approx(prior.weights, abs=0.3)
    moved = fit_towards(prior, [np.array([[-1.0, 3.0], [1.0, -3.0]])], [case])
    assert moved.weights[1] > 0.5 > moved.weights[0]
    assert replace(moved, weights=prior.weights, bias=prior.bias) == prior
