"""`tersely demo`, `inspect` and `doctor`, and the help of every command. Runs the bundled model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tersely.cli.arguments import DEMO_QUERY
from tersely.cli.documents import demo_documents
from tersely.runtime.artifacts import load_artifact
from tests.sdk.cli_runner import copy_damaged_model, run_tersely


def test_the_demo_finds_both_answers_and_nothing_else() -> None:
    result = run_tersely("demo")
    assert (result.exit_code, result.stderr) == (0, "")
    assert DEMO_QUERY in result.stdout
    assert "The 20:40 is the last departure of the day" in result.stdout
    assert "only folded bicycles in a bag are accepted on it" in result.stdout
    assert "herring" not in result.stdout
    summary = result.stdout.splitlines()[-1]
    assert summary.startswith("compressed: ")
    assert "of 12 documents" in summary


def test_the_demo_takes_a_question_and_a_budget() -> None:
    result = run_tersely("demo", "-q", "Who keeps the goat?", "--budget", "60", "--json")
    receipt = json.loads(result.stdout)
    assert receipt["tokens_after"] <= 60
    assert "goat" in receipt["text"]


def test_one_demo_document_holds_the_answer() -> None:
    """Most of them answer nothing, so that the demo shows a selection and not a copy."""
    assert sum("20:40" in document.text for document in demo_documents()) == 1


def test_inspect_lists_verified_files() -> None:
    artifact = load_artifact()
    result = run_tersely("inspect")
    assert result.exit_code == 0
    assert artifact.name in result.stdout
    for name, entry in artifact.manifest["files"].items():
        row = rf"^files\.{re.escape(name)}\."
        assert re.search(rf"{row}sha256 +{entry['sha256']}$", result.stdout, re.MULTILINE)
        assert re.search(rf"{row}size +{entry['size']:,}$", result.stdout, re.MULTILINE)
    facts = json.loads(run_tersely("inspect", artifact.path, "--json").stdout)
    assert facts["files"] == artifact.manifest["files"]
    assert facts["size"] == sum(entry["size"] for entry in artifact.manifest["files"].values())


def test_doctor_finds_nothing_wrong() -> None:
    result = run_tersely("doctor")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "all is well" in result.stdout
    facts = json.loads(run_tersely("doctor", "--json", "--threads", "1").stdout)
    assert facts["packages"]["onnxruntime"][0].isdigit()
    assert facts["threads"].startswith("1 used")
    assert set(facts["compression"]) == {"documents", "first", "next"}


def test_doctor_reports_a_damaged_model_and_goes_on(tmp_path: Path) -> None:
    result = run_tersely("doctor", "--model", copy_damaged_model(tmp_path / "damaged"))
    assert result.exit_code == 3
    assert "onnxruntime" in result.stdout
    assert "checksum" in result.stderr


@pytest.mark.parametrize("command", [[], ["compress"], ["demo"], ["inspect"], ["doctor"]], ids=" ".join)
def test_the_help_explains_the_exit_codes(command: list[str]) -> None:
    result = run_tersely(*command, "--help")
    assert result.exit_code == 0
    assert "exit codes:" in result.stdout
    assert all(f"\n  {code} " in result.stdout for code in (0, 1, 2, 3, 4, 130, 141))


def test_the_help_does_not_load_the_runtime() -> None:
    code = (
        "import sys; from tersely.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'onnxruntime', 'tokenizers'} & set(sys.modules), 'loaded too much'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_installed_command_knows_its_version() -> None:
    command = Path(sys.executable).with_name("tersely")
    process = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert process.stdout.startswith("tersely 0.")
