"""Read the numbers of the recorded results."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.pages import BASELINES, READER, percent
from benchmarks.shared.statistics import Estimate, estimate_share
from benchmarks.table import Cell, Record, Row

MEETINGS = "QMSum, 10k-word meetings"
THEIRS_AND_OURS = ("published", "tersely")
SHORT_MEETINGS = "Meetings of 5k to 11k words"
ONE_STEP = "10 documents: Who drafted the treaty at the glassworks?"
"""A request for which tersely does not look for a second passage, unlike that of `benchmarks.latency`."""


@cache
def load(record: str) -> Record:
    return Record.read(BASELINES / f"{record}.json")


def find(record: str, title: str, **where: Cell) -> Row:
    return load(record).find(title).find(**where)


def call_seconds(documents: int) -> object:
    return find("latency", "Calls", system="tersely", request=f"{documents} documents")["p50"]


def recall_kept(promised: float) -> float:
    return percent(find("calibration", "What is kept", set="HotpotQA dev", promised=promised)["kept"])


def low(cell: object) -> float:
    assert isinstance(cell, Estimate)
    return 100 * cell.low


def high(cell: object) -> float:
    assert isinstance(cell, Estimate)
    return 100 * cell.high


def answers(name: str, system: str, rate: str) -> Any:
    return find("quality", "Answers", set=name, system=system, rate=rate)["answers kept"]


def support(name: str, system: str, rate: str) -> float:
    return percent(find("quality", "Support", set=name, system=system, rate=rate)["support kept"])


def real(method: str, budget: int) -> Any:
    return find("real_results", "All kinds together", method=method, budget=budget)["answered"]


def refused(name: str) -> float:
    return percent(
        find(
            "abstention", "Questions without an answer that are refused", set=name, score="tersely", lost=0.05
        )["refused"]
    )


def promise(name: str, column: str) -> Estimate:
    kept: Any = find("abstention", "What is kept if 90% are promised", set=name)[column]
    known = [value for value in kept if value is not None]
    return estimate_share(round(sum(known)), len(known))


def reader_lead(name: str, size: str, against: str = "all documents") -> float:
    row = find("reading", "Tersely's lead", reader=READER, set=name, size=size, against=against)
    return -percent(row["lead in F1"])


def reading_lead(against: str, size: str = "0.25", name: str = "mean of the sets") -> tuple[float, ...]:
    """Return tersely's lead in F1, in points, with its interval."""
    where = {"reader": READER, "set": name, "size": size, "against": against}
    lead = find("reading", "Tersely's lead", **where)["lead in F1"]
    return percent(lead), low(lead), high(lead)


def reading_gap(against: str, size: str, name: str) -> tuple[float, ...]:
    """Return by how many points tersely is behind, with the interval."""
    lead, least, most = reading_lead(against, size, name)
    return -lead, -most, -least


def reader(system: str, size: str) -> float:
    where = {"reader": READER, "set": "Real tool results", "system": system, "size": size}
    return percent(find("reading", "Answers", **where)["F1"])


def trained(column: str) -> Any:
    return find("agent", "Tasks", system="agent")[column]


def tool(method: str, rate: str) -> float:
    return percent(find("tool_results", "All kinds together", method=method, rate=rate)["answered"])


def peer(system: str) -> tuple[float, ...]:
    """Return the answers and the tokens that a system keeps of HotpotQA, in percent."""
    row = find("peers", "Answers kept", set="HotpotQA, 10 paragraphs", system=system, budget=0.1)
    return percent(row["answers kept"]), percent(row["rate achieved"])


def compaction(sessions: str, budget: float) -> Row:
    return find(
        "compaction",
        "After five compactions",
        sessions=sessions,
        system="AgentMemory, no model",
        budget=budget,
    )


def rank(name: str) -> float:
    return percent(find("retrieval", "Ranks", system="tersely", set=name)["MRR"])


def bill(repeated: int) -> float:
    case = f"retrieval, {repeated}% of the documents repeat"
    return percent(find("bill", "Bills", case=case, rate=0.25)["change of the bill"])


def seconds(method: str) -> float:
    row = find("tool_results", "All kinds together", method=method, rate="5%")
    return percent(row["mean of the kinds' medians"])


def survivors() -> tuple[int, str]:
    """Return the number of attacks of each kind, and in how many of them tersely keeps the true sentence."""
    rows = load("attacks").find("Kept").select(system="tersely")
    cells = [cell for row in rows if isinstance(cell := row["honest sentence kept"], tuple)]
    (size,) = {*map(len, cells)}
    kept = sorted({cell.count(1) for cell in cells})
    return size, "all" if kept == [size] else " or ".join(map(str, kept))


def published(setting: str, share: float, system: str) -> float:
    where = {"setting": setting, "asked for": share, "system": system}
    return percent(find("published", "Kept", **where)["kept"])


def questions(name: str) -> int:
    value = find("quality", "Sets", set=name)["with an answer"]
    assert isinstance(value, int)
    return value
