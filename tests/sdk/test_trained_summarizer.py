"""A trained summarizer around its model, which is scripted here; tests/stack runs the real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import ArtifactError, Compressor, Document, InvalidInputError
from tersely.runtime.artifacts import load_artifact
from tersely_agents.chat import ScriptedChat
from tersely_agents.chat.trained import TrainedModel
from tersely_agents.summaries import Summarizer, Summary
from tersely_agents.summaries.grounding import Sources
from tersely_agents.summaries.summarizer import describe_prompts
from tests.sdk.agents import write_trained
from tests.sdk.fakes import FakeScorer

QUERY = "When does the ferry leave Port Maren?"
DOCS = [
    Document("The ferry leaves Port Maren at seven. Gulls circle above it. Bicycles travel free.", "Ferry"),
    Document("The museum opened in 1904. Its garden has a pond.", "Museum"),
]
GROUNDED = ("The ferry leaves Port Maren at seven.", "Bicycles travel free.", "The museum opened in 1904.")
UNGROUNDED = (
    "Dragons guard every treasure chest.",
    "The ferry leaves Port Maren at nine.",
    "The museum opened in 1905.",
    "The ferry leaves Port Astrid at seven.",
    "The ferry leaves Port Maren in 1904.",  # the year is the museum's
)
COMPRESSOR = Compressor(FakeScorer())


def write(*replies: str, **options: Any) -> Summary:
    trained = TrainedModel(ScriptedChat(replies), input_tokens=30, max_tokens=50)
    return Summarizer(trained, compressor=COMPRESSOR, **options).summarize(QUERY, DOCS)


@given(st.lists(st.sampled_from(GROUNDED + UNGROUNDED), max_size=8))
def test_what_remains_is_grounded_like_a_quotation(sentences: list[str]) -> None:
    summary = write(" ".join(sentences))
    sources = Sources(DOCS)
    for sentence in summary.sentences:
        text = summary.text[sentence.start : sentence.end]
        assert sentence.supported
        assert sources.find_unknown(text) == sentence.unknown == ()
    if summary.backend == "llm":
        kept = [summary.text[s.start : s.end] for s in summary.sentences]
        assert kept == list(dict.fromkeys(s for s in sentences if s in GROUNDED))
        assert set(summary.dropped) <= set(sentences)
    else:
        assert not set(sentences) & set(GROUNDED)
        assert summary.reason is not None


def test_a_trained_model_reads_and_writes_as_in_training() -> None:
    chat = ScriptedChat([GROUNDED[0]] * 2)
    small = Summarizer(TrainedModel(chat, input_tokens=12, max_tokens=50), compressor=COMPRESSOR)
    small.summarize(QUERY, DOCS)
    small.summarize(QUERY, DOCS, budget=20)
    (whole, plain), (_, limited) = chat.requests
    assert "Gulls" not in whole[1]["content"]
    assert plain == {"temperature": 0.0, "max_tokens": 50}
    assert limited == {"temperature": 0.0, "max_tokens": 20 * 3 // 2 + 16}


def test_the_caller_may_flag_instead_of_drop() -> None:
    text = " ".join(UNGROUNDED[:3])
    summary = write(text, unsupported="flag")
    assert (summary.backend, summary.text) == ("llm", text)
    assert summary.unsupported


def test_a_base_without_a_trained_summarizer_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="base is only for a trained summarizer"):
        Summarizer(ScriptedChat([""]), base="model.gguf")


def test_a_summarizer_for_other_prompts_is_refused(tmp_path: Path) -> None:
    folder = write_trained(tmp_path / "old", "summarizer", {"summary_system": "00000000"})
    with pytest.raises(ArtifactError, match="prompts that tersely no longer has"):
        Summarizer(str(folder))


def test_a_selector_is_no_summarizer_and_the_other_way_round(tmp_path: Path) -> None:
    folder = write_trained(tmp_path / "new", "summarizer", describe_prompts())
    assert load_artifact(folder, kind="summarizer").file("adapter.gguf").exists()
    with pytest.raises(ArtifactError, match="'summarizer', not a 'selector'"):
        Compressor(folder)
    with pytest.raises(ArtifactError, match="'selector', not a 'summarizer'"):
        Summarizer("tersely-mini")
