"""The numbers in the sentences of README.md and docs/results.md are those of the recorded results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from benchmarks.pages import BASELINES, GERMAN, HOTPOTQA, NQ_30, PACKAGES, READER, SQUAD, WIKIQA, percent
from benchmarks.shared.statistics import Estimate, estimate_share
from benchmarks.table import Record, Row
from tests.docs.pages import read_page

MEETINGS = "QMSum, 10k-word meetings"
SHORT_MEETINGS = "Meetings of 5k to 11k words"
LINES = ("tersely", "lines by BM25")


@cache
def load(record: str) -> Record:
    return Record.read(BASELINES / f"{record}.json")


def find(record: str, title: str, **where: object) -> Row:
    return load(record).find(title).find(**where)


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


def reader(system: str, size: str) -> float:
    where = {"reader": READER, "set": "Real tool results", "system": system, "size": size}
    return percent(find("reading", "Answers", **where)["F1"])


def tool(method: str, rate: str) -> float:
    return percent(find("tool_results", "All kinds together", method=method, rate=rate)["answered"])


def peer(system: str) -> tuple[float, ...]:
    """Return the answers and the tokens that a system keeps of HotpotQA, in percent."""
    row = find("peers", "Answers kept", set="HotpotQA, 10 paragraphs", system=system, budget=0.1)
    return percent(row["answers kept"]), 100 * row["rate achieved"]


def questions(name: str) -> int:
    value = find("quality", "Sets", set=name)["with an answer"]
    assert isinstance(value, int)
    return value


STATEMENTS: dict[str, list[tuple[str, Callable[[], tuple[object, ...]]]]] = {
    # Sentences of the page with a place for each number, and the numbers.
    "README.md": [
        (
            "keeps the answers to {:.0f} % of HotpotQA's questions. Its strongest rival in the same "
            "measurement, LLMSlim, keeps {:.0f} %.",
            lambda: (
                percent(answers(HOTPOTQA, "tersely", "0.1")),
                percent(answers(HOTPOTQA, "LLMSlim", "0.1")),
            ),
        ),
        (
            "({} questions; the 95 % intervals are {:.1f} to {:.1f} and {:.1f} to {:.1f}.)",
            lambda: (
                questions(HOTPOTQA),
                *(f(answers(HOTPOTQA, s, "0.1")) for s in ("tersely", "LLMSlim") for f in (low, high)),
            ),
        ),
        (
            "({}, {}, {}, {} and {} questions)",
            lambda: tuple(map(questions, (HOTPOTQA, NQ_30, SQUAD, WIKIQA, GERMAN))),
        ),
        (
            "On sections of manuals only {:.0f} are not, and {:.0f} of 100 unanswerable ones get through",
            lambda: (
                percent(promise(PACKAGES, "let through")),
                100 - percent(promise(PACKAGES, "refused")),
            ),
        ),
        (
            "ten passages take {:.2f} s; thirty take {:.2f} s and {:.0f} MB of RAM",
            lambda: (
                find("latency", "Calls", system="tersely", request="10 documents")["p50"],
                find("latency", "Calls", system="tersely", request="30 documents")["p50"],
                find("latency", "RAM", request="30 documents")["peak memory"],
            ),
        ),
    ],
    "docs/how-it-works.md": [
        (
            "on HotpotQA alone, {:.1f} % keep their answer at 0.95",
            lambda: (
                percent(find("calibration", "What is kept", set="HotpotQA dev", promised=0.95)["kept"]),
            ),
        ),
    ],
    "docs/options-and-results.md": [
        (
            "`abstain=0.9` let {:.0f} % of the answerable questions through (95 % interval {:.0f} to {:.0f}; "
            "{:.0f} % on Debian's manuals), and refused {:.0f} % of the others.",
            lambda: (
                *(f(promise(PACKAGES, "let through")) for f in (percent, low, high)),
                percent(promise("of these: debian", "let through")),
                percent(promise(PACKAGES, "refused")),
            ),
        ),
        (
            "`recall=0.9` keeps the evidence of {:.0f} %.",
            lambda: (percent(promise(PACKAGES, "evidence kept")),),
        ),
    ],
    "docs/results.md": [
        (
            "`abstain=0.9` lets {:.0f} % of the answerable questions about packages through (95 % interval "
            "{:.0f} to {:.0f}) and {:.0f} % of those in German.",
            lambda: (
                *(f(promise(PACKAGES, "let through")) for f in (percent, low, high)),
                percent(promise(GERMAN, "let through")),
            ),
        ),
        (
            "At a quarter of the tokens tersely keeps {:.1f} % on HotpotQA.",
            lambda: (percent(answers(HOTPOTQA, "tersely", "0.25")),),
        ),
        (
            "At a tenth of the tokens, tersely keeps {:.1f} % of these sentences; at a quarter, {:.1f} %.",
            lambda: (support(PACKAGES, "tersely", "0.1"), support(PACKAGES, "tersely", "0.25")),
        ),
        (
            "the most relevant ones that fit into a tenth, it keeps {:.1f} %.",
            lambda: (percent(answers(HOTPOTQA, "whole documents", "0.1")),),
        ),
        (
            "Against all documents it loses {:.0f} points on HotpotQA, {:.0f} on SQuAD and {:.0f} on "
            "meetings.",
            lambda: tuple(reader_lead(name, "0.1") for name in (HOTPOTQA, SQUAD, SHORT_MEETINGS)),
        ),
        (
            "At a quarter it loses {:.1f} points on HotpotQA, {:.1f} on SQuAD and {:.1f} on meetings against",
            lambda: tuple(reader_lead(name, "0.25") for name in (HOTPOTQA, SQUAD, SHORT_MEETINGS)),
        ),
        (
            "F1 is then {:.1f} points lower than with all documents, a difference that could be chance.",
            lambda: (reader_lead("mean of the sets", "recall 0.95"),),
        ),
        (
            "refuses only {:.0f} % of the unanswerable questions; on German XQuAD {:.0f} %",
            lambda: (refused(PACKAGES), refused(GERMAN)),
        ),
        (
            "to {:.0f} % (95 % interval {:.0f} to {:.0f}), and lines chosen by BM25 to {:.0f} % "
            "({:.0f} to {:.0f})",
            lambda: tuple(
                f(real(m, 300)) for m in ("tersely", "lines by BM25") for f in (percent, low, high)
            ),
        ),
        (
            "With 1,000 tokens it is {:.0f} % ({:.0f} to {:.0f}), and with BM25 {:.0f} % ({:.0f} to {:.0f})",
            lambda: tuple(
                f(real(m, 1000)) for m in ("tersely", "lines by BM25") for f in (percent, low, high)
            ),
        ),
        (
            "from tersely's 300 tokens, {:.1f} % from BM25's and {:.1f} % from everything",
            lambda: (reader("lines by BM25", "300 tokens"), reader("all documents", "all")),
        ),
        (
            "The F1 of the reader's answers is {:.1f} %",
            lambda: (reader("tersely", "300 tokens"),),
        ),
        (
            "A first call in a new process takes {:.2f} s. The largest use of RAM is {:.0f} MB with thirty "
            "documents and {:.0f} MB with one of 200,000 words. The installation with everything it needs "
            "takes {:.0f} MB.",
            lambda: (
                find("latency", "Start", start="new process to first result, 10 documents")["p50"],
                *(row["peak memory"] for row in load("latency").find("RAM").rows),
                load("latency").find("Size").rows[0]["base install with everything it needs"],
            ),
        ),
        (
            "a tenth of the text keeps {:.1f} % of the relevant turns, and a quarter keeps {:.1f} %",
            lambda: (support(MEETINGS, "tersely", "0.1"), support(MEETINGS, "tersely", "0.25")),
        ),
        (
            "On HotpotQA alone, {:.1f}, {:.1f} and {:.1f} % keep their answer.",
            lambda: tuple(
                percent(find("calibration", "What is kept", set="HotpotQA dev", promised=promised)["kept"])
                for promised in (0.9, 0.95, 0.99)
            ),
        ),
        (
            "tersely keeps {:.0f} % of the answers, LLMSlim {:.0f} %, Trimwise {:.0f} %. The others keep "
            "more than they are asked for: contextpress {:.0f} % of the answers in {:.0f} % of the tokens, "
            "barber {:.0f} % in {:.0f} %, Claw Compactor {:.0f} % in {:.0f} %.",
            lambda: (
                *(peer(system)[0] for system in ("tersely", "llmslim", "trimwise")),
                *(value for s in ("contextpress", "barber", "claw-compactor") for value in peer(s)),
            ),
        ),
        (
            "LLMSlim keeps the answer in {:.0f}, {:.0f} and {:.0f} % of the cases",
            lambda: tuple(tool("LLMSlim", rate) for rate in ("2%", "5%", "20%")),
        ),
    ],
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_sentences_have_the_numbers_of_the_records(name: str) -> None:
    text = " ".join(read_page(name).replace("**", "").split())
    wrong = [
        said for template, values in STATEMENTS[name] if (said := template.format(*values())) not in text
    ]
    assert wrong == []


def test_the_page_says_of_other_languages_what_was_kept() -> None:
    kept = {
        code: percent(answers(f"XQuAD {code}, 10 hard negatives", "tersely", "0.1"))
        for code in ("es", "ro", "tr", "ar", "zh", "el", "hi", "ru", "th", "vi")
    }
    spanish, romanian, turkish, *others = kept.values()
    text = " ".join(read_page("docs/results.md").split())
    assert (
        f"{spanish:.0f}, {romanian:.0f} and {turkish:.0f} % of the answers are kept in Spanish, Romanian and "
        f"Turkish; in six scripts that the model does not know, and in Vietnamese, texts are matched by "
        f"characters, and "
        f"{min(others):.0f} to {max(others):.0f} % are kept"
    ) in text
