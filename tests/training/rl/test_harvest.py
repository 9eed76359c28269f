"""What is made of good rollouts: the cold start of language models, and rollouts of a policy on a server."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Serve
from tests.loopback import serve as serve
from tests.sdk.agents import COMPRESSOR
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.engines.sft import IGNORED, collect_demonstrations, imitate, keep_good, make_example
from training.rl.environments.archive import make_archive
from training.rl.environments.search import SearchEnvironment
from training.rl.harvest import harvest, strip_learned
from training.rl.imitate import read_good
from training.rl.language.chat import Chat
from training.rl.language.vllm import VllmPolicy
from training.rl.recipes import Recipe, make_environment
from training.rl.trajectory import Segment, Trajectory, Turn
from training.run import read_whole_lines
from training.settings import read_settings

CHAT = Chat(make_tokenizer())
QUESTIONS, DOCUMENTS = make_archive(8, 0)
ENVIRONMENT = SearchEnvironment(QUESTIONS, DOCUMENTS, CHAT, k=3, positions=20_000)


def play(request: dict[str, Any]) -> tuple[int, Any]:
    """Answer like vLLM: search twice for the question, then give the answer of the record."""
    seen = CHAT.tokenizer.decode(request["prompt"])
    question = next(q for q in QUESTIONS if q.text in seen)
    searches = seen.count("</information>")
    text = f"<search>{question.text}</search>" if searches < 2 else f"<answer>{question.answers[0]}</answer>"
    tokens = CHAT.encode(text)
    logprobs = {"token_logprobs": [-0.5] * len(tokens)}
    return 200, {"choices": [{"token_ids": tokens, "logprobs": logprobs}]}


def test_writes_rollouts_and_their_queries_with_passages(serve: Serve, tmp_path: Path) -> None:
    server = serve(play)
    policy = VllmPolicy(server.url, "policy", max_reply=200, stop_texts=("</search>", "</answer>"))
    assert harvest(ENVIRONMENT, policy, 3, tmp_path) == {"rollouts": 3, "reward": 1.0, "pairs": 3}
    rows, pairs = (read_whole_lines(tmp_path / f"{name}.jsonl") for name in ("rollouts", "pairs"))
    for row, pair, question in zip(rows, pairs, QUESTIONS, strict=False):
        assert (row["question"], row["answers"]) == (question.text, list(question.answers))
        assert pair["query"] == question.text  # asked twice, written once
        texts = [d["text"] for d in pair["docs"]]
        assert len(texts) == 3
        assert DOCUMENTS[question.documents[0]].text in texts  # as they are
        (answer,) = (m["content"] for m in row["messages"] if "<answer>" in m["content"][:20])
        assert question.answers[0] in answer
    before = len(server.requests)
    assert harvest(ENVIRONMENT, policy, 3, tmp_path)["rollouts"] == 3
    assert len(server.requests) == before  # nothing is rolled out twice


def test_rollouts_of_a_failed_server_are_repeated(serve: Serve, tmp_path: Path) -> None:
    down = VllmPolicy(serve(lambda _: (500, {})).url, "policy", max_reply=200)
    assert harvest(ENVIRONMENT, down, 2, tmp_path)["rollouts"] == 0
    policy = VllmPolicy(serve(play).url, "policy", max_reply=200)
    assert harvest(ENVIRONMENT, policy, 2, tmp_path)["rollouts"] == 2


def test_imitates_good_rollouts_with_their_exact_tokens(serve: Serve, tmp_path: Path) -> None:
    policy = VllmPolicy(serve(play).url, "policy", max_reply=200)
    harvest(ENVIRONMENT, policy, 2, tmp_path)
    file = tmp_path / "rollouts.jsonl"
    good = read_good(file, 1.0)
    assert len(good) == 2
    (segment,) = good[0].segments
    assert "<answer>" in CHAT.decode(segment.tokens[segment.turns[-1].start : segment.turns[-1].end])
    rows = [{**row, "trajectory": {**row["trajectory"], "reward": 0.0}} for row in read_whole_lines(file)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(ValueError, match="none of the 2 rollouts"):
        read_good(file, 1.0)


@pytest.mark.parametrize("name", ["evolving", "recon"])
def test_first_harvest_needs_neither_bank_nor_summarizer(name: str) -> None:
    runs = Path(__file__).parents[3] / "training/runs/verl"
    recipe = strip_learned(read_settings(Recipe, runs / f"{name}.toml"))
    environment = make_environment(recipe, make_tokenizer(), QUESTIONS, DOCUMENTS)
    assert environment.experience is None
    assert recipe.summarizer == ""


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
