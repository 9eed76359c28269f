"""The calls that the READMEs of LLMLingua and OpenProvence show, with other texts: which run, which do not.

docs/migrating.md lists them in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tersely import InvalidInputError, TerselyError
from tersely.compat import OpenProvenceModel, PromptCompressor

QUESTION = "When was the harbour dug?"
ANSWER = "The harbour was dug in 1871."
PASSAGES = [
    "The museum is in Hill Street. Entry is free on Thursdays. It opened in 1904.",
    f"{ANSWER} Its crane still works.",
]
PROMPT = " ".join(PASSAGES)
STRUCTURED = (
    "<llmlingua, compress=False>Ada:</llmlingua>"
    f"<llmlingua, rate=0.4> {PASSAGES[0]}</llmlingua>"
    "<llmlingua, compress=False>\nBen:</llmlingua>"
    f"<llmlingua, rate=0.4> {PASSAGES[1]}</llmlingua>"
)


@pytest.fixture(scope="module")
def lingua() -> PromptCompressor:
    return PromptCompressor()


@pytest.fixture(scope="module")
def model() -> OpenProvenceModel:
    return OpenProvenceModel.from_pretrained(trust_remote_code=True)


# LLMLingua


def test_the_call_of_longllmlingua_runs_as_documented(lingua: PromptCompressor) -> None:
    compressed_prompt = lingua.compress_prompt(
        PASSAGES,
        question=QUESTION,
        rate=0.55,
        condition_in_question="after_condition",
        reorder_context="sort",
        dynamic_context_compression_ratio=0.3,
        condition_compare=True,
        context_budget="+100",
        rank_method="longllmlingua",
    )
    assert ANSWER in compressed_prompt["compressed_prompt"]
    assert compressed_prompt["compression"].rate <= 0.55
    assert compressed_prompt["without_effect"] == [
        "dynamic_context_compression_ratio",
        "condition_compare",
        "context_budget",
        "rank_method",
    ]


def test_the_first_call_runs_with_and_without_a_question(lingua: PromptCompressor) -> None:
    bare = lingua.compress_prompt(PROMPT, instruction="", question="", target_token=12)
    assert bare["compression"].model == "coverage"
    assert bare["compression"].tokens_after <= 12
    result = lingua.compress_prompt(PROMPT, instruction="", question=QUESTION, target_token=12)
    assert result["compressed_prompt"] == f"{ANSWER}\n\n{QUESTION}"


def test_the_call_of_llmlingua_2_runs_with_a_question_and_without_forced_tokens(
    lingua: PromptCompressor,
) -> None:
    with pytest.raises(InvalidInputError, match="force_tokens"):
        lingua.compress_prompt(PROMPT, rate=0.33, force_tokens=["\n", "?"])
    result = lingua.compress_prompt(PROMPT, rate=0.33, question=QUESTION)
    assert ANSWER in result["compressed_prompt"]
    assert result["without_effect"] == []


MODELS: dict[str, Callable[[], PromptCompressor]] = {
    "phi-2": lambda: PromptCompressor("microsoft/phi-2"),
    "quantized": lambda: PromptCompressor("TheBloke/Llama-2-7b-Chat-GPTQ", model_config={"revision": "main"}),
    "llmlingua-2": lambda: PromptCompressor(
        model_name="microsoft/llmlingua-2-xlm-roberta-large-meetingbank", use_llmlingua2=True
    ),
    "llmlingua-2 small": lambda: PromptCompressor(
        model_name="microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank", use_llmlingua2=True
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_no_model_of_llmlingua_is_loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")  # the hub has no model of tersely under these names
    with pytest.raises(TerselyError, match=r"model_config|use_llmlingua2|'microsoft/phi-2'"):
        MODELS[name]()


def test_structured_prompts_are_refused(lingua: PromptCompressor) -> None:
    with pytest.raises(InvalidInputError, match="Pass the sections to compress_prompt as a list"):
        lingua.structured_compress_prompt(STRUCTURED, instruction="", question="", rate=0.5)


# OpenProvence


def test_the_call_of_openprovence_runs_as_documented(model: OpenProvenceModel) -> None:
    result = model.process(question=QUESTION, context="\n".join(PASSAGES), threshold=0.1, show_progress=True)
    assert ANSWER in result["pruned_context"]
    assert 0 < result["reranking_score"] <= 1
    assert 0 < result["compression_rate"] < 100


def test_the_batch_form_of_openprovence_runs_as_documented(model: OpenProvenceModel) -> None:
    questions = [QUESTION, "On which day is the museum free?"]
    contexts = [PASSAGES[1], PASSAGES[0]]
    options: dict[str, Any] = {"threshold": 0.1, "return_sentence_texts": True}
    result = model.process(questions, contexts, batch_size=64, language="en", **options)
    assert result["pruned_context"][0] == ANSWER
    assert result["removed_sentences"][0] == ["Its crane still works."]
    assert "Entry is free on Thursdays." in result["pruned_context"][1]
    alone = [model.process(q, c, **options) for q, c in zip(questions, contexts, strict=True)]
    for name in ("pruned_context", "reranking_score", "compression_rate", "title", "kept_sentences"):
        assert result[name] == [one[name] for one in alone]


@pytest.mark.parametrize(
    "options",
    [
        {"title": None},
        {"title": ["Town", "Harbour"]},
        {"reorder": True, "top_k": 1},
        {"first_line_as_title": True, "always_select_title": True},
        {"return_sentence_metrics": True, "return_sentence_texts": True},
    ],
)
def test_the_arguments_that_openprovence_explains_run(
    model: OpenProvenceModel, options: dict[str, Any]
) -> None:
    passages = [f"Town\n{PASSAGES[0]}", f"Harbour\n{PASSAGES[1]}"]
    result = model.process(QUESTION, passages, threshold=0.1, batch_size=16, language="auto", **options)
    assert any(ANSWER in text for text in result["pruned_context"])
