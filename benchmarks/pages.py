"""The tables of README.md and docs/results.md, from the records in `baselines/`.

A page marks the place of a table: `<!-- table: NAME -->`, the table, `<!-- end -->`.
`python -m benchmarks.results` writes all tables again, and a test checks that they are up to date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.shared.statistics import Estimate
from benchmarks.table import Cell, Record, Table, join_markdown

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs/results.md")
BASELINES = Path(__file__).parent / "baselines"
_TABLE = re.compile(r"(<!-- table: (.+?) -->\n).*?(?=<!-- end -->)", re.DOTALL)

HOTPOTQA = "HotpotQA, 10 paragraphs"
NQ_30 = "Natural Questions (QED), 30 hard negatives"
SQUAD = "SQuAD, 10 hard negatives"
WIKIQA = "WikiQA, 10 hard negatives"
PACKAGES = "Packages' documentation, 24 passages"
GERMAN = "XQuAD de, 10 hard negatives"
READER = "claude"
SYSTEMS = ("tersely", "MiniLM sentences", "BM25 sentences", "LLMSlim")


def render_pages() -> dict[Path, str]:
    """Return the text of every page with its tables."""
    return {page: _TABLE.sub(_fill, page.read_text(encoding="utf-8")) for page in PAGES}


def write_pages() -> None:
    """Write the tables of all pages again."""
    for page, text in render_pages().items():
        page.write_text(text, encoding="utf-8")


def _fill(match: re.Match[str]) -> str:
    start, name = match.groups()
    if name not in TABLES:
        raise ValueError(f"no table is called {name}; the tables are {', '.join(TABLES)}")
    return f"{start}\n{TABLES[name]()}\n\n"


def find_table(record: str, title: str) -> Table:
    """Return a table of the record `record`."""
    return Record.read(BASELINES / f"{record}.json").find(title)


def percent(cell: Cell) -> float:
    """Return a share, or the mean of the shares of all cases, in percent."""
    if isinstance(cell, tuple):
        known = [value for value in cell if value is not None]
        return 100 * sum(known) / len(known)
    value = cell.value if isinstance(cell, Estimate) else cell
    assert isinstance(value, int | float)
    return 100 * value


def mark_best(values: Sequence[float | None]) -> list[str]:
    """Return the numbers with one decimal, the highest in bold, and "–" for None."""
    best = max(value for value in values if value is not None)
    return [
        "–" if value is None else f"**{value:.1f}**" if value == best else f"{value:.1f}" for value in values
    ]


def _kept_answers() -> str:
    """Return the table of answers that tersely and its rivals keep in a tenth of the tokens."""
    names = (HOTPOTQA, NQ_30, SQUAD, WIKIQA, GERMAN)
    return join_markdown(["rate 0.1", *SYSTEMS], [[name, *_list_kept(name)] for name in names])


def _kept_and_leads() -> str:
    """Return the table of `_kept_answers` for more sets, with tersely's lead over the strongest rival."""
    strongest = find_table("quality", "Lead over the strongest peer")
    rows: list[list[str]] = []
    for name in (HOTPOTQA, NQ_30, SQUAD, WIKIQA, PACKAGES, GERMAN):
        leads = [strongest.find(set=name, kept="answers", rate=rate) for rate in ("0.1", "0.25")]
        cells = [f"{percent(row['lead']):+.1f} {row['standing']}" for row in leads]
        rows.append([name, *_list_kept(name), *cells])
    return join_markdown(["rate 0.1", *SYSTEMS, "lead", "lead at 0.25"], rows)


def _list_kept(name: str) -> list[str]:
    """Return the percentages of answers that each of `SYSTEMS` keeps in a tenth of the tokens of a set."""
    answers = find_table("quality", "Answers")
    return mark_best([percent(answers.find(set=name, system=s, rate="0.1")["answers kept"]) for s in SYSTEMS])


def _reader() -> str:
    """Return the table of a reader's F1. The reader answers from the text that each system keeps."""
    answers, leads = find_table("reading", "Answers"), find_table("reading", "Tersely's lead")
    systems = (*SYSTEMS, "whole documents")
    rows: list[list[str]] = []
    for name in dict.fromkeys(str(row["set"]) for row in answers.rows):
        for size in ("0.1", "0.25"):
            own = {row["system"]: row for row in answers.select(reader=READER, set=name, size=size)}
            if not all(system in own for system in SYSTEMS):
                continue
            (everything,) = answers.select(reader=READER, set=name, system="all documents")
            rivals = [
                leads.find(reader=READER, set=name, size=size, against=system)
                for system in systems[1:]
                if system in own
            ]
            closest = min(rivals, key=lambda row: percent(row["lead in F1"]))
            rows.append(
                [
                    f"{name}, {size} ({own['tersely']['questions']} questions)",
                    *mark_best([percent(own[s]["F1"]) if s in own else None for s in systems]),
                    f"{percent(everything['F1']):.1f}",
                    f"{percent(closest['lead in F1']):+.1f} {closest['standing']}",
                ]
            )
    return join_markdown(["F1, %", *systems, "all documents", "lead"], rows)


def _recall() -> str:
    """Return the table of the promised recall, and of the questions that kept their answer."""
    kept = find_table("calibration", "What is kept")
    rows: list[list[str]] = []
    for row in kept.select(set="all three, mixed as the calibration is"):
        share, rate = row["kept"], row["rate"]
        assert isinstance(share, Estimate)
        assert isinstance(rate, float)
        promised = f"{percent(row['promised']):.0f} %"
        interval = f"{percent(share):.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"
        rows.append([promised, interval, f"{rate:.3f}"])
    return join_markdown(["promised", "kept their answer", "share of tokens"], rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "kept answers": _kept_answers,
    "kept answers and leads": _kept_and_leads,
    "reader": _reader,
    "recall": _recall,
}
