"""Other compressors' call shapes."""

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


def test_a_prompt_is_instruction_context_question(lingua: PromptCompressor) -> None:
    found = lingua.compress_prompt(
        [HARBOUR, MUSEUM], instruction="Answer briefly.", question=QUESTION, target_token=8
    )
    assert found["compressed_prompt"] == f"Answer briefly.\n\n{FREE}\n\n{QUESTION}"
    assert found["compressed_prompt_list"] == [FREE]
    count = Compressor(FakeScorer()).count_tokens
    before = count(f"Answer briefly.\n\n{HARBOUR}\n\n{MUSEUM}\n\n{QUESTION}")
    after = count(found["compressed_prompt"])
    assert (found["origin_tokens"], found["compressed_tokens"]) == (before, after)
    assert found["ratio"] == f"{before / after:.1f}x"
    assert found["rate"] == f"{after / before * 100:.1f}%"
    assert found["saving"] == ", Saving $0.0 in GPT-4."
    receipt = found["compression"]
    assert [(s.doc, [HARBOUR, MUSEUM][s.doc][s.start : s.end]) for s in receipt.kept] == [(1, FREE)]


def test_a_compressor_can_be_called_and_takes_one_text(lingua: PromptCompressor) -> None:
    by_rate = lingua(MUSEUM, question=QUESTION, rate=0.4, concate_question=False)
    assert by_rate["compressed_prompt"] == FREE
    assert by_rate["compression"].tokens_after <= 0.4 * by_rate["compression"].tokens_before


def test_the_size_asked_for_holds_for_the_context(lingua: PromptCompressor) -> None:
    for target in (1, 8, 20.0):
        found = lingua.compress_prompt([HARBOUR, MUSEUM], question=QUESTION, rate=0.9, target_token=target)
        assert found["compression"].tokens_after <= target, "target_token wins over rate"


def test_without_a_question_the_instruction_is_what_counts(lingua: PromptCompressor) -> None:
    found = lingua.compress_prompt([HARBOUR, MUSEUM], instruction=QUESTION, target_token=8)
    assert found["compressed_prompt"] == f"{QUESTION}\n\n{FREE}"


def test_the_common_options_of_longllmlingua_that_mean_something(lingua: PromptCompressor) -> None:
    found = lingua.compress_prompt(
        [HARBOUR, MUSEUM],
        question=QUESTION,
        rate=0.99,
        condition_in_question="after_condition",
        reorder_context="sort",
        concate_question=False,
    )
    assert found["compressed_prompt"].startswith("The museum")
    one = lingua.compress_prompt([HARBOUR, MUSEUM], question=QUESTION, rate=1.0, target_context=1)
    assert one["compressed_prompt_list"] == [MUSEUM]


def test_nothing_left_is_reported_as_llmlingua_does() -> None:
    dear = PromptCompressor(compressor=Compressor(FakeScorer(), token_counter=lambda text: 5 * len(text)))
    found = dear.compress_prompt(MUSEUM, question=WORDS, target_token=4, concate_question=False)
    assert (found["compressed_prompt"], found["compressed_prompt_list"]) == ("", [])
    assert (found["compressed_tokens"], found["ratio"], found["rate"]) == (0, "1.0x", "100.0%")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rank_method": "longllmlingua", "condition_compare": True}, "rank_method, condition_compare: "),
        ({"force_tokens": ["\n", "?"]}, "force_tokens: this has no meaning in tersely"),
        ({"force_reserve_digit": True}, "force_reserve_digit"),
        ({"use_token_level_filter": False}, "use_token_level_filter"),
        ({"concatenate_question": True}, "has no argument concatenate_question"),
        ({"condition_in_question": "always"}, "condition_in_question is 'always'"),
        ({"reorder_context": "two_stage"}, "'original' or 'sort'"),
        ({"target_token": -2}, "target_token is -2"),
        ({"rate": 1.5}, "rate is 1.5"),
        ({"question": ""}, "There is no question"),
        ({"question": None}, "question is a NoneType"),
        ({"context": [{"text": "a"}]}, "no list of texts"),
        ({"context": (t for t in ("a", "b"))}, "no list of texts"),
        ({"force_tokens": np.array(["a"])}, "force_tokens"),
    ],
)
def test_what_means_nothing_is_refused(lingua: PromptCompressor, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words.replace("(", r"\(")):
        lingua.compress_prompt(**{"context": [MUSEUM], "question": QUESTION, **options})


