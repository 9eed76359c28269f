"""Summaries: extractive and written, their sources and limits, and the fallback if a model fails."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tersely import ArtifactError, Compressor, Document, InvalidInputError
from tersely_agents.chat import ChatError, Reply, ScriptedChat, Usage
from tersely_agents.summaries import ASPECTS, Summarizer
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


def make_summarizer(*script: Any, **options: Any) -> Summarizer:
    return Summarizer(ScriptedChat(script), compressor=COMPRESSOR, **options)


def test_without_a_model_the_summary_quotes_the_documents() -> None:
    summary = Summarizer(compressor=COMPRESSOR).summarize(QUERY, DOCS, budget=20)
    assert (summary.backend, summary.reason) == ("extractive", None)
    assert 0 < summary.tokens_after <= 20
    for sentence in summary.sentences:
        (support,) = sentence.support
        quoted = DOCS[support.doc].text[support.start : support.end]
        assert summary.text[sentence.start : sentence.end] == quoted
        assert sentence.unknown == ()
    assert "leaves Port Maren" in summary.text


def test_without_a_budget_a_summary_is_a_compression() -> None:
    query = "Bicycles travel free?"
    summary = Summarizer(compressor=COMPRESSOR).summarize(query, DOCS)
    kept = COMPRESSOR.compress(query, DOCS).kept
    support = [(part.doc, part.start, part.end) for one in summary.sentences for part in one.support]
    assert support == [(span.doc, span.start, span.end) for span in kept]
    assert 0 < len(kept) < 5


def test_sentences_of_the_model_have_sources() -> None:
    summary = make_summarizer(Reply(GOOD, usage=Usage(90, 14))).summarize(QUERY, DOCS)
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
    summarizer = make_summarizer(GOOD)
    docs = [*DOCS, Document("The ticket costs $5, or $question.")]
    summarizer.summarize("ferry times", docs, question="Can I cycle to Maren?", aspect="coverage", budget=50)
    assert isinstance(summarizer.model, ScriptedChat)
    (system, user), options = summarizer.model.requests[0]
    assert "coverage: " + ASPECTS["coverage"] in system["content"]
    assert "Question: Can I cycle to Maren?\nSearch query: ferry times\n" in user["content"]
    assert "[Doc 1] Ferry\nThe ferry leaves" in user["content"]
    assert "[Doc 2] Museum\nThe museum" in user["content"]
    assert "The ticket costs $5, or $question." in user["content"]
    assert options["temperature"] == 0.7
    assert options["max_tokens"] >= 50


def test_preselection_limits_what_the_model_reads() -> None:
    summarizer = make_summarizer(GOOD, preselect=18)
    summary = summarizer.summarize(QUERY, DOCS)
    assert isinstance(summarizer.model, ScriptedChat)
    read = summarizer.model.requests[0][0][1]["content"].split("Documents:\n")[1]
    assert "Gulls" not in read
    assert "leaves Port Maren" in read
    assert summary.sentences[0].support[0].doc == 0, "the support refers to the original documents"


INVENTED = "The ferry leaves Port Maren at seven. Captain Olsen serves coffee from 6:30."


def test_unsupported_sentences_are_flagged_or_dropped() -> None:
    summary = make_summarizer(INVENTED).summarize(QUERY, DOCS)
    assert summary.text == INVENTED
    (sentence,) = summary.unsupported
    assert INVENTED[sentence.start : sentence.end] == "Captain Olsen serves coffee from 6:30."
    assert sentence.unknown == ("Captain", "Olsen", "6:30")
    summary = make_summarizer(INVENTED, unsupported="drop").summarize(QUERY, DOCS)
    assert summary.text == "The ferry leaves Port Maren at seven."
    assert summary.dropped == ("Captain Olsen serves coffee from 6:30.",)
    assert summary.tokens_after == COMPRESSOR.count_tokens(summary.text)


@pytest.mark.parametrize("script", [None, (GOOD,) * 29], ids=["extractive", "written"])
def test_a_summary_never_exceeds_the_budget(script: Any) -> None:
    summarizer = make_summarizer(*script) if script else Summarizer(compressor=COMPRESSOR)
    for budget in range(1, 30):
        summary = summarizer.summarize(QUERY, DOCS, budget=budget)
        assert COMPRESSOR.count_tokens(summary.text) == summary.tokens_after <= budget
        for sentence in summary.sentences:
            assert 0 <= sentence.start < sentence.end <= len(summary.text)


def test_an_unfinished_last_sentence_is_left_out() -> None:
    reply = Reply("The ferry leaves Port Maren at seven. Bicycles are free to", finish="length")
    assert make_summarizer(reply).summarize(QUERY, DOCS).text == "The ferry leaves Port Maren at seven."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "the model's answer is empty"),
        ("<think>Hm.</think>\n", "the model's answer is empty"),
        (ChatError("small at http://x cannot be reached."), "small at http://x cannot be reached."),
        (KeyError("a bug"), "scripted gave no reply (KeyError: 'a bug'). Check the model."),
        ("The ferry leaves Port Maren " * 500, "the model wrote too much"),
        ("Volcanoes erupt on distant planets.", "no sentence of the model is supported"),
    ],
    ids=["empty", "only thought", "down", "bug", "longer than the documents", "invented"],
)
def test_a_failing_model_is_replaced_by_quotations(answer: Any, reason: str) -> None:
    summarizer = make_summarizer(answer, answer, unsupported="drop")
    summary = summarizer.summarize(QUERY, DOCS, budget=20)
    assert (summary.backend, summary.reason) == ("extractive", f"extractive, because {reason}")
    assert "leaves Port Maren" in summary.text
    assert asyncio.run(summarizer.asummarize(QUERY, DOCS, budget=20)) == summary


def test_an_empty_preselection_calls_no_model() -> None:
    summary = make_summarizer(preselect=1).summarize(QUERY, DOCS, budget=20)
    assert summary.backend == "extractive"
    assert summary.reason == "extractive, because no sentence fits into preselect"


def test_thoughts_and_lead_ins_are_removed() -> None:
    wordy = f"<think>Let me see.</think>\n\n**Support context:** {GOOD}"
    assert make_summarizer(wordy).summarize(QUERY, DOCS).text == GOOD


def test_documents_without_text_need_no_model() -> None:
    summarizer = make_summarizer()
    summary = summarizer.summarize(QUERY, ["", "  "])
    assert (summary.text, summary.sentences) == ("", ())


def test_the_reason_names_a_failing_selector() -> None:
    broken = Compressor(BrokenScorer(RuntimeError("no model")))
    summary = Summarizer(compressor=broken).summarize(QUERY, DOCS)
    assert summary.reason == "the model failed: RuntimeError: no model"
    assert summary.text.startswith("Ferry\nThe ferry leaves")
    short = Summarizer(compressor=broken).summarize(QUERY, DOCS, budget=15)
    assert 0 < short.tokens_after <= 15
    assert short.reason == "the model failed: RuntimeError: no model"
    first = short.sentences[0].support[0]
    assert DOCS[first.doc].text[first.start : first.end] in short.text


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
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"query": QUERY, "docs": DOCS, **arguments}
    with pytest.raises(InvalidInputError, match=message):
        make_summarizer(GOOD).summarize(**given)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"tersely_agents\.chat"):
        Summarizer(3, compressor=COMPRESSOR)
    with pytest.raises(ArtifactError, match="no model folder at 'gpt'"):
        Summarizer("gpt", compressor=COMPRESSOR)
    with pytest.raises(InvalidInputError, match="'flag' or 'drop'"):
        make_summarizer(unsupported="hide")
    with pytest.raises(InvalidInputError, match="preselect"):
        make_summarizer(preselect=0)
