from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tersely import Compressor, Document, InvalidInputError
from tersely.chat import ChatError, Reply, ScriptedChat, Usage
from tersely.prompts import load_prompt
from tersely.summarize import ASPECTS, Summarizer
from tests.sdk.fakes import BrokenScorer, FakeScorer

QUERY = "When does the ferry leave Port Maren, and do bicycles travel free?"
DOCS = [
    Document(
        "The ferry leaves Port Maren at seven. Gulls circle above it. Bicycles travel free.", "Ferry", "f"
    ),
    Document("The museum opened in 1904. Its garden has a pond.", "Museum", "m"),
]
GOOD = "The ferry leaves Port Maren at seven. Bicycles are free to travel."
COMPRESSOR = Compressor(FakeScorer())


def summarizer(*script: Any, **options: Any) -> Summarizer:
    return Summarizer(ScriptedChat(script), compressor=COMPRESSOR, **options)


def test_without_a_model_the_documents_speak() -> None:
    summary = Summarizer(compressor=COMPRESSOR).summarize(QUERY, DOCS, budget=20)
    assert (summary.backend, summary.reason) == ("extractive", None)
    assert 0 < summary.tokens_after <= 20
    for sentence in summary.sentences:
        (support,) = sentence.support
        quoted = DOCS[support.doc].text[support.start : support.end]
        assert summary.text[sentence.start : sentence.end] == quoted
        assert sentence.unknown == ()
    assert "leaves Port Maren" in summary.text


def test_what_the_model_writes_carries_its_sources() -> None:
    summary = summarizer(Reply(GOOD, usage=Usage(90, 14))).summarize(QUERY, DOCS)
    assert (summary.text, summary.backend, summary.model) == (GOOD, "llm", "scripted")
    assert summary.usage == Usage(90, 14)
    quoted = [[DOCS[s.doc].text[s.start : s.end] for s in sentence.support] for sentence in summary.sentences]
    assert quoted == [["The ferry leaves Port Maren at seven."], ["Bicycles travel free."]]
    assert [GOOD[s.start : s.end] for s in summary.sentences] == [
        "The ferry leaves Port Maren at seven.",
        "Bicycles are free to travel.",
    ]
    assert json.loads(json.dumps(summary.to_dict()))["text"] == GOOD


def test_the_prompt_holds_question_query_documents_and_aspect() -> None:
    asking = summarizer(GOOD)
    asking.summarize("ferry times", DOCS, question="Can I cycle to Maren?", aspect="coverage", budget=50)
    assert isinstance(asking.model, ScriptedChat)
    (system, user), options = asking.model.asked[0]
    assert "coverage: " + ASPECTS["coverage"] in system["content"]
    assert "Question: Can I cycle to Maren?\nSearch query: ferry times\n" in user["content"]
    assert "[Doc 1] Ferry\nThe ferry leaves" in user["content"]
    assert "[Doc 2] Museum\nThe museum" in user["content"]
    assert options["temperature"] == 0.7
    assert options["max_tokens"] >= 50


def test_dollar_signs_in_documents_stay_what_they_are() -> None:
    asking = summarizer("The ticket costs $5.")
    asking.summarize("price?", ["The ticket costs $5, or $question."])
    assert isinstance(asking.model, ScriptedChat)
    assert "The ticket costs $5, or $question." in asking.model.asked[0][0][1]["content"]


def test_preselection_bounds_what_the_model_reads() -> None:
    asking = summarizer(GOOD, preselect=18)
    summary = asking.summarize(QUERY, DOCS)
    assert isinstance(asking.model, ScriptedChat)
    read = asking.model.asked[0][0][1]["content"].split("Documents:\n")[1]
    assert "Gulls" not in read
    assert "leaves Port Maren" in read
    assert summary.sentences[0].support[0].doc == 0, "support is found in the documents as given"


MADE_UP = "The ferry leaves Port Maren at seven. Captain Olsen serves coffee from 6:30."


def test_made_up_sentences_are_flagged() -> None:
    summary = summarizer(MADE_UP).summarize(QUERY, DOCS)
    assert summary.text == MADE_UP
    (bad,) = summary.unsupported
    assert MADE_UP[bad.start : bad.end] == "Captain Olsen serves coffee from 6:30."
    assert bad.unknown == ("Captain", "Olsen", "6:30")


def test_or_dropped_as_asked() -> None:
    summary = summarizer(MADE_UP, unsupported="drop").summarize(QUERY, DOCS)
    assert summary.text == "The ferry leaves Port Maren at seven."
    assert summary.dropped == ("Captain Olsen serves coffee from 6:30.",)
    assert summary.tokens_after == COMPRESSOR.count_tokens(summary.text)


def test_facts_that_occur_nowhere_are_flagged_in_supported_sentences_too() -> None:
    summary = summarizer("The ferry leaves Port Maren at seven on 12 May.").summarize(QUERY, DOCS)
    (sentence,) = summary.sentences
    assert sentence.supported
    assert sentence.unknown == ("12", "May")