def test_values_that_llmlingua_has_anyway_are_taken(lingua: PromptCompressor) -> None:
    plain = lingua.compress_prompt([MUSEUM], question=QUESTION, rate=0.4)
    same = lingua.compress_prompt(
        [MUSEUM], question=QUESTION, rate=0.4, force_tokens=(), rank_method="llmlingua", iterative_size=200
    )
    assert same["compressed_prompt"] == plain["compressed_prompt"]


@pytest.mark.parametrize("options", [{"use_llmlingua2": True}, {"device_map": "cuda"}, {"nonsense": 1}])
def test_llmlinguas_models_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        PromptCompressor(**options)
    with pytest.raises(InvalidInputError, match="one of them"):
        PromptCompressor("folder", compressor=Compressor(FakeScorer()))


# OpenProvence


def test_the_bundled_model_prunes() -> None:
    bundled = OpenProvenceModel.from_pretrained(trust_remote_code=True)
    found = bundled.process("When was the harbour dug?", [HARBOUR, MUSEUM])
    assert found["pruned_context"] == ["The harbour was dug in 1871.", ""]
    assert found["reranking_score"][0] > 0.9


def test_one_question_and_one_text(pruner: OpenProvenceModel) -> None:
    found = pruner.process(WORDS, MUSEUM)
    assert found["pruned_context"] == FREE
    assert 0 < found["reranking_score"] <= 1
    assert found["compression_rate"] == pytest.approx(100 * (len(MUSEUM) - len(FREE)) / len(MUSEUM))
    assert found["title"] is None
    assert found["timing"]["total_seconds"] > 0
    assert set(found) == {"pruned_context", "reranking_score", "compression_rate", "title", "timing"}


def test_one_question_and_several_texts(pruner: OpenProvenceModel) -> None:
    found = pruner.process(
        WORDS, [HARBOUR, MUSEUM, ""], return_sentence_metrics=True, return_sentence_texts=True
    )
    assert found["pruned_context"] == ["", FREE, ""]
    assert found["compression_rate"][0] == 100
    assert found["reranking_score"][0] == found["reranking_score"][2] == 0
    assert found["kept_sentences"] == [[], [FREE], []]
    assert found["removed_sentences"][1] == ["The museum is in Hill Street.", "It opened in 1904."]
    assert [len(p) for p in found["sentence_probabilities"]] == [2, 3, 0]
    assert max(found["sentence_probabilities"][1]) == found["sentence_probabilities"][1][1]


def test_texts_of_which_nothing_stays_may_keep_their_score(pruner: OpenProvenceModel) -> None:
    found = pruner.process(WORDS, [HARBOUR], zero_score_when_empty=False)
    assert found["pruned_context"] == [""]
    assert 0 < found["reranking_score"][0] < 0.5


def test_several_questions_have_texts_of_their_own(pruner: OpenProvenceModel) -> None:
    found = pruner.process([WORDS, "harbour dug"], [[HARBOUR, MUSEUM], [HARBOUR]])
    assert found["pruned_context"] == [["", FREE], ["The harbour was dug in 1871."]]
    assert [len(scores) for scores in found["reranking_score"]] == [2, 1]


def test_the_best_come_first_where_asked(pruner: OpenProvenceModel) -> None:
    found = pruner.process(WORDS, [HARBOUR, MUSEUM], reorder=True, top_k=1)
    assert found["pruned_context"] == [FREE]
    assert len(found["reranking_score"]) == 1
    assert pruner.process(WORDS, [HARBOUR, MUSEUM], top_k=1)["pruned_context"] == ["", FREE], "as theirs"


def test_a_threshold_decides_what_stays(pruner: OpenProvenceModel) -> None:
    everything = pruner.process(WORDS, MUSEUM, threshold=0.0)
    assert everything["pruned_context"] == MUSEUM
    assert everything["compression_rate"] == 0
    assert pruner.process(WORDS, MUSEUM, threshold=1.0)["pruned_context"] == ""


