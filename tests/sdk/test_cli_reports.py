"""`tersely calibrate`, `inspect` and `doctor`, and the help of every command. Runs the bundled model."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor
from tersely.cli.app import app
from tersely.cli.show import tabulate
from tersely.runtime.artifacts import load_artifact
from tests.sdk.calibration_cases import DOCS, QUERY
from tests.sdk.cli_runner import check_failure, copy_damaged_model, run_tersely, write_json_lines

CASE = {"query": QUERY, "documents": [{"text": d.text, "title": d.title} for d in DOCS], "answers": ["1861"]}


def calibrate(folder: Path, cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Calibrate a model in the new `folder` and return the report."""
    data = write_json_lines(folder.with_suffix(".jsonl"), cases)
    result = run_tersely("calibrate", "--data", data, "--out", folder, "--json")
    assert result.exit_code == 0
    return result.read_json()


def find_threshold(report: dict[str, Any]) -> float:
    return float(report["recall"]["0.8"].split()[1].removesuffix(","))


def test_questions_in_an_unknown_script_calibrate_recall(tmp_path: Path) -> None:
    case = {"query": "Когда открыли мост?", "documents": ["Мост открыли в 1861 году."], "answers": ["1861"]}
    report = calibrate(tmp_path / "model", [*[case] * 12, *[CASE] * 2])
    assert "0.9" in report["recall"]
    assert report["abstain"] == {}


def test_a_calibrated_model_keeps_the_answer(tmp_path: Path) -> None:
    model = tmp_path / "model"
    report = calibrate(model, [*[CASE] * 12, {**CASE, "answers": ["1999"]}])
    assert (report["questions"], report["without an answer sentence"]) == (12, 1)
    assert list(report["recall"]) == ["0.8", "0.9"]  # 12 questions promise no more than 12/13
    assert re.fullmatch(
        r"lets \d+% to 100% of further questions with an answer through, and refuses \d+% to \d+% of those "
        r"without one",
        report["abstain"]["0.9"],
    )
    compressor = Compressor(model)
    assert compressor.model != Compressor().model
    assert "1861" in compressor.compress(QUERY, DOCS, recall=0.9).text
    assert load_artifact(model).manifest["base_model"] == load_artifact().manifest["base_model"]

    text = tmp_path / "doc.txt"
    text.write_text("\n\n".join(document.text for document in DOCS), encoding="utf-8")
    limited = run_tersely("compress", "-q", QUERY, text, "--model", model, "--recall", "0.9", "--budget", "2")
    assert limited.exit_code == 0
    assert "the limit leaves out" in limited.stderr


def test_a_case_counts_its_best_answer_sentence(tmp_path: Path) -> None:
    best = calibrate(tmp_path / "best", [{**CASE, "answers": ["white"]}] * 4)
    both = calibrate(tmp_path / "both", [{**CASE, "answers": ["1861", "white"]}] * 4)
    assert find_threshold(both) > find_threshold(best)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"documents": ["a"], "answers": ["a"]}, "line 1: there is no 'query'"),
        ({"query": QUERY, "documents": ["a"]}, "line 1: 'answers' has to be"),
        ({"query": QUERY, "documents": ["a"], "answers": [1]}, "line 1: 'answers' has to be"),
        ({"query": QUERY, "documents": ["a"], "answers": ["b"]}, "no document sentence holds"),
        ({"query": QUERY}, "line 1: expected"),
    ],
)
def test_a_case_without_a_usable_answer_is_refused(
    case: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = write_json_lines(tmp_path / "bad.jsonl", [case])
    check_failure(run_tersely("calibrate", "--data", path, "--out", tmp_path / "model"), 2, message)
    assert not (tmp_path / "model").exists()


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    cases = write_json_lines(tmp_path / "cases.jsonl", [CASE])
    check_failure(run_tersely("calibrate", "--data", cases, "--out", tmp_path), 2, "exists already")
    assert list(tmp_path.iterdir()) == [cases]


def test_inspect_shows_the_card_and_lists_verified_files() -> None:
    artifact = load_artifact()
    result = run_tersely("inspect")
    assert result.exit_code == 0
    assert result.stdout.startswith("# ")
    for name, entry in artifact.manifest["files"].items():
        row = rf"^files\.{re.escape(name)}\."
        assert re.search(rf"{row}sha256 +{entry['sha256']}$", result.stdout, re.MULTILINE)
        assert re.search(rf"{row}size +{entry['size']:,}$", result.stdout, re.MULTILINE)
    facts = run_tersely("inspect", artifact.path, "--json").read_json()
    assert facts["name"] == artifact.name
    assert facts["size"] == sum(entry["size"] for entry in artifact.manifest["files"].values())


def test_doctor_finds_nothing_wrong() -> None:
    result = run_tersely("doctor", "--json", "--threads", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    facts = result.read_json()
    assert facts["result"] == "all is well"
    assert facts["packages"]["onnxruntime"][0].isdigit()
    assert facts["threads"].startswith("1 used")
    assert set(facts["compression"]) == {"documents", "first", "next"}


def test_doctor_reports_a_damaged_model_and_goes_on(tmp_path: Path) -> None:
    result = run_tersely("doctor", "--model", copy_damaged_model(tmp_path / "damaged"))
    assert result.exit_code == 3
    assert "onnxruntime" in result.stdout
    assert "checksum" in result.stderr


@pytest.mark.parametrize("command", ["", *app.commands])
def test_the_help_explains_the_exit_codes(command: str) -> None:
    for flag in ("--help", "-h"):
        result = run_tersely(*command.split(), flag)
        assert result.exit_code == 0
        assert all(f"\n    {code} " in result.stdout for code in (0, 1, 2, 3, 4, 5, 130, 141))


def test_a_table_has_two_columns_and_dotted_names() -> None:
    facts = {"a": 1234, "long": {"b": [1, "c"], "d": [{"e": 0.5}]}}
    rows = ["a           1,234", "long.b      1, c", "long.d.1.e  0.5"]
    assert tabulate(facts, color=False).split("\n") == rows


def test_the_help_does_not_load_the_runtime() -> None:
    code = (
        "import sys; from tersely.cli import main; main(['--help'])\n"
        "assert not {'numpy', 'onnxruntime', 'tokenizers', 'tersely_agents'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_installed_command_knows_its_version() -> None:
    command = Path(sys.executable).with_name("tersely")
    process = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert process.stdout.startswith("tersely 0.")