@pytest.mark.parametrize("budget", range(1, 30))
def test_never_longer_than_the_budget(budget: int) -> None:
    for asking in (summarizer(GOOD), Summarizer(compressor=COMPRESSOR)):
        summary = asking.summarize(QUERY, DOCS, budget=budget)
        assert COMPRESSOR.count_tokens(summary.text) == summary.tokens_after <= budget
        for sentence in summary.sentences:
            assert 0 <= sentence.start < sentence.end <= len(summary.text)


def test_what_the_budget_leaves_no_room_for_is_listed() -> None:
    room = COMPRESSOR.count_tokens("The ferry leaves Port Maren at seven.")
    summary = summarizer(GOOD).summarize(QUERY, DOCS, budget=room)
    assert summary.text == "The ferry leaves Port Maren at seven."
    assert summary.dropped == ("Bicycles are free to travel.",)


def test_an_unfinished_last_sentence_is_left_out() -> None:
    reply = Reply("The ferry leaves Port Maren at seven. Bicycles are free to", finish="length")
    assert summarizer(reply).summarize(QUERY, DOCS).text == "The ferry leaves Port Maren at seven."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "the model's answer is empty"),
        ("<think>Hm.</think>\n", "the model's answer is empty"),
        (ChatError("small at http://x cannot be reached."), "cannot be reached"),
        ("The ferry leaves Port Maren " * 500, "the model wrote too much"),
    ],
    ids=["empty", "only thought", "down", "longer than the documents"],
)
def test_a_failing_model_falls_back_and_says_so(answer: Any, reason: str) -> None:
    summary = summarizer(answer).summarize(QUERY, DOCS, budget=20)
    assert summary.backend == "extractive"
    assert summary.reason is not None
    assert summary.reason.startswith("extractive, because ")
    assert reason in summary.reason
    assert "leaves Port Maren" in summary.text


def test_nothing_supported_falls_back_when_it_is_to_be_dropped() -> None:
    strange = summarizer("Volcanoes erupt on distant planets.", unsupported="drop")
    summary = strange.summarize(QUERY, DOCS, budget=20)
    assert summary.backend == "extractive"
    assert summary.reason == "extractive, because no sentence of the model is supported"


def test_a_preselection_that_leaves_nothing_asks_no_model() -> None:
    summary = summarizer(preselect=1).summarize(QUERY, DOCS, budget=20)
    assert summary.backend == "extractive"
    assert summary.reason == "extractive, because no sentence fits into preselect"


def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(KeyError):
        summarizer(KeyError("a bug")).summarize(QUERY, DOCS)


def test_thought_and_lead_in_are_not_part_of_it() -> None:
    wordy = f"<think>Let me see.</think>\n\n**Support context:** {GOOD}"
    assert summarizer(wordy).summarize(QUERY, DOCS).text == GOOD


def test_async_says_the_same() -> None:
    expected = summarizer(GOOD).summarize(QUERY, DOCS)
    assert asyncio.run(summarizer(GOOD).asummarize(QUERY, DOCS)) == expected
    alone = Summarizer(compressor=COMPRESSOR)
    assert asyncio.run(alone.asummarize(QUERY, DOCS)) == alone.summarize(QUERY, DOCS)
    down = asyncio.run(summarizer(ChatError("down")).asummarize(QUERY, DOCS))
    assert down.backend == "extractive"


def test_no_text_gives_an_empty_summary_without_a_call() -> None:
    asking = summarizer()
    summary = asking.summarize(QUERY, ["", "  "])
    assert (summary.text, summary.sentences) == ("", ())


def test_a_failing_selector_is_named() -> None:
    broken = Compressor(BrokenScorer(RuntimeError("no model")))
    summary = Summarizer(compressor=broken).summarize(QUERY, DOCS)
    assert summary.reason == "RuntimeError: no model"
    assert summary.text.startswith("Ferry\nThe ferry leaves")
    short = Summarizer(compressor=broken).summarize(QUERY, DOCS, budget=15)
    assert 0 < short.tokens_after <= 15
    assert short.reason == "RuntimeError: no model"
    first = short.sentences[0].support[0]
    assert first.doc == 0
    assert DOCS[0].text[first.start : first.end] in short.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": " "}, "The query is empty"),
        ({"question": ""}, "The query is empty"),
        ({"aspect": "beauty"}, "Pass one of 'clarity'"),
        ({"budget": 0}, "1 or more"),
        ({"docs": "text"}, "Pass a list"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    given = {"query": QUERY, "docs": DOCS, **arguments}
    with pytest.raises(InvalidInputError, match=message):
        summarizer(GOOD).summarize(**given)


def test_bad_settings() -> None:
    with pytest.raises(InvalidInputError, match=r"tersely\.chat"):
        Summarizer("gpt", compressor=COMPRESSOR)
    with pytest.raises(InvalidInputError, match="'flag' or 'drop'"):
        summarizer(unsupported="hide")
    with pytest.raises(InvalidInputError, match="preselect"):
        summarizer(preselect=0)


def test_prompts_have_versions() -> None:
    assert load_prompt("summary_user").version != load_prompt("summary_system").version
    with pytest.raises(KeyError):
        load_prompt("summary_user").render(question="x")
    with pytest.raises(FileNotFoundError):
        load_prompt("nothing")