def test_titles_are_read_and_not_given_back() -> None:
    seen: list[str | None] = []

    class Watched(FakeScorer):
        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            seen.extend(document.title for document in documents)
            return super().score(query, documents)

    pruner = OpenProvenceModel(Compressor(Watched()))
    titled = pruner.process(WORDS, MUSEUM, title="Museum")
    assert (titled["pruned_context"], titled["title"]) == (FREE, "Museum")
    first = pruner.process(WORDS, f"\nThe museum\n{MUSEUM}", first_line_as_title=True)
    assert (first["pruned_context"], first["title"]) == (FREE, "The museum")
    several = pruner.process(WORDS, [HARBOUR, MUSEUM, HARBOUR], title=["Harbour", "Museum"])
    assert several["title"] == ["Harbour", "Museum", None]
    nested = pruner.process([WORDS, WORDS], [[HARBOUR], [MUSEUM]], title=["One", ["Two"]])
    assert nested["title"] == [["One"], ["Two"]]
    assert seen == ["Museum", "The museum", "Harbour", "Museum", None, "One", "Two"]


def test_the_first_sentence_stays_beside_others(pruner: OpenProvenceModel) -> None:
    found = pruner.process(WORDS, [MUSEUM, HARBOUR], always_select_title=True)
    assert found["pruned_context"] == [f"The museum is in Hill Street. {FREE}", ""]
    untitled = pruner.process(WORDS, MUSEUM, title=None, always_select_title=True)
    assert untitled["pruned_context"] == FREE, "there is no title to keep"


def test_equal_texts_are_treated_alike(pruner: OpenProvenceModel) -> None:
    found = pruner.process(WORDS, [MUSEUM, MUSEUM])
    assert found["pruned_context"] == [FREE, FREE]
    assert found["reranking_score"][0] == found["reranking_score"][1] > 0


def test_a_failing_model_prunes_nothing() -> None:
    broken = OpenProvenceModel(Compressor(BrokenScorer(RuntimeError("no memory"))))
    found = broken.process(WORDS, [MUSEUM, HARBOUR])
    assert found["pruned_context"] == [MUSEUM, HARBOUR]
    assert found["reranking_score"] == [None, None]
    assert found["compression_rate"] == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"question": ["a", "b"], "context": ["c", "d"]}, "no list of texts"),
        ({"question": ["a", "b"], "context": "c"}, "2 questions and 1 lists"),
        ({"question": ["a", "b"], "context": [["c"]]}, "2 questions and 1 lists"),
        ({"question": "a", "context": [["One.", "Two."]]}, "finds the sentences itself"),
        ({"question": " ", "context": "c"}, "query is empty"),
        ({"question": "a", "context": "c", "sentence_splitter": str.split}, "sentence_splitter"),
        ({"question": "a", "context": "c", "batch_size": 8}, "batch_size"),
        ({"question": "a", "context": "c", "nonsense": 8}, "no argument nonsense"),
        ({"question": "a", "context": "c", "title": "T", "first_line_as_title": True}, "Pass one"),
        ({"question": ["a", "b"], "context": [["c"], ["d"]], "title": ["T"]}, "1 titles"),
        ({"question": "a", "context": "c", "title": [3]}, "A title is no text"),
        ({"question": "a", "context": "c", "threshold": "low"}, "threshold"),
        ({"question": "a", "context": "c", "threshold": float("nan")}, "threshold"),
        ({"question": "a", "context": "c", "threshold": 5}, "threshold"),
        ({"question": [], "context": []}, "There is no question"),
        ({"question": None, "context": "c"}, "question is no list"),
        ({"question": "a", "context": None}, "no list of texts"),
        ({"question": ["a", "b"], "context": [["c"], None]}, "no list of texts"),
        ({"question": ["a", "b"], "context": 3}, "The context is no list"),
        ({"question": "a", "context": "c", "title": 3}, "The title is a int"),
        ({"question": "a", "context": ["c"], "reorder": True, "top_k": "x"}, "top_k"),
    ],
)
def test_what_does_not_fit_is_refused(
    pruner: OpenProvenceModel, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        pruner.process(**arguments)


def test_switches_that_show_progress_are_taken(pruner: OpenProvenceModel, capsys: Any) -> None:
    pruner.process(WORDS, MUSEUM, show_progress=True, enable_warnings=False, debug_messages=False)
    assert capsys.readouterr() == ("", "")
