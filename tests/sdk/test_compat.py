"""The interfaces of other compressors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tersely import Compressor, InvalidInputError
from tersely.compat import OpenProvenceModel, PromptCompressor
from tersely.selector import DocumentScores, ScoredInput
from tests.sdk.fakes import BrokenScorer, FakeScorer

WORDS = "entry free Thursdays"
QUESTION = "On which day is the museum free?"
FREE = "Entry is free on Thursdays."
MUSEUM = f"The museum is in Hill Street. {FREE} It opened in 1904."
HARBOUR = "The harbour was dug in 1871. Its crane still works."


@pytest.fixture(scope="module")
def lingua() -> PromptCompressor:
    return PromptCompressor(None, "cpu")


@pytest.fixture(scope="module")
def pruner() -> OpenProvenceModel:
    """Its scorer goes by the words of the question."""
    return OpenProvenceModel(Compressor(FakeScorer()))


# LLMLingua


def test_a_prompt_has_instruction_context_and_question(lingua: PromptCompressor) -> None:
    result = lingua.compress_prompt(
        [HARBOUR, MUSEUM], instruction="Answer briefly.", question=QUESTION, target_token=8
    )
    assert result["compressed_prompt"] == f"Answer briefly.\n\n{FREE}\n\n{QUESTION}"
    assert result["compressed_prompt_list"] == [FREE]
    count = Compressor(FakeScorer()).count_tokens
    before = count(f"Answer briefly.\n\n{HARBOUR}\n\n{MUSEUM}\n\n{QUESTION}")
    after = count(result["compressed_prompt"])
    assert (result["origin_tokens"], result["compressed_tokens"]) == (before, after)
    assert result["ratio"] == f"{before / after:.1f}x"
    assert result["rate"] == f"{after / before * 100:.1f}%"
    assert result["saving"] == ", Saving $0.0 in GPT-4."
    receipt = result["compression"]
    assert [(s.doc, [HARBOUR, MUSEUM][s.doc][s.start : s.end]) for s in receipt.kept] == [(1, FREE)]


def test_a_compressor_can_be_called_with_one_text(lingua: PromptCompressor) -> None:
    by_rate = lingua(f"{FREE} It opened in 1904.", question=QUESTION, rate=0.6, concate_question=False)
    assert by_rate["compressed_prompt"] == FREE
    assert by_rate["compression"].tokens_after <= 0.6 * by_rate["compression"].tokens_before


def test_the_context_keeps_its_token_limit(lingua: PromptCompressor) -> None:
    for target in (1, 8, 20.0):
        result = lingua.compress_prompt([HARBOUR, MUSEUM], question=QUESTION, rate=0.9, target_token=target)
        assert result["compression"].tokens_after <= target, "target_token takes precedence over rate"


def test_without_a_question_the_instruction_is_the_query(lingua: PromptCompressor) -> None:
    result = lingua.compress_prompt([HARBOUR, MUSEUM], instruction=QUESTION, target_token=8)
    assert result["compressed_prompt"] == f"{QUESTION}\n\n{FREE}"


def test_common_options_of_longllmlingua_work(lingua: PromptCompressor) -> None:
    result = lingua.compress_prompt(
        [HARBOUR, MUSEUM],
        question=QUESTION,
        rate=0.99,
        condition_in_question="after_condition",
        reorder_context="sort",
        concate_question=False,
    )
    assert result["compressed_prompt"].startswith("The museum")
    one = lingua.compress_prompt([HARBOUR, MUSEUM], question=QUESTION, rate=1.0, target_context=1)
    assert one["compressed_prompt_list"] == [MUSEUM]


def test_an_empty_result_is_reported_as_in_llmlingua() -> None:
    prompt_compressor = PromptCompressor(
        compressor=Compressor(FakeScorer(), token_counter=lambda text: 5 * len(text))
    )
    result = prompt_compressor.compress_prompt(MUSEUM, question=WORDS, target_token=4, concate_question=False)
    assert (result["compressed_prompt"], result["compressed_prompt_list"]) == ("", [])
    assert (result["compressed_tokens"], result["ratio"], result["rate"]) == (0, "1.0x", "100.0%")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep_split": True, "context_segs": ["a"]}, "keep_split, context_segs: "),
        ({"force_tokens": ["\n", "?"]}, "force_tokens: this has no meaning in tersely"),
        ({"force_reserve_digit": True}, "force_reserve_digit"),
        ({"use_token_level_filter": False}, "use_token_level_filter"),
        ({"concatenate_question": True}, "has no argument concatenate_question"),
        ({"condition_in_question": "always"}, "condition_in_question is 'always'"),
        ({"reorder_context": "two_stage"}, "'original' or 'sort'"),
        ({"target_token": -2}, "target_token is -2"),
        ({"rate": 1.5}, "rate is 1.5"),
        ({"question": None}, "question is a NoneType"),
        ({"context": [{"text": "a"}]}, "not a list of texts"),
        ({"context": (t for t in ("a", "b"))}, "not a list of texts"),
        ({"force_tokens": np.array(["a"])}, "force_tokens"),
    ],
)
def test_arguments_without_a_meaning_are_refused(
    lingua: PromptCompressor, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message.replace("(", r"\(")):
        lingua.compress_prompt(**{"context": [MUSEUM], "question": QUESTION, **options})


def test_default_values_of_llmlingua_are_accepted(lingua: PromptCompressor) -> None:
    plain = lingua.compress_prompt([MUSEUM], question=QUESTION, rate=0.4)
    same = lingua.compress_prompt(
        [MUSEUM], question=QUESTION, rate=0.4, force_tokens=(), keep_split=False, high_priority_bonus=100
    )
    assert same["compressed_prompt"] == plain["compressed_prompt"]


@pytest.mark.parametrize("options", [{"use_llmlingua2": True}, {"device_map": "cuda"}, {"nonsense": 1}])
def test_models_of_llmlingua_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        PromptCompressor(**options)
    with pytest.raises(InvalidInputError, match="one of them"):
        PromptCompressor("folder", compressor=Compressor(FakeScorer()))


# OpenProvence


def test_the_bundled_model_prunes() -> None:
    bundled = OpenProvenceModel.from_pretrained(trust_remote_code=True)
    result = bundled.process("When was the harbour dug?", [HARBOUR, MUSEUM], threshold=0.1)
    assert result["pruned_context"] == ["The harbour was dug in 1871.", ""]
    assert result["reranking_score"][0] > 0.9


def test_one_question_and_one_text(pruner: OpenProvenceModel) -> None:
    result = pruner.process(WORDS, MUSEUM)
    assert result["pruned_context"] == FREE
    assert 0 < result["reranking_score"] <= 1
    assert result["compression_rate"] == pytest.approx(100 * (len(MUSEUM) - len(FREE)) / len(MUSEUM))
    assert result["title"] is None
    assert result["timing"]["total_seconds"] > 0
    assert set(result) == {"pruned_context", "reranking_score", "compression_rate", "title", "timing"}


def test_one_question_and_several_texts(pruner: OpenProvenceModel) -> None:
    result = pruner.process(
        WORDS, [HARBOUR, MUSEUM, ""], return_sentence_metrics=True, return_sentence_texts=True
    )
    assert result["pruned_context"] == ["", FREE, ""]
    assert result["compression_rate"][0] == 100
    assert result["reranking_score"][0] == result["reranking_score"][2] == 0
    assert result["kept_sentences"] == [[], [FREE], []]
    assert result["removed_sentences"][1] == ["The museum is in Hill Street.", "It opened in 1904."]
    assert [len(p) for p in result["sentence_probabilities"]] == [2, 3, 0]
    assert max(result["sentence_probabilities"][1]) == result["sentence_probabilities"][1][1]


def test_empty_results_can_keep_their_score(pruner: OpenProvenceModel) -> None:
    result = pruner.process(WORDS, [HARBOUR], zero_score_when_empty=False)
    assert result["pruned_context"] == [""]
    assert 0 < result["reranking_score"][0] < 0.5


def test_each_of_several_questions_has_its_own_texts(pruner: OpenProvenceModel) -> None:
    result = pruner.process([WORDS, "harbour dug"], [[HARBOUR, MUSEUM], [HARBOUR]])
    assert result["pruned_context"] == [["", FREE], ["The harbour was dug in 1871."]]
    assert [len(scores) for scores in result["reranking_score"]] == [2, 1]


def test_reorder_returns_the_best_texts_first(pruner: OpenProvenceModel) -> None:
    result = pruner.process(WORDS, [HARBOUR, MUSEUM], reorder=True, top_k=1)
    assert result["pruned_context"] == [FREE]
    assert len(result["reranking_score"]) == 1
    assert pruner.process(WORDS, [HARBOUR, MUSEUM], top_k=1)["pruned_context"] == ["", FREE], (
        "top_k counts only with reorder"
    )


def test_the_threshold_decides_what_stays(pruner: OpenProvenceModel) -> None:
    everything = pruner.process(WORDS, MUSEUM, threshold=0.0)
    assert everything["pruned_context"] == MUSEUM
    assert everything["compression_rate"] == 0
    assert pruner.process(WORDS, MUSEUM, threshold=1.0)["pruned_context"] == ""


def test_the_model_reads_titles_but_the_result_has_none() -> None:
    seen: list[str | None] = []

    class RecordingScorer(FakeScorer):
        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            seen.extend(document.title for document in documents)
            return super().score(query, documents)

    pruner = OpenProvenceModel(Compressor(RecordingScorer()))
    titled = pruner.process(WORDS, MUSEUM, title="Museum")
    assert (titled["pruned_context"], titled["title"]) == (FREE, "Museum")
    first = pruner.process(WORDS, f"\nThe museum\n{MUSEUM}", first_line_as_title=True)
    assert (first["pruned_context"], first["title"]) == (FREE, "The museum")
    several = pruner.process(WORDS, [HARBOUR, MUSEUM, HARBOUR], title=["Harbour", "Museum"])
    assert several["title"] == ["Harbour", "Museum", None]
    nested = pruner.process([WORDS, WORDS], [[HARBOUR], [MUSEUM]], title=["One", ["Two"]])
    assert nested["title"] == [["One"], ["Two"]]
    assert seen == ["Museum", "The museum", "Harbour", "Museum", None, "One", "Two"]


def test_the_first_sentence_stays_if_others_do(pruner: OpenProvenceModel) -> None:
    result = pruner.process(WORDS, [MUSEUM, HARBOUR], always_select_title=True)
    assert result["pruned_context"] == [f"The museum is in Hill Street. {FREE}", ""]
    untitled = pruner.process(WORDS, MUSEUM, title=None, always_select_title=True)
    assert untitled["pruned_context"] == FREE, "there is no title to keep"


def test_equal_texts_have_equal_results(pruner: OpenProvenceModel) -> None:
    result = pruner.process(WORDS, [MUSEUM, MUSEUM])
    assert result["pruned_context"] == [FREE, FREE]
    assert result["reranking_score"][0] == result["reranking_score"][1] > 0


def test_a_failing_model_prunes_nothing() -> None:
    broken = OpenProvenceModel(Compressor(BrokenScorer(RuntimeError("no memory"))))
    result = broken.process(WORDS, [MUSEUM, HARBOUR])
    assert result["pruned_context"] == [MUSEUM, HARBOUR]
    assert result["reranking_score"] == [None, None]
    assert result["compression_rate"] == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": ["a", "b"], "context": ["c", ["d"]]}, "not a list of texts"),
        ({"question": ["a", "b"], "context": ["c", "d", "e"]}, "2 questions and 3 lists"),
        ({"question": ["a", "b"], "context": "c"}, "2 questions and 1 lists"),
        ({"question": ["a", "b"], "context": [["c"]]}, "2 questions and 1 lists"),
        ({"question": "a", "context": [["One.", "Two."]]}, "finds the sentences itself"),
        ({"question": " ", "context": "c"}, "query is empty"),
        ({"question": "a", "context": "c", "sentence_splitter": str.split}, "sentence_splitter"),
        ({"question": "a", "context": "c", "strip_sentences": True}, "strip_sentences"),
        ({"question": "a", "context": "c", "nonsense": 8}, "no argument nonsense"),
        ({"question": "a", "context": "c", "title": "T", "first_line_as_title": True}, "Pass one"),
        ({"question": ["a", "b"], "context": [["c"], ["d"]], "title": ["T"]}, "1 titles"),
        ({"question": "a", "context": "c", "title": [3]}, "A title is not text"),
        ({"question": "a", "context": "c", "threshold": "low"}, "threshold"),
        ({"question": "a", "context": "c", "threshold": float("nan")}, "threshold"),
        ({"question": "a", "context": "c", "threshold": 5}, "threshold"),
        ({"question": [], "context": []}, "There is no question"),
        ({"question": None, "context": "c"}, "question is not a list"),
        ({"question": "a", "context": None}, "not a list of texts"),
        ({"question": ["a", "b"], "context": [["c"], None]}, "not a list of texts"),
        ({"question": ["a", "b"], "context": 3}, "The context is not a list"),
        ({"question": "a", "context": "c", "title": 3}, "The title is a int"),
        ({"question": "a", "context": ["c"], "reorder": True, "top_k": "x"}, "top_k"),
    ],
)
def test_arguments_that_do_not_match_are_refused(
    pruner: OpenProvenceModel, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        pruner.process(**arguments)


def test_display_options_are_accepted(pruner: OpenProvenceModel, capsys: Any) -> None:
    pruner.process(WORDS, MUSEUM, show_progress=True, enable_warnings=False, debug_messages=False)
    assert capsys.readouterr() == ("", "")
