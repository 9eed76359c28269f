"""RESULTS.md: its sections follow from the recorded runs, and a run fills only its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import SECTIONS, render_baseline
from benchmarks.results import BASELINES, RESULTS, fill_section
from benchmarks.shared.environment import read_processor


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_follows_from_its_recorded_run(section: str) -> None:
    text = RESULTS.read_text(encoding="utf-8")
    match = re.search(rf"<!-- {section}:begin -->\n(.*?)<!-- {section}:end -->", text, re.DOTALL)
    assert match, f"RESULTS.md has no section {section}"
    assert match[1].strip() == render_baseline(section).strip(), "write it again with python -m benchmarks"


def test_every_recorded_run_has_a_section() -> None:
    assert {path.stem for path in BASELINES.glob("*.json")} == set(SECTIONS)


def test_only_the_marked_section_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    page.write_text("before\n<!-- quality:begin -->\nold\n<!-- quality:end -->\nafter\n", encoding="utf-8")
    fill_section("quality", "new \\1", page)
    assert page.read_text(encoding="utf-8") == (
        "before\n<!-- quality:begin -->\n\nnew \\1\n\n<!-- quality:end -->\nafter\n"
    )
    with pytest.raises(ValueError, match="latency:begin"):
        fill_section("latency", "text", page)


def test_a_processor_is_named_with_its_widest_instructions(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    core = "processor\t: {}\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512_vnni bf16\n\n"
    info.write_text("".join(map(core.format, range(2))), encoding="utf-8")
    assert read_processor(info) == "AMD EPYC with AVX-512 VNNI"
    info.write_text("model name : Old\nflags : fpu sse2\n", encoding="utf-8")
    assert read_processor(info) == "Old"
    info.write_text("BogoMIPS : 50\n", encoding="utf-8")  # not every architecture names a model
    assert read_processor(info) == read_processor(tmp_path / "missing")
