"""The search environment, and the program that trains a language model in it."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Document
from tersely_agents.agent import SelectedSentences, WrittenSummary, read_passages
from tersely_agents.summaries import Summarizer
from tests.sdk.agents import COMPRESSOR
from tests.training.stopping import run_until
from training.causal import Adapter
from training.rl.engines import report, search_run, sft, updates
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.engines.search_run import Archive, ColdStart, Settings
from training.rl.engines.updates import Updates
from training.rl.environments.archive import make_archive
from training.rl.environments.search import Question, SearchEnvironment, load_task_set
from training.rl.language.chat import Chat
from training.run import Run
from training.settings import read_settings

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


pytestmark = pytest.mark.filterwarnings("ignore")
"""trl, peft, transformers and torch warn about parts of themselves."""

CONFIG = Path(__file__).parents[3] / "training/configs/search_smollm2.toml"
SETTINGS = Settings(
    adapter=Adapter(rank=2, layers=1),
    archive=Archive(records=8, k=1, max_reply=6, positions=2000),
    cold_start=ColdStart(demonstrations=2),
    updates=Updates(count=2, tasks=1, group=2, evaluation_tasks=1, micro_batch=1, save_every=1),
)


def run_once(folder: Path, settings: Settings = SETTINGS) -> list[dict[str, Any]]:
    tokenizer = make_tokenizer()
    run = Run(folder, identity=asdict(settings))
    search_run.train(settings, run, make_model(tokenizer), tokenizer)
    return run.history


def test_stopped_run_ends_like_an_unbroken_one(tmp_path: Path) -> None:
    whole = run_once(tmp_path / "whole")
    kinds = [(e["kind"], e["update"]) for e in whole]
    assert kinds == [("evaluation", 0), ("update", 1), ("update", 2), ("evaluation", 2)]
    # The first call is the evaluation, and the third the second update.
    run_until(updates._Job, "roll_out", 3, lambda: run_once(tmp_path / "stopped"))
    stopped = run_once(tmp_path / "stopped")
    timed = ("seconds", "clock", "peak_mb")
    rows = [[{k: v for k, v in e.items() if k not in timed} for e in part] for part in (whole, stopped)]
    assert rows[0] == rows[1]
    files = [tmp_path / name / "final/adapter_model.safetensors" for name in ("whole", "stopped")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[updates]\nspeed = 1", "unknown key .speed."),
        ('[updates]\nalgorithm = "ppo"', "algorithm is 'ppo', not one of"),
    ],
)
def test_refuses_a_wrong_configuration(tmp_path: Path, text: str, complaint: str) -> None:
    settings = read_settings(search_run.Settings, CONFIG)
    assert read_settings(search_run.Settings, CONFIG, seed=3) == replace(settings, seed=3)
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ValueError, match=complaint):
        read_settings(search_run.Settings, tmp_path / "wrong.toml")


def test_report_has_an_interval(tmp_path: Path) -> None:
    def write(seed: int, rewards: list[float]) -> Any:
        run = Run(tmp_path / f"run {seed}")
        facts = {"tokens": 100, "written": 10, "seconds": 1.0, "peak_mb": 500 + seed, "length": 2.0}
        run.record(kind="evaluation", update=0, reward=0.25, clock=0.0, **facts)
        for number, reward in enumerate(rewards, 1):
            run.record(kind="update", update=number, reward=reward, clock=2.0 * number, **facts)
        run.record(kind="evaluation", update=len(rewards), reward=0.75, clock=2.0 * len(rewards), **facts)
        return run.history

    histories = [write(0, [0.0] * 10 + [1.0] * 10), write(1, [0.5] * 10 + [1.0] * 10)]
    curve = report.average(histories)
    assert list(curve) == [10, 20]
    assert curve[10].value == 0.25
    assert 0 < curve[10].low < 0.25 < curve[10].high < 0.5
    assert (curve[20].low, curve[20].high) == (1.0, 1.0)
    said = report.describe(histories[1])
    assert "20 updates; reward on new tasks 0.250 -> 0.750; 50.0 tokens trained a second" in said
    assert "10.0 written a second of rollouts; peak 501 MB" in said
    report.draw(curve, tmp_path / "curve.png", 2)
    assert (tmp_path / "curve.png").stat().st_size > 1000
