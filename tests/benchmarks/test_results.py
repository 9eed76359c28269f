"""RESULTS.md follows from the records, and the records name the model that ships."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import command
from benchmarks.command import Measured, Options, make_parser
from benchmarks.pages import ROOT
from benchmarks.pictures import PICTURES, draw_pictures
from benchmarks.results import BASELINES, RESULTS, SECTIONS, render_results
from benchmarks.shared.environment import name_model, read_processor
from benchmarks.shared.readers.protocol import READING
from benchmarks.table import Column, Record, Table
from tersely.embedding import SentenceEmbedder
from tersely.errors import TerselyError
from tersely.runtime.artifacts import load_artifact

RECORDS = sorted(BASELINES.glob("*.json"))


def test_results_follow_from_the_records() -> None:
    assert RESULTS.read_text(encoding="utf-8") == render_results(), "python -m benchmarks.results"


def test_the_prompt_of_the_reader_is_shown() -> None:
    assert f'"{READING}"' in RESULTS.read_text(encoding="utf-8")


def test_every_picture_is_drawn_from_the_records(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from PIL import Image, ImageChops

    draw_pictures(tmp_path)
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "results.md", RESULTS))
    for name in PICTURES:
        drawn, committed = Image.open(tmp_path / name), Image.open(ROOT / name)
        assert drawn.size == committed.size, "python -m benchmarks.results"
        if drawn.info["Software"] == committed.info["Software"]:  # another version draws other edges
            assert ImageChops.difference(drawn, committed).getbbox() is None, "python -m benchmarks.results"
        assert f"]({name.removeprefix('docs/').removeprefix('benchmarks/')})" in pages


WITH_EARLIER_WEIGHTS = {"agent": "tersely-mini@26e825f3"}
"""Records that were not made again after the last training, and their weights. The page names them."""


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_records_name_the_model_that_ships(path: Path) -> None:
    record = Record.read(path)
    assert record.benchmark == path.stem
    assert f"{path.stem} -->" in SECTIONS.read_text(encoding="utf-8")
    if path.stem in WITH_EARLIER_WEIGHTS:
        assert record.model == WITH_EARLIER_WEIGHTS[path.stem]
        page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
        (said,) = [row for row in page.splitlines() if record.model in row]
        assert f"`{path.stem}`" in said
    else:
        assert record.model in (None, name_model(load_artifact(None)), SentenceEmbedder().name)


def run(tmp_path: Path, *arguments: str) -> Record:
    def measure(options: Options) -> Measured:
        return Measured([Table("Seeds", (Column("seed"),), ({"seed": options.seed},))], "mini@1")

    parser = make_parser("benchmarks.towns.few", None, "data", limit=9)
    out = tmp_path / "few.json"
    assert command.run(parser, [*arguments, "--out", str(out)], Options(), measure) == 0
    return Record.read(out)


@pytest.mark.parametrize("data", [("--data", "/home/ada/data"), ("--data=/home/ada/data",)])
def test_a_run_prints_and_writes_its_record(
    data: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = run(tmp_path, *data, "--seed", "7", "--limit", "3")
    assert record.find("Seeds").rows == ({"seed": 7},)
    assert (record.benchmark, record.seed, record.model) == ("few", 7, "mini@1")
    assert record.command == "python -m benchmarks.towns.few --data DATA --seed 7 --limit 3"
    assert capsys.readouterr().out == record.to_markdown() + "\n"


def test_an_error_of_the_caller_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def measure(options: Options) -> Measured:
        raise TerselyError("no data folder")

    assert command.run(make_parser("benchmarks.towns", None), [], Options(), measure) == 1
    assert capsys.readouterr().err == "python -m benchmarks.towns: no data folder\n"


def test_a_processor_is_named_with_its_widest_instructions(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    core = "processor\t: {}\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512_vnni bf16\n\n"
    info.write_text("".join(map(core.format, range(2))), encoding="utf-8")
    assert read_processor(info) == "AMD EPYC with AVX-512 VNNI"
    info.write_text("model name : Old\nflags : fpu sse2\n", encoding="utf-8")
    assert read_processor(info) == "Old"
    info.write_text("BogoMIPS : 50\n", encoding="utf-8")  # not every architecture names a model
    assert read_processor(info) == read_processor(tmp_path / "missing")
