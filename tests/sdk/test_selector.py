"""The selector with the bundled model: what it finds, and how much it reads for that."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from tersely import Compressor, Document
from tersely.errors import ArtifactError
from tersely.runtime.artifacts import Artifact, load_artifact
from tersely.runtime.session import EncoderSession, Workers, usable_cores
from tersely.selector.encoder import BATCH_TOKENS, Encoder
from tersely.selector.features import (
    HOPS,
    QUERY_FEATURES,
    bridge_features,
    first_features,
    hop_sentences,
)
from tersely.selector.fusion import Perceptron
from tersely.selector.layout import Ids
from tersely.selector.selector import (
    HOP_WINDOWS,
    MAX_TOKENS,
    MORE_TOKENS,
    NEIGHBOUR,
    DocumentScores,
    ScoredInput,
    Selector,
)
from tersely.text.sentences import split_units


class Recorder:
    """A session that keeps the inputs and outputs of every run."""

    def __init__(self, session: EncoderSession) -> None:
        self.session = session
        self.inputs: list[dict[str, np.ndarray]] = []
        self.outputs: list[list[np.ndarray]] = []

    def run(self, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
        self.inputs.append(dict(inputs))
        self.outputs.append(self.session.run(inputs, outputs))
        return self.outputs[-1]

    def windows(self) -> list[Ids]:
        """Ids of every window read, without padding."""
        return [
            row[mask > 0].tolist()
            for inputs in self.inputs
            for row, mask in zip(inputs["input_ids"], inputs["attention_mask"], strict=True)
        ]


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    return load_artifact()


@pytest.fixture(scope="module")
def bundled(artifact: Artifact) -> Selector:
    return Selector.load(artifact)


def recorded(
    bundled: Selector, *, opening: float | None = None, max_tokens: int = MAX_TOKENS
) -> tuple[Selector, Recorder]:
    """A copy that records its runs, one after the other; `opening` is the logit of a gate that is the same
    for every question."""
    recorder = Recorder(bundled.encoder.session)
    fusion = bundled.fusion
    if opening is not None:
        width = len(QUERY_FEATURES)
        gate = Perceptron(
            np.zeros(width),
            np.ones(width),
            np.zeros((width, 0)),
            np.zeros(0),
            np.zeros(0),
            np.zeros(width),
            opening,
        )
        fusion = replace(fusion, gate=gate)
    selector = Selector(
        Encoder(cast("EncoderSession", recorder), Workers(1), bundled.layout.config.pad_id),
        bundled.layout,
        fusion,
        bundled.idf,
        bundled.threshold,
        max_tokens=max_tokens,
    )
    return selector, recorder


OPEN, SHUT = 30.0, -30.0


def document(title: str | None, text: str) -> ScoredInput:
    return ScoredInput(title, text, split_units(text))


def texts(source: ScoredInput) -> list[str]:
    return [source.text[u.start : u.end] for u in source.units]


def ranked(documents: Sequence[ScoredInput], scored: Sequence[DocumentScores]) -> list[str]:
    pairs = [
        (-score, text)
        for d, s in zip(documents, scored, strict=True)
        for score, text in zip(s.scores, texts(d), strict=True)
    ]
    return [text for _, text in sorted(pairs)]


DOCUMENTS = [
    document(
        "Brackmoor Lighthouse",
        "The lighthouse stands on a cliff. It was designed by the engineer Ida Penrose in 1871. "
        "Visitors may climb the stairs on Sundays.",
    ),
    document(
        "Tarnwick",
        "Tarnwick is a market town. Its main export is barley. The market is held every Tuesday.",
    ),
    document(
        "Ida Penrose",
        "Ida Penrose was an engineer. She was born in Lindisvale and studied in Tarnwick. "
        "She never learned to swim.",
    ),
    document(None, "Copper wire is drawn through a die. The die must be kept wet while the wire passes."),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "Who designed the Brackmoor Lighthouse?",
            "It was designed by the engineer Ida Penrose in 1871.",
        ),
        ("What is the main export of Tarnwick?", "Its main export is barley."),
        ("Where was Ida Penrose born?", "She was born in Lindisvale and studied in Tarnwick."),
        (
            "What must be kept wet while copper wire passes?",
            "The die must be kept wet while the wire passes.",
        ),
    ],
)
def test_an_obvious_answer_ranks_first(bundled: Selector, question: str, answer: str) -> None:
    scored = bundled.score(question, DOCUMENTS)
    assert ranked(DOCUMENTS, scored)[0] == answer
    best = max(range(len(DOCUMENTS)), key=lambda i: scored[i].relevance)
    assert answer in texts(DOCUMENTS[best])


@pytest.mark.parametrize("opening", [OPEN, SHUT, None])
def test_scores_are_probabilities_shaped_like_the_documents(bundled: Selector, opening: float | None) -> None:
    scored = recorded(bundled, opening=opening)[0].score("Who designed the lighthouse?", DOCUMENTS)
    assert [len(s.scores) for s in scored] == [len(d.units) for d in DOCUMENTS]
    for s in scored:
        assert 0 < min(s.scores) <= max(s.scores) == s.relevance < 1


@pytest.mark.parametrize("opening", [OPEN, SHUT])
def test_documents_without_units_get_nothing_and_take_nothing(bundled: Selector, opening: float) -> None:
    empty, other = ScoredInput("Empty", "", []), ScoredInput(None, " ", [])
    selector, recorder = recorded(bundled, opening=opening)
    plain = selector.score("Who designed the lighthouse?", DOCUMENTS[:2])
    runs = len(recorder.inputs)
    mixed = selector.score("Who designed the lighthouse?", [empty, DOCUMENTS[0], other, DOCUMENTS[1]])
    assert len(recorder.inputs) == 2 * runs
    assert [(s.relevance, s.scores) for s in (mixed[0], mixed[2])] == [(0.0, [])] * 2
    for before, after in zip(plain, (mixed[1], mixed[3]), strict=True):
        np.testing.assert_allclose(after.scores, before.scores, atol=1e-6)


def test_without_any_unit_the_encoder_is_not_asked(bundled: Selector) -> None:
    selector, recorder = recorded(bundled)
    scored = selector.score("Who?", [ScoredInput("Empty", "", []), ScoredInput(None, "", [])])
    assert [(s.relevance, s.scores) for s in scored] == [(0.0, [])] * 2
    assert selector.score("Who?", []) == []
    assert recorder.inputs == []


@pytest.mark.parametrize("opening", [OPEN, SHUT])
@pytest.mark.parametrize("order", [(3, 2, 1, 0), (1, 3, 0, 2)])
def test_the_order_of_documents_does_not_change_their_scores(
    bundled: Selector, order: tuple[int, ...], opening: float
) -> None:
    # As long as they share batches in the same way: int8 activations share their scale with the batch.
    selector = recorded(bundled, opening=opening)[0]
    question = "Who designed the Brackmoor Lighthouse?"
    before = selector.score(question, DOCUMENTS)
    after = selector.score(question, [DOCUMENTS[i] for i in order])
    for place, i in enumerate(order):
        np.testing.assert_allclose(after[place].scores, before[i].scores, atol=1e-6)


def test_threads_do_not_change_the_scores(bundled: Selector) -> None:
    question, documents = "Who designed the lighthouse?", [*DOCUMENTS, *long_input(20, 3)]
    alone, side_by_side = (Selector.load(load_artifact(), threads) for threads in (1, 2))
    assert side_by_side.encoder.workers.count == min(2, usable_cores())
    one, two = alone.score(question, documents), side_by_side.score(question, documents)
    assert [s.scores for s in one] == [s.scores for s in two]


def test_the_second_pass_is_run_only_when_the_gate_opens(bundled: Selector) -> None:
    question = "Where was the designer of the Brackmoor Lighthouse born?"
    shut, once = recorded(bundled, opening=SHUT)
    first = shut.score(question, DOCUMENTS)
    assert len(once.windows()) == len(DOCUMENTS)
    opened, twice = recorded(bundled, opening=OPEN)
    second = opened.score(question, DOCUMENTS)
    assert len(twice.windows()) == len(DOCUMENTS) + HOPS * (len(DOCUMENTS) - 1)
    assert twice.windows()[: len(DOCUMENTS)] == once.windows()
    assert any(not np.allclose(a.scores, b.scores) for a, b in zip(first, second, strict=True))


def test_a_shut_gate_leaves_the_first_stage(bundled: Selector) -> None:
    selector = recorded(bundled, opening=SHUT)[0]
    question = "Who designed the lighthouse?"
    reading = selector.first_pass(question, DOCUMENTS)
    logits = selector.fusion.first(first_features(reading.matches, reading.logits))
    scored = np.concatenate([s.scores for s in selector.score(question, DOCUMENTS)])
    np.testing.assert_allclose(np.log(scored / (1 - scored)), logits, atol=1e-6)


def test_the_second_pass_reads_the_other_documents_after_each_of_the_best_sentences(
    bundled: Selector,
) -> None:
    selector, recorder = recorded(bundled)
    question = "Where was the designer of the Brackmoor Lighthouse born?"
    reading = selector.first_pass(question, DOCUMENTS)
    matches = reading.matches
    features = first_features(matches, reading.logits)
    first = selector.fusion.first(features)
    recorder.inputs.clear()
    hops = selector.second_pass(reading, np.hstack([features, bridge_features(matches, first)]), first)
    config = selector.layout.config
    assert len(recorder.windows()) == HOPS * (len(DOCUMENTS) - 1)
    for sentence, second in zip(hop_sentences(matches, first), hops, strict=True):
        home = int(matches.document[sentence])
        found = [*matches.title_ids[home], *matches.sentence_ids[sentence]]
        prefix = [config.cls_id, *matches.query_ids, config.sep_id, *found, config.sep_id]
        mine = [window for window in recorder.windows() if window[: len(prefix)] == prefix]
        assert len(mine) == len(DOCUMENTS) - 1
        assert np.isnan(second.keep).tolist() == (matches.document == home).tolist()
        assert np.isnan(second.relevance).tolist() == [d == home for d in range(len(DOCUMENTS))]


def test_a_second_pass_over_a_single_document_reads_nothing(bundled: Selector) -> None:
    selector, recorder = recorded(bundled, opening=OPEN)
    scored = selector.score("Who designed the lighthouse?", DOCUMENTS[:1])
    assert len(recorder.inputs) == 1
    assert np.isfinite(scored[0].scores).all()


FEW = 400
"""Tokens: five or six of the windows below."""

NEEDLE = "The harbour master of Orvelle hid 417 silver spoons under the pier."
FILLER = (
    "The {0} committee met again. Its report was long. Nobody in room {0} asked about it. "
    "The next meeting is in spring."
)


def long_input(count: int, needle: int) -> list[ScoredInput]:
    rows = [FILLER.format(number) for number in range(count)]
    rows[needle] = f"{rows[needle]} {NEEDLE}"
    return [document(f"Minutes {number}", row) for number, row in enumerate(rows)]


@pytest.mark.parametrize("needle", [0, 13, 23])
def test_the_prefilter_still_finds_an_exact_match(bundled: Selector, needle: int) -> None:
    selector, recorder = recorded(bundled, opening=SHUT, max_tokens=FEW)
    documents = long_input(24, needle)
    scored = selector.score("Where are the 417 silver spoons of the harbour master of Orvelle?", documents)
    lengths = [len(window) for window in recorder.windows()]
    assert FEW - max(lengths) < sum(lengths) <= FEW
    assert ranked(documents, scored)[0] == NEEDLE
    assert [len(s.scores) for s in scored] == [len(d.units) for d in documents]


def test_what_was_not_read_has_a_lower_logit_than_anything_read(bundled: Selector) -> None:
    selector = recorded(bundled, max_tokens=FEW)[0]
    reading = selector.first_pass("Where are the 417 silver spoons?", long_input(12, 7))
    keep, document = reading.logits.keep, reading.matches.document
    unread = set(document[keep == keep.min()].tolist())
    assert 0 < len(unread) < 12
    assert 7 not in unread
    read = np.array([d not in unread for d in document])
    assert keep[read].min() == pytest.approx(keep.min() + 1)
    assert reading.read.tolist() == read.tolist()


def test_a_receipt_says_what_was_not_read_and_promises_nothing_then(bundled: Selector) -> None:
    selector, recorder = recorded(bundled, opening=SHUT, max_tokens=FEW)
    selector.calibration = bundled.calibration
    given = [Document(d.text, d.title) for d in long_input(24, 7)]
    question = "Where are the 417 silver spoons of the harbour master of Orvelle?"
    found = Compressor(selector).compress(question, given, recall=0.9)
    assert NEEDLE in found.text
    assert len({s.doc for s in found.dropped if s.reason == "unread"}) == 24 - len(recorder.windows())
    assert found.recall_met is False
    read = Compressor(bundled).compress(question, given, recall=0.9)
    assert {s.reason for s in read.dropped} == {"threshold"}
    assert read.recall_met is True


def test_many_short_documents_are_all_read(bundled: Selector) -> None:
    """What is read is limited by its tokens, however many windows these are spread over."""
    documents = [document(None, f"Room {number} is empty.") for number in range(200)]
    documents[150] = document(None, "Marie Curie discovered polonium.")
    selector, recorder = recorded(bundled, opening=SHUT)
    scored = selector.score("Which chemical element was found by a Polish physicist?", documents)
    assert len(recorder.windows()) == 200
    assert all(s.read is not None and all(s.read) for s in scored)
    assert max(range(200), key=lambda i: scored[i].relevance) == 150


def test_of_a_long_input_more_is_read_where_the_question_needs_another_hop(bundled: Selector) -> None:
    documents = long_input(120, 30)
    link = "The 417 silver spoons of the harbour master were forged by Marla Quint."
    documents[5] = document(None, link)
    documents[33] = document(None, "Marla Quint learned to forge in Ashgrove.")
    question = "Where did the maker of the 417 silver spoons of the harbour master grow up?"
    shut, once = recorded(bundled, opening=SHUT, max_tokens=FEW)
    before = shut.first_pass(question, documents).logits.keep
    first = len(once.windows())
    shut.score(question, documents)
    assert len(once.windows()) == 2 * first
    opened, twice = recorded(bundled, opening=OPEN, max_tokens=FEW)
    reading = opened.first_pass(question, documents)
    more = opened.extend_first_pass(
        reading, opened.fusion.first(first_features(reading.matches, reading.logits))
    )
    added = [len(window) for window in twice.windows()[first:]]
    assert MORE_TOKENS - max(added) < sum(added) <= MORE_TOKENS
    assert len(more.unread) == 120 - first - len(added)
    place = int(more.offsets[33])
    assert before[place] == before.min()
    assert more.logits.keep[place] > more.logits.keep.min()
    twice.inputs.clear()
    opened.score(question, documents)
    assert len(twice.windows()) == first + len(added) + HOPS * HOP_WINDOWS


def test_under_a_limit_a_sentence_gains_from_those_beside_it(bundled: Selector) -> None:
    shut = recorded(bundled, opening=SHUT)[0].score("Who designed the lighthouse?", DOCUMENTS)
    for scored in shut:
        padded = [0.0, *scored.scores, 0.0]
        worth = [
            own + NEIGHBOUR * max(before, after) * (1 - own)
            for before, own, after in zip(padded, padded[1:], padded[2:], strict=False)
        ]
        assert scored.packing_scores is not None
        assert scored.packing_scores == pytest.approx(worth)
        assert scored.relevance == max(padded)
    opened = recorded(bundled, opening=OPEN)[0].score("Who designed the lighthouse?", DOCUMENTS)
    assert all(s.packing_scores == pytest.approx(s.scores) for s in opened)


def test_the_second_pass_and_its_batches_are_limited(bundled: Selector) -> None:
    selector, recorder = recorded(bundled, opening=OPEN)
    documents = long_input(24, 13)
    selector.score("Where are the 417 silver spoons of the harbour master of Orvelle?", documents)
    assert len(recorder.windows()) == 24 + HOPS * HOP_WINDOWS
    for inputs in recorder.inputs:
        assert inputs["input_ids"].size <= BATCH_TOKENS or len(inputs["input_ids"]) == 1


def test_a_sentence_in_pieces_counts_as_its_best_piece(bundled: Selector) -> None:
    selector, recorder = recorded(bundled)
    words = "barley " * 400 + "and the lighthouse was designed by Ida Penrose " + "barley " * 300
    units = [replace(split_units("One.")[0], start=0, end=len(words))]
    reading = selector.first_pass("Who designed the lighthouse?", [ScoredInput(None, words, units)])
    keep = np.concatenate([outputs[0][:, 0] for outputs in recorder.outputs])
    assert len(keep) > 2
    assert reading.logits.keep.tolist() == [pytest.approx(float(keep.max()))]
    assert keep.min() < keep.max()


def test_an_artifact_that_lacks_a_part_says_what_to_do(artifact: Artifact, tmp_path: Path) -> None:
    shutil.copy(artifact.tokenizer_path, tmp_path)
    broken = replace(artifact, path=tmp_path)
    with pytest.raises(ArtifactError, match=r"fusion\.json.*export or download it again"):
        Selector.load(broken)
    (tmp_path / "fusion.json").write_text('{"features": {"first": ["keep"]}}')
    with pytest.raises(ArtifactError, match="fitted for other features"):
        Selector.load(broken)


def test_a_gpu_gets_large_runs_one_after_the_other(
    bundled: Selector, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[EncoderSession] = []

    def on_gpu(path: Path, threads: int) -> EncoderSession:
        session = EncoderSession(path, threads)
        session.on_gpu = True
        opened.append(session)
        return session

    monkeypatch.setattr("tersely.selector.encoder.EncoderSession", on_gpu)
    encoder = Selector.load(load_artifact(), threads=2).encoder
    assert encoder.session is opened[-1]
    assert encoder.session.threads == min(2, usable_cores())
    assert encoder.workers.count == 1
    assert encoder.batch_tokens > 10 * BATCH_TOKENS
    assert bundled.encoder.batch_tokens == BATCH_TOKENS
