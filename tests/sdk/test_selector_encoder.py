"""Running the encoder: threads, batches, and sentences that take several windows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tersely.runtime.artifacts import load_artifact
from tersely.runtime.workers import usable_cores
from tersely.score import ScoredInput
from tersely.score.encoder import WindowLogits, merge_logits
from tersely.score.layout import Window
from tersely.score.selector import Selector
from tersely.split.sentences import split_units
from tests.sdk.selector_cases import DOCUMENTS, make_long_input, recording_selector


def test_threads_do_not_change_the_scores() -> None:
    question, documents = "Who designed the lighthouse?", [*DOCUMENTS, *make_long_input(20, 3)]
    single, parallel = (Selector.load(load_artifact(), threads) for threads in (1, 2))
    assert parallel.encoder.workers.count == min(2, usable_cores())
    single_scores = [list(own.scores) for own in single.score(question, documents)]
    assert single_scores == [list(own.scores) for own in parallel.score(question, documents)]


def test_a_sentence_in_several_windows_gets_its_highest_logit() -> None:
    selector, session = recording_selector()
    text = "barley " * 400 + "and the lighthouse was designed by Ida Penrose " + "barley " * 300
    units = [replace(split_units("One.")[0], start=0, end=len(text))]
    first_pass = selector.first_pass("Who designed the lighthouse?", [ScoredInput(None, text, units)])
    keep = np.concatenate([outputs[0][:, 0] for outputs in session.outputs])
    assert len(keep) > 2
    assert first_pass.logits.keep.tolist() == [pytest.approx(float(keep.max()))]
    assert keep.min() < keep.max()


def test_merged_logits_are_the_highest_or_nan_if_unread() -> None:
    first = Window([], [], sentences=[(0, 0), (0, 1)], documents=[0])
    second = Window([], [], sentences=[(0, 1), (2, 0)], documents=[0, 2])
    logits = merge_logits(
        [
            WindowLogits(first, np.float32([1.0, 2.0]), np.float32([0.5])),
            WindowLogits(second, np.float32([3.0, -1.0]), np.float32([0.25, 4.0])),
        ],
        offsets=np.array([0, 2, 3, 4]),
        documents=3,
    )
    np.testing.assert_array_equal(logits.keep, [1.0, 3.0, np.nan, -1.0])
    np.testing.assert_array_equal(logits.relevance, [0.5, np.nan, 4.0])
