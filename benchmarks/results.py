"""`python -m benchmarks.results`: write RESULTS.md, and the tables of README.md and docs/results.md, from the
records in `baselines/`.

Nothing is measured. `--record` of a benchmark does the same after it has written its own record.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.pages import BASELINES, write_pages
from benchmarks.pictures import draw_pictures
from benchmarks.shared.readers.protocol import READING
from benchmarks.table import Record

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "RESULTS.md"
SECTIONS = FOLDER / "sections.md"
"""Template of RESULTS.md. Each section has a heading, and for each of its programs a comment with the name
and a note."""

PROMPT = "{prompt}"
"""The place of the reader's prompt in the text."""
_PART = re.compile(r"<!-- (\S+) -->\n\n(.+?)(?=\n\n<!--|\Z)", re.DOTALL)


def find_baseline(module: str) -> Path:
    """Return the path of the record of `python -m benchmarks.MODULE`."""
    return BASELINES / f"{module.rpartition('.')[2]}.json"


def render_results() -> str:
    """Return the text of RESULTS.md: a section for each record, and a list of programs without a record."""
    introduction, *sections = re.split(r"\n(?=## )", SECTIONS.read_text(encoding="utf-8"))
    parts: list[str] = []
    machines: dict[str, str] = {}
    missing: list[str] = []
    for section in sections:
        heading, _, body = section.strip().partition("\n\n")
        programs = _PART.findall(body)
        if not programs:
            raise ValueError(f"{SECTIONS} needs a program and a note in the section {heading}")
        recorded: list[str] = []
        for module, note in programs:
            if find_baseline(module).is_file():
                record = Record.read(find_baseline(module))
                machine = machines.setdefault(record.environment.describe(), f"Machine {len(machines) + 1}")
                recorded.append(record.to_markdown(note.replace(PROMPT, READING), machine))
            else:
                missing.append(f"`python -m benchmarks.{module}`")
        parts += [heading, *recorded] if recorded else []
    if missing:
        parts += ["## Not recorded", f"To be measured with the next selector: {', '.join(missing)}."]
    described = "\n".join(f"- {name}: {machine}." for machine, name in machines.items())
    return "\n\n".join([introduction.strip(), described, *parts]) + "\n"


def write_results() -> None:
    """Write RESULTS.md and the pages, and draw their pictures."""
    RESULTS.write_text(render_results(), encoding="utf-8")
    write_pages()
    draw_pictures()


if __name__ == "__main__":
    write_results()
