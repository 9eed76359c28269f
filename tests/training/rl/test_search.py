"""The search environment: its expert, reward, difficulty and sources."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Document
from tersely_agents.agent import SelectedSentences, WrittenSummary, read_passages
from tersely_agents.summaries import Summarizer
from tests.sdk.agents import COMPRESSOR
from training.rl.engines import sft
from training.rl.engines.random_model import make_tokenizer
from training.rl.environments.archive import make_archive
from training.rl.environments.search import Question, SearchEnvironment, load_task_set
from training.rl.language.chat import Chat

CHAT = Chat(make_tokenizer())
QUESTIONS, DOCUMENTS = make_archive(60, 1)


def make_environment(**options: Any) -> SearchEnvironment:
    own = {"k": 3, "positions": 20_000, "max_reply": 900, "compressor": COMPRESSOR}
    return SearchEnvironment(QUESTIONS, DOCUMENTS, CHAT, **{**own, **options})


READINGS = {
    "passages": read_passages,
    "selected": SelectedSentences(COMPRESSOR, 60),
    "summary": WrittenSummary(Summarizer(compressor=COMPRESSOR), 60),
}


@settings(max_examples=40)
@given(
    strategy=st.sampled_from(["recon", "summary", "transcript", "reset"]),
    reading=st.sampled_from(sorted(READINGS)),
    difficulty=st.floats(0, 1),
    seed=st.integers(0, 10**6),
)
def test_expert_solves_every_task(strategy: Any, reading: str, difficulty: float, seed: int) -> None:
    environment, draw = make_environment(strategy=strategy, read=READINGS[reading]), random.Random(seed)
    task = environment.sample(draw, difficulty)
    episode = task.start()
    for reply in environment.demonstrate(episode, draw):
        assert episode.outcome is None
        episode.step(reply)
    assert (episode.outcome, episode.reward) == ("answered", 1.0)
    assert episode.found or reading != "passages", "the expert knows only what a search can find"


def test_seed_fixes_a_task_and_difficulty_adds_documents() -> None:
    environment = make_environment()
    assert environment.sample(random.Random(3), 0.5).id == environment.sample(random.Random(3), 0.5).id
    sizes = [len(environment.sample(random.Random(3), d).index) for d in (0.0, 0.5, 1.0)]
    assert sizes == [1, 31, 60]


def test_reward_is_exact_match() -> None:
    task = make_environment().sample(random.Random(5), 0.0)
    name = task.question.answers[0]
    for answer, reward in ((f" {name.upper()}.", 1.0), (f"{name} the baker", 0.0), (name.split()[0], 0.0)):
        episode = task.start()
        episode.step(CHAT.encode(f"<answer>{answer}</answer>"))
        assert (episode.outcome, episode.reward) == ("answered", reward)


def test_flawed_demonstrations_contain_mistakes() -> None:
    made = sft.collect_demonstrations(make_environment(slip=0.5), 80, random.Random(0), flawed=True)
    right = sum(t.reward for t in made) / len(made)
    assert 0.35 < right < 0.75, "half of them contain another answer"
    assert {len(t.turns) for t in made} == {2, 3}
    good = sft.keep_good(made)
    assert {t.reward for t in good} == {1.0}
    assert len(good) == right * 80
    perfect = sft.collect_demonstrations(make_environment(slip=0.5), 5, random.Random(0), flawed=False)
    assert [t.reward for t in perfect] == [1.0] * 5


def test_question_can_need_several_documents(tmp_path: Path) -> None:
    texts = ["Ada was born in Kordale.", "The baker of Kordale is Rosa Quill.", "The roof is new."]
    docs = [{"title": f"Page {n}", "text": text, "gold": n < 2} for n, text in enumerate(texts)]
    row = {"question": "Who is the baker where Ada was born?", "answers": ["Rosa Quill"], "docs": docs}
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (question,), documents = load_task_set(str(file), data=None, limit=9)
    assert [documents[docid].text for docid in question.documents] == texts[:2]
    environment = SearchEnvironment([question], documents, CHAT, k=1, positions=9000, compressor=COMPRESSOR)
    (trajectory,) = sft.collect_demonstrations(environment, 1, random.Random(0), flawed=False)
    assert (trajectory.reward, trajectory.facts["searches"], trajectory.facts["found"]) == (1.0, 2, True)


def test_ziprl_tools_show_addresses_and_whole_results() -> None:
    """Appendix U: docids and urls in the results, and open_page. All 20 hits stay whole."""
    rest = "More words follow here. " * 30
    long = {f"d{n}": Document(f"Record {n} of the baker. {rest}", f"Page {n}", f"d{n}") for n in range(20)}
    question = Question("q", "Who is the baker?", ("Record 3",), ("d3",))
    environment = SearchEnvironment(
        [question],
        long,
        CHAT,
        strategy="summary",
        read=None,
        k=20,
        positions=90_000,
        max_reply=900,
        compressor=COMPRESSOR,
        result_tokens=8000,
    )
    task = environment.sample(random.Random(0), 1.0)
    episode = task.start()
    replies = environment.demonstrate(episode, random.Random(0))
    episode.step(next(replies))
    shown = episode.state.result
    assert all(f"[docid: d{n}]" in shown and long[f"d{n}"].text.strip() in shown for n in range(20))
    assert not episode.state.originals  # nothing was compressed
    episode.step(next(replies))
    row = episode.state.trace[-1]
    assert (row.tool, dict(row.arguments)) == ("open_page", {"docid": "d3"})
    assert long["d3"].text in episode.state.result


def test_task_set_gives_its_training_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["Ada holds the spare key.", *(f"Roof {number} is new." for number in range(9))]
    docs = [
        {"title": text.split()[0], "text": text, "gold": not i, "sentences": [], "support": []}
        for i, text in enumerate(texts)
    ]
    row = {"id": "h1", "question": "Who holds the key?", "answers": ["Ada"], "docs": docs}
    lost = {**row, "id": "h2", "answers": ["Bert"]}
    (tmp_path / "train").mkdir()
    with gzip.open(tmp_path / "train" / "hotpotqa.jsonl.gz", "wt") as stream:
        stream.write(json.dumps(row) + "\n" + json.dumps(lost) + "\n")
    questions, documents = load_task_set("hotpotqa", data=tmp_path, limit=4)
    (question,) = questions
    assert "1 of 2 questions are left out: no document holds an answer" in capsys.readouterr().out
    assert [documents[docid].text for docid in question.documents] == ["Ada holds the spare key."]
    assert sorted(d.text for d in documents.values()) == sorted(texts)
    environment = SearchEnvironment(questions, documents, CHAT, positions=9000, compressor=COMPRESSOR)
    (trajectory,) = sft.collect_demonstrations(environment, 1, random.Random(0), flawed=False)
    assert trajectory.reward == 1.0


def test_refuses_questions_without_documents() -> None:
    question = Question("q", "Who?", ("Ada",), ("nowhere",))
    for questions in ([], [question]):
        with pytest.raises(ValueError, match="no question"):
            SearchEnvironment(questions, {"d": Document("a")}, CHAT, compressor=COMPRESSOR)
