"""Windows: every token is read once, and every marker leads back to its sentence or document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from tersely.score.layout import EncodedDocument, Ids, Layout, LayoutConfig, Window, batches, collate

PAD, CLS, SEP, SEN, DOC = range(5)


def make_layout(
    max_length: int,
    *,
    docs_per_window: int = 1,
    query_length: int = 4,
    title_length: int = 3,
    evidence_length: int = 4,
) -> Layout:
    words = {word: i for i, word in enumerate(("[PAD]", "[CLS]", "[SEP]", "[SEN]", "[DOC]", "[UNK]", "tide"))}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    config = LayoutConfig(
        CLS, SEP, PAD, SEN, DOC, max_length, docs_per_window, query_length, title_length, evidence_length
    )
    return Layout(tokenizer, config)


def sentence_parts(window: Window) -> list[tuple[int, int, Ids]]:
    """Return (document, sentence, ids) for each marker, read from the window alone."""
    parts: list[tuple[int, int, Ids]] = []
    for number, (document, sentence) in enumerate(window.sentences, start=1):
        positions = [i for i, owner in enumerate(window.owners) if owner == number]
        start = window.sentence_positions[number - 1] + 1
        assert positions == list(range(start, start + len(positions)))
        parts.append((document, sentence, [window.input_ids[i] for i in positions]))
    return parts


def check_prefix(window: Window, query: Ids, evidence: Ids | None, config: LayoutConfig) -> None:
    """Assert that the query comes first, then the evidence, and that only the query counts as the query."""
    query = query[: config.query_length]
    prefix = [CLS, *query, SEP]
    if evidence:
        prefix += [*evidence[: config.evidence_length], SEP]
    assert window.input_ids[: len(prefix)] == prefix
    assert window.input_ids[-1] == SEP
    assert [i for i, owner in enumerate(window.owners) if owner == 0] == list(range(1, 1 + len(query)))


def check_documents(window: Window, documents: list[EncodedDocument], config: LayoutConfig) -> None:
    """Assert that every document of the window opens with its marker and its title, which belong to no
    sentence."""
    assert 1 <= len(window.documents) <= config.docs_per_window
    assert len(window.documents) == len(window.doc_positions)
    for document, position in zip(window.documents, window.doc_positions, strict=True):
        head = [DOC, *documents[document].title[: config.title_length]]
        assert window.input_ids[position : position + len(head)] == head
        assert set(window.owners[position : position + len(head)]) == {-1}


def check_sentences(window: Window) -> None:
    """Assert that every sentence comes after its own marker, under its document."""
    assert len(window.sentences) == len(window.sentence_positions) >= 1
    for (document, _), position in zip(window.sentences, window.sentence_positions, strict=True):
        assert window.input_ids[position] == SEN
        assert window.owners[position] == -1
        before = [d for d, p in zip(window.documents, window.doc_positions, strict=True) if p < position]
        assert before[-1] == document


def test_a_window_of_one_document_has_these_ids_and_owners() -> None:
    (window,) = make_layout(32).windows([7, 8], [EncodedDocument([9], [[10, 11], [12]])])
    assert window.input_ids == [CLS, 7, 8, SEP, DOC, 9, SEN, 10, 11, SEN, 12, SEP]
    assert window.owners == [-1, 0, 0, -1, -1, -1, -1, 1, 1, -1, 2, -1]
    assert (window.sentence_positions, window.doc_positions) == ([6, 9], [4])
    assert (window.sentences, window.documents) == ([(0, 0), (0, 1)], [0])


def test_empty_evidence_is_no_evidence() -> None:
    documents = [EncodedDocument([9], [[10]])]
    assert make_layout(32).windows([7], documents, evidence=[]) == make_layout(32).windows([7], documents)


def test_a_sentence_longer_than_a_window_goes_on_in_the_next() -> None:
    # Prefix, head, marker and the last separator take 7 of the 12 places.
    windows = make_layout(12).windows([7], [EncodedDocument([9], [[5], list(range(10, 22)), [6]])])
    assert [sentence_parts(window) for window in windows] == [
        [(0, 0, [5])],
        [(0, 1, [10, 11, 12, 13, 14])],
        [(0, 1, [15, 16, 17, 18, 19])],
        [(0, 1, [20, 21]), (0, 2, [6])],
    ]


@pytest.mark.parametrize(
    ("docs_per_window", "expected"), [(1, [[0], [1], [2], [3], [4]]), (2, [[0, 1], [2, 3], [4]])]
)
def test_a_window_holds_as_many_documents_as_allowed(docs_per_window: int, expected: list[Ids]) -> None:
    documents = [EncodedDocument([9], [[10 + i]]) for i in range(5)]
    windows = make_layout(64, docs_per_window=docs_per_window).windows([7], documents)
    assert [window.documents for window in windows] == expected


def test_a_document_that_no_longer_fits_starts_a_new_window() -> None:
    documents = [EncodedDocument([9], [[10] * 8]), EncodedDocument([9, 9], [[11] * 3])]
    windows = make_layout(18, docs_per_window=4).windows([7], documents)
    assert [window.documents for window in windows] == [[0], [1]]


def test_a_configuration_without_room_for_a_sentence_is_refused() -> None:
    documents = [EncodedDocument([9, 9, 9], [[10, 11]])]
    # [CLS] 4 [SEP] [DOC] 3 [SEN] 1 [SEP] are 13 places.
    assert len(make_layout(13).windows([7] * 4, documents)) == 2
    with pytest.raises(ValueError, match="max_length"):
        make_layout(12).windows([7] * 4, documents)


IDS = st.lists(st.integers(0, 9), max_size=14)
DOCUMENTS = st.lists(st.builds(EncodedDocument, IDS, st.lists(IDS, max_size=5)), max_size=5)


@given(
    query=IDS,
    documents=DOCUMENTS,
    evidence=st.none() | IDS,
    limits=st.tuples(*[st.integers(0, 6)] * 3),
    spare=st.integers(0, 24),
    docs_per_window=st.integers(1, 4),
)
def test_every_token_of_every_sentence_is_read_once(
    query: Ids,
    documents: list[EncodedDocument],
    evidence: Ids | None,
    limits: tuple[int, int, int],
    spare: int,
    docs_per_window: int,
) -> None:
    # 7: three markers before the documents, [DOC], [SEN], one token and the last [SEP].
    layout = make_layout(
        7 + sum(limits) + spare,
        docs_per_window=docs_per_window,
        query_length=limits[0],
        title_length=limits[1],
        evidence_length=limits[2],
    )
    tokens_read: dict[tuple[int, int], Ids] = {}
    order: list[tuple[int, int]] = []
    for window in layout.windows(query, documents, evidence=evidence):
        assert len(window.input_ids) == len(window.owners) <= layout.config.max_length
        check_prefix(window, query, evidence, layout.config)
        check_documents(window, documents, layout.config)
        check_sentences(window)
        for document, sentence, ids in sentence_parts(window):
            tokens_read.setdefault((document, sentence), []).extend(ids)
            order.append((document, sentence))
    assert order == sorted(order)
    assert tokens_read == {
        (document, sentence): ids
        for document, encoded in enumerate(documents)
        for sentence, ids in enumerate(encoded.sentences)
    }


def test_tokenize_adds_no_special_tokens_and_takes_any_text() -> None:
    assert make_layout(32).tokenize(["tide tide", "", "\ud800 tide"]) == [[6, 6], [], [5, 6]]


def test_a_layout_turns_padding_and_truncation_off() -> None:
    tokenizer = make_layout(32).tokenizer
    tokenizer.enable_padding(length=8)
    tokenizer.enable_truncation(2)
    assert Layout(tokenizer, make_layout(32).config).tokenize(["tide tide tide", "tide"]) == [[6, 6, 6], [6]]


def test_a_configuration_survives_a_dictionary() -> None:
    config = make_layout(32, docs_per_window=3).config
    assert LayoutConfig.from_dict(config.to_dict()) == config


def test_a_batch_is_padded_and_masked() -> None:
    documents = [EncodedDocument([9], [[10, 11], [12]]), EncodedDocument([], [[13]])]
    long, short = make_layout(32).windows([7], documents)
    batch = collate([short, long], pad_id=99)
    length = len(long.input_ids)
    missing = length - len(short.input_ids)
    assert batch["input_ids"].tolist() == [[*short.input_ids, *[99] * missing], long.input_ids]
    assert batch["attention_mask"].tolist() == [[1] * (length - missing) + [0] * missing, [1] * length]
    assert batch["segments"].tolist() == [[*short.owners, *[-1] * missing], long.owners]
    assert batch["sentence_positions"].tolist() == [[*short.sentence_positions, 0], long.sentence_positions]
    assert batch["doc_positions"].tolist() == [short.doc_positions, long.doc_positions]
    assert {array.dtype for array in batch.values()} == {np.dtype(np.int64)}


@given(st.lists(st.integers(1, 60), max_size=40), st.integers(1, 200))
def test_batches_hold_every_window_once(lengths: list[int], limit: int) -> None:
    all_batches = list(batches(lengths, limit))
    order = [i for batch in all_batches for i in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths)
    for batch in all_batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= limit
