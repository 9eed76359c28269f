"""What becomes of a run: printed tables, a JSON file, and its marked section of RESULTS.md."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.records import write_record
from tersely.errors import TerselyError

RESULTS = Path(__file__).parent / "RESULTS.md"
BASELINES = Path(__file__).parent / "baselines"

Run = TypeVar("Run")


def baseline_path(section: str) -> Path:
    """Where the recorded run of a section is kept."""
    return BASELINES / f"{section}.json"


def publish(section: str, measure: Callable[[], Run], render: Callable[[Run], str], out: Path) -> int:
    """Run a benchmark, print its tables and write its JSON to `out`.

    Where `out` is the section's place in `baselines/`, its section of RESULTS.md is filled too. Returns the
    exit code: 0, or 1 with one line on standard error for an error that the caller can correct.
    """
    try:
        run = measure()
    except TerselyError as error:
        print(f"benchmarks, {section}: {error}", file=sys.stderr)
        return 1
    print(render(run))
    write_record(out, run)
    if out == baseline_path(section):
        fill_section(section, render(run))
    return 0


def fill_section(name: str, markdown: str, path: Path = RESULTS) -> None:
    """Replace the text between `<!-- name:begin -->` and `<!-- name:end -->`.

    Raises ValueError where the page does not have exactly one such section.
    """
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    filled, count = pattern.subn(lambda m: f"{m[1]}\n{markdown.strip()}\n\n{m[2]}", text)
    if count != 1:
        raise ValueError(f"{path} needs exactly one section marked {name}:begin and {name}:end")
    path.write_text(filled, encoding="utf-8")
