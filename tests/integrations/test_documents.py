"""Behaviour that the document adapters of all frameworks share."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tersely import CompressionOptions, Compressor, InvalidInputError
from tests.integrations.frameworks import FRAMEWORKS, Framework, Passage
from tests.integrations.samples import (
    ANSWER,
    EXAMPLES,
    HARBOUR,
    MUSEUM,
    OPTION_NAMES,
    QUESTION,
    RecordingCompressor,
    all_options,
    check_spans,
    make_failing_compressor,
    random_options,
    random_text,
)
from tests.sdk.fakes import FakeScorer

PASSAGES = [
    Passage("h", HARBOUR, {"title": "Harbour", "page": 3}),
    Passage("m", MUSEUM, {"title": "Museum", "page": 7}),
]


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> Framework:
    return FRAMEWORKS[request.param]()


@pytest.fixture
def documents(framework: Framework) -> list[Any]:
    return [framework.wrap(passage) for passage in PASSAGES]


def test_the_answer_comes_back_with_its_metadata(
    framework: Framework, documents: list[Any], bundled: Compressor
) -> None:
    adapter = framework.make(bundled, budget=12)
    for run in (framework.run, framework.run_async):
        (kept,) = map(framework.read, run(adapter, documents, QUESTION))
        assert (kept.id, kept.text, kept.metadata["page"]) == ("m", ANSWER, 7)
    assert [framework.read(document) for document in documents] == PASSAGES, "the originals stay unchanged"


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_every_option_reaches_the_compressor(framework: Framework, documents: list[Any], name: str) -> None:
    compressor = RecordingCompressor()
    adapter = framework.make(compressor, **{name: EXAMPLES[name]})
    framework.run(adapter, documents, QUESTION)
    framework.run_async(adapter, documents, QUESTION)
    assert EXAMPLES[name] != getattr(CompressionOptions(), name)
    assert compressor.received == 2 * [all_options(**{name: EXAMPLES[name]})]


def test_every_character_leads_back_to_its_source(framework: Framework) -> None:
    rng = random.Random(11)
    compressor = Compressor(FakeScorer())
    for _ in range(150):
        originals = [
            Passage(f"d{n}", random_text(rng), {"title": rng.choice([None, "Towers", 7]), "number": n})
            for n in range(rng.randint(0, 4))
        ]
        adapter = framework.make(compressor, **random_options(rng))
        given = [framework.wrap(original) for original in originals]
        for document in framework.run(adapter, given, "tower lamp"):
            kept = framework.read(document)
            original = originals[kept.metadata["number"]]
            note = kept.metadata["tersely"]
            assert (kept.id, kept.metadata) == (original.id, {**original.metadata, "tersely": note})
            check_spans(kept.text, original.text, note["spans"])


def test_reranked_documents_are_sorted(
    framework: Framework, documents: list[Any], bundled: Compressor
) -> None:
    adapter = framework.make(bundled, rate=0.9, order="rerank")
    kept = [framework.read(document) for document in framework.run(adapter, documents, QUESTION)]
    assert [passage.id for passage in kept] == ["m", "h"]
    assert kept[0].metadata["tersely"]["relevance"] > kept[1].metadata["tersely"]["relevance"]


def test_an_abstention_gives_no_document(framework: Framework, bundled: Compressor) -> None:
    adapter = framework.make(bundled, abstain=0.9)
    museum = [framework.wrap(PASSAGES[1])]
    assert not framework.run(adapter, museum, "Who painted the ceiling of the chapel?")


def test_a_failing_model_gives_the_documents_back(
    framework: Framework, documents: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert framework.run(framework.make(make_failing_compressor()), documents, QUESTION) == documents
    assert "no memory" in caplog.text


def test_without_a_query_a_limit_is_needed(
    framework: Framework, documents: list[Any], bundled: Compressor
) -> None:
    kept = framework.run(framework.make(bundled, budget=12), documents, None)
    assert 0 < sum(bundled.count_tokens(framework.read(document).text) for document in kept) <= 12
    with pytest.raises(InvalidInputError, match="Pass budget, rate or level"):
        framework.run(framework.make(bundled), documents, None)


def test_one_id_for_two_texts_is_refused(framework: Framework) -> None:
    adapter = framework.make(Compressor(FakeScorer()), rate=0.5)
    one, other = (framework.wrap(Passage("a", text, {})) for text in ("One text.", "Another text."))
    with pytest.raises(InvalidInputError, match="id 'a' and different texts"):
        framework.run(adapter, [one, other], "Which text?")
    assert framework.run(adapter, [one, one], "Which text?")


def test_a_generator_is_read_once(framework: Framework, documents: list[Any]) -> None:
    (kept,) = framework.run(framework.make(budget=8), iter(documents), QUESTION)
    assert framework.read(kept).text == ANSWER


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, r"budget is 0\. Pass a whole number of tokens, 1 or more"),
        ({"budget": 5, "rate": 0.5}, "Both budget and rate are given"),
        ({"title_key": 3}, "title_key"),
    ],
    ids=str,
)
def test_bad_options_are_refused(framework: Framework, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        framework.make(**options)


@pytest.mark.parametrize("query", [5, "", " ", b"x", ["x"]], ids=repr)
def test_bad_queries_are_refused(framework: Framework, documents: list[Any], query: Any) -> None:
    with pytest.raises((InvalidInputError, TypeError), match="query"):
        framework.run(framework.make(Compressor(FakeScorer())), documents, query)


@pytest.mark.parametrize("given", [None, 5, "text", b"text", ["text"], [None], {"text": "x"}], ids=repr)
def test_other_things_than_documents_are_refused(framework: Framework, given: Any) -> None:
    with pytest.raises(InvalidInputError, match="Pass a list of"):
        framework.run(framework.make(Compressor(FakeScorer())), given, QUESTION)
