"""The numbers in the sentences of the pages are those of the recorded results."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.pages import GERMAN, HOTPOTQA, NQ_30, PACKAGES, READER, SQUAD, WIKIQA, percent
from tests.docs.pages import read_page
from tests.docs.records import (
    MEETINGS,
    ONE_STEP,
    SHORT_MEETINGS,
    THEIRS_AND_OURS,
    answers,
    bill,
    call_seconds,
    compaction,
    find,
    high,
    load,
    low,
    peer,
    promise,
    published,
    questions,
    rank,
    reader,
    reader_lead,
    reading_gap,
    reading_lead,
    real,
    recall_kept,
    refused,
    seconds,
    support,
    survivors,
    tool,
    trained,
)

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
            "({}, {}, {}, {} and {} questions, by row)",
            lambda: tuple(map(questions, (HOTPOTQA, NQ_30, SQUAD, WIKIQA, GERMAN))),
        ),
        (
            "On documentation of software packages it works worse: {:.0f} of 100 answerable questions get a "
            "text, and {:.0f} of 100 unanswerable ones. As a warning, [`calibrated`]"
            "(docs/options-and-results.md#abstaining) is false for {:.0f} of 100 answerable ones",
            lambda: (
                percent(promise(PACKAGES, "let through")),
                *(100 - percent(promise(PACKAGES, share)) for share in ("refused", "calibrated")),
            ),
        ),
        (
            "ten passages take {:.2f} s, or {:.2f} s if the question seems to need two of them; thirty take "
            "{:.2f} s and {:.0f} MB of RAM",
            lambda: (
                find("prepared", "Times", request=ONE_STEP, documents="unprepared")["p50"],
                *map(call_seconds, (10, 30)),
                find("latency", "RAM", request="30 documents")["peak memory"],
            ),
        ),
    ],
    "docs/server.md": [
        (
            "| a request of 10 passages on two cores | {:.2f} s | | one process, 30 passages | about {:.0f} "
            "MB of RAM | | one process, 200,000 words in one request | about {:.0f} MB of RAM |",
            lambda: (
                call_seconds(10),
                *(row["peak memory"] for row in load("latency").find("RAM").rows),
            ),
        ),
    ],
    "docs/how-it-works.md": [
        (
            "on HotpotQA alone, {:.1f} % keep their answer at 0.9.",
            lambda: (recall_kept(0.9),),
        ),
    ],
    "docs/options-and-results.md": [
        (
            "`abstain=0.9` let {:.0f} % of the answerable questions through (95 % interval {:.0f} to {:.0f}; "
            "of those about source code, {:.0f} %), and refused {:.0f} % of the others.",
            lambda: (
                *(f(promise(PACKAGES, "let through")) for f in (percent, low, high)),
                percent(promise("of these: Source code, Rust", "let through")),
                percent(promise(PACKAGES, "refused")),
            ),
        ),
        (
            "`recall=0.9` keeps the evidence of {:.0f} % of these questions.",
            lambda: (percent(promise(PACKAGES, "evidence kept")),),
        ),
    ],
    "docs/agents.md": [
        (
            "of 200 questions of HotpotQA with ten paragraphs each, {:.1f} % of its answers were right (95 % "
            "interval {:.0f} to {:.0f}). It gave an answer to {:.0f} % of the questions, after {:.1f} turns "
            "on average.",
            lambda: (
                *(f(trained("right")) for f in (percent, low, high)),
                percent(trained("answered")),
                trained("turns"),
            ),
        ),
    ],
    "docs/results.md": [
        (
            "of 200 questions of HotpotQA with ten paragraphs each, {:.1f} % of the answers are right (95 % "
            "interval {:.0f} to {:.0f})",
            lambda: tuple(f(trained("right")) for f in (percent, low, high)),
        ),
        (
            "`abstain=0.9` lets {:.0f} % of the answerable questions about packages through (95 % interval "
            "{:.0f} to {:.0f}) and {:.0f} % of those in German.",
            lambda: (
                *(f(promise(PACKAGES, "let through")) for f in (percent, low, high)),
                percent(promise(GERMAN, "let through")),
            ),
        ),
        (
            "On HotpotQA, tersely keeps {:.1f} % of the answers at a quarter of the tokens.",
            lambda: (percent(answers(HOTPOTQA, "tersely", "0.25")),),
        ),
        (
            "At a tenth of the tokens, tersely keeps {:.1f} % of these sentences; at a quarter, {:.1f} %",
            lambda: (support(PACKAGES, "tersely", "0.1"), support(PACKAGES, "tersely", "0.25")),
        ),
        (
            "At a tenth, the most relevant whole documents keep {:.1f} %.",
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
            "F1 is then {:.1f} points lower than with all documents (95 % interval {:.1f} to {:.1f})",
            lambda: reading_gap("all documents", "recall 0.95", "mean of the sets"),
        ),
        (
            "it refuses only {:.0f} % of the unanswerable questions; on German XQuAD, {:.0f} %",
            lambda: (refused(PACKAGES), refused(GERMAN)),
        ),
        (
            "tersely answers {:.0f} % (95 % interval {:.0f} to {:.0f}), and lines chosen by BM25 answer "
            "{:.0f} % ({:.0f} to {:.0f})",
            lambda: tuple(
                f(real(m, 300)) for m in ("tersely", "lines by BM25") for f in (percent, low, high)
            ),
        ),
        (
            "With 1,000 tokens, tersely answers {:.0f} % ({:.0f} to {:.0f}), and BM25 {:.0f} % "
            "({:.0f} to {:.0f})",
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
            "a tenth of the text keeps {:.1f} % of the speakers' relevant turns, and a quarter {:.1f} %",
            lambda: (support(MEETINGS, "tersely", "0.1"), support(MEETINGS, "tersely", "0.25")),
        ),
        (
            "On HotpotQA alone, {:.1f}, {:.1f} and {:.1f} % keep their answer",
            lambda: tuple(map(recall_kept, (0.9, 0.95, 0.99))),
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
            "laya-compactor keeps {:.1f} % of HotpotQA's needed paragraphs, tersely {:.1f} %. On SQuAD, "
            "laya-compactor's search finds the right paragraph for 73.5 % of all questions, and its "
            "compression still has it for {:.1f} %. Our search finds it for {:.1f} %, and tersely's "
            "compression still has it for {:.1f} %. Entroly keeps {:.1f} % of the answers in a "
            "tenth of a JSON result with SQuAD's passages, tersely {:.1f} %, and BM25 {:.1f} %.",
            lambda: (
                *(published("laya-compactor: gold documents of HotpotQA", 0.68, s) for s in THEIRS_AND_OURS),
                *(
                    published("laya-compactor: gold documents of SQuAD", 0.303, s)
                    for s in ("published", "all documents", "tersely")
                ),
                *(
                    published("Entroly: answers of SQuAD in a JSON result", 0.104, s)
                    for s in (*THEIRS_AND_OURS, "BM25 sentences")
                ),
            ),
        ),
        (
            "LLMSlim keeps the answer in {:.0f}, {:.0f} and {:.0f} % of the cases",
            lambda: tuple(tool("LLMSlim", rate) for rate in ("2%", "5%", "20%")),
        ),
        (
            "tersely keeps the answer in all {} cases at 2, 5 and 20 % of the tokens",
            lambda: (
                (min(tool("tersely", rate) for rate in ("2%", "5%", "20%")) == 100)
                * int(load("tool_results").settings["cases of each kind"])
                * len({row["kind"] for row in load("tool_results").find("Each kind").rows}),
            ),
        ),
        (
            "tersely takes about {:.0f} times as long as LLMSlim and {:.0f} times as long as BM25",
            lambda: tuple(seconds("tersely") / seconds(method) for method in ("LLMSlim", "lines by BM25")),
        ),
        (
            "We made up {} attacks of each of several kinds. At a tenth of the text, tersely still keeps the "
            "true sentence in {} attacks.",
            survivors,
        ),
        (
            "the first sentences of each document keep {:.1f} points more of these pairs than tersely does",
            lambda: (
                -percent(
                    find(
                        "without_question",
                        "What is kept",
                        set="news",
                        rate=0.25,
                        of="pairs of neighbouring words of the summaries",
                        method="lead of each",
                    )["tersely's lead"]
                ),
            ),
        ),
        (
            "tersely keeps {:.1f} and {:.1f} % of the user's statements, and does not remove {} outdated "
            "values; in our own chats it keeps {:.1f} and {:.1f} % and leaves",
            lambda: (
                *(percent(compaction("the kit's", budget)["statements kept"]) for budget in (0.2, 0.3)),
                *{compaction("the kit's", budget)["outdated values left"] for budget in (0.2, 0.3)},
                *(percent(compaction("our own", budget)["statements kept"]) for budget in (0.2, 0.3)),
            ),
        ),
        (
            "mean reciprocal rank {:.0f} % on HotpotQA, {:.0f} % on Natural Questions, {:.0f} % on SQuAD",
            lambda: tuple(
                rank(name)
                for name in (
                    "HotpotQA dev, 1,197 documents",
                    "Natural Questions (QED) dev, 800 documents",
                    "SQuAD dev, 912 documents",
                )
            ),
        ),
        (
            "retrieval costs {:.0f} % less if no two questions share a document, and {:.0f} % more if 90 %",
            lambda: (-bill(0), bill(90)),
        ),
        (
            "on the mean of the sets, its F1 is {:.1f} points higher (95 % interval {:.1f} to {:.1f}). "
            "On SQuAD, our goal was a loss of at most 2 points against all documents; tersely loses {:.1f}",
            lambda: (*reading_lead("whole documents"), reader_lead(SQUAD, "0.25")),
        ),
        (
            "the mean is {:.1f} points higher than with LLMSlim, the strongest other system (95 % interval "
            "{:.1f} to {:.1f})",
            lambda: reading_lead("LLMSlim", "0.05"),
        ),
        (
            "tersely is {:.1f} points behind whole documents on HotpotQA ({:.1f} to {:.1f})",
            lambda: reading_gap("whole documents", "0.5", HOTPOTQA),
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
        f"{spanish:.0f}, {romanian:.0f} and {turkish:.0f} % of the answers are kept in Spanish, Romanian "
        f"and Turkish; in six writing systems unknown to the model, and in Vietnamese, texts are matched by "
        "[words and groups of characters](how-it-works.md#score-logits-and-exact-matches-become-one-number), "
        f"and {min(others):.0f} to {max(others):.0f} % are kept"
    ) in text


def test_the_page_says_where_a_reader_answers_no_better_from_tersely() -> None:
    leads = load("reading").find("Tersely's lead").select(reader=READER)
    ours = ("all documents", "tersely, with the sentence before")
    level = {
        (row["set"], row["size"], row["against"])
        for row in leads
        if row["standing"] != "ahead" and row["against"] not in ours
    }
    assert {against for name, size, against in level if (name, size) == ("mean of the sets", "0.25")} == {
        "whole documents"
    }
    assert {name for name, size, _ in level if size == "0.1"} == {NQ_30, SHORT_MEETINGS}
