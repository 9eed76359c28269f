"""The cold start of language models: what they learn, and that they learn it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.sdk.agents import COMPRESSOR
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.engines.sft import IGNORED, collect_demonstrations, imitate, keep_good, make_example
from training.rl.environments.archive import make_archive
from training.rl.environments.search import SearchEnvironment
from training.rl.language.chat import Chat
from training.rl.trajectory import Segment, Trajectory, Turn

pytestmark = pytest.mark.filterwarnings("ignore")
"""transformers and torch warn about parts of themselves."""


def test_learns_only_what_the_policy_wrote() -> None:
    segment = Segment((5, 6, 7, 8, 9), (0.0,) * 5, (Turn(1, 3), Turn(4, 5)))
    assert make_example(segment) == {
        "input_ids": [5, 6, 7, 8, 9],
        "labels": [IGNORED, 6, 7, IGNORED, 9],
    }


def test_keeps_only_rewarded_answers() -> None:
    segment = Segment((5, 6), (0.0, 0.0), (Turn(1, 2),))
    right = Trajectory("a", (segment,), 1.0, "answered")
    others = [Trajectory("b", (segment,), 0.0, "answered"), Trajectory("c", (segment,), 1.0, "turns")]
    assert keep_good([*others, right]) == [right]
    assert keep_good([*others, right], 0.0) == [others[0], right]


def test_imitation_lowers_the_loss(tmp_path: Path) -> None:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    questions, documents = make_archive(20, 0)
    environment = SearchEnvironment(
        questions, documents, Chat(tokenizer), k=1, positions=2000, max_reply=100, compressor=COMPRESSOR
    )
    shown = collect_demonstrations(environment, 2, random.Random(0), flawed=False)
    losses = [imitate(model, shown, tmp_path, epochs=3, learning_rate=1e-2) for _ in range(2)]
    assert losses[1] < losses[0] < 6
