"""The bank of a run of Evolving Rollouts: lessons, consolidation, editions, figures; and the judge."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tersely_agents.chat import ChatError, Message, Reply, ScriptedChat
from tersely_agents.experience import Experience, ExperienceBank
from training.rl.cold_start import demonstrate
from training.rl.engines.random_model import make_tokenizer
from training.rl.engines.sft import collect_demonstrations, keep_good
from training.rl.environments.archive import make_archive
from training.rl.environments.families import WordEmbedder
from training.rl.environments.search import Question, SearchEnvironment
from training.rl.experience.editions import Editions
from training.rl.experience.evolution import Evolution
from training.rl.experience.start import make_bank, read_rollouts
from training.rl.judge import Judge
from training.rl.language.chat import Chat
from training.rl.trajectory import Trajectory

CHAT = Chat(make_tokenizer())
CONDENSED = '{"plan": "search", "steps": [], "takeaways": []}'


class Extractor:
    """A model that condenses each attempt, and then writes the lesson that is next."""

    name = "extractor"

    def __init__(self, *lessons: tuple[str, str] | None) -> None:
        self.lessons, self.prompts = list(lessons), list[str]()

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        prompt = str(messages[-1]["content"])
        if "EXPERIENCE 1" not in prompt:
            return Reply(CONDENSED)
        self.prompts.append(prompt)
        lesson = self.lessons.pop(0)
        if lesson is None:
            raise ChatError("the server is down")
        title, outcome = lesson
        text = f"EXPERIENCE 1:\nTITLE: {title}\nDESCRIPTION: {title}\nCONTENT: Search.\n"
        return Reply(text + (f"OUTCOME: {outcome}\n" if "OUTCOME" in prompt else ""))


def make_lesson(title: str, *, success: bool = True) -> Experience:
    return Experience(title, title, "Search.", "An old problem", success)


def write_bank(file: Path, *lessons: Experience) -> Path:
    with closing(ExperienceBank(file, WordEmbedder())) as bank:
        bank.add_all(lessons)
    return file


def make_evolution(folder: Path, extractor: Extractor, *lessons: Experience) -> Evolution:
    start = write_bank(folder / "start.db", *(lessons or [make_lesson("c1 use u1")]))
    return Evolution(folder / "run", start, extractor, CHAT.read_messages, WordEmbedder())


def make_group(rewards: Sequence[float], recalled: Sequence[str] = (), seed: int = 0) -> list[Trajectory]:
    """Roll out the expert on one question, and give the rollouts these rewards."""
    environment = SearchEnvironment(*make_archive(8, seed), CHAT, strategy="transcript", positions=16_000)
    task = environment.sample(random.Random(seed), 1.0)
    made = demonstrate(environment, task, random.Random(0))
    facts = {**made.facts, "recalled": list(recalled), "recalls": len(recalled)}
    return [replace(made, task=str(seed), reward=reward, facts=facts) for reward in rewards]


def read_steps(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "run/steps.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_every_group_gives_lessons_and_variance_does_not_matter(tmp_path: Path) -> None:
    extractor = Extractor(("c2 use u2", "success"), ("c3 not u3", "failure"))
    evolution = make_evolution(tmp_path, extractor)
    evolution.learn([*make_group([1.0, 1.0]), *make_group([0.0, 0.0], seed=1)])
    (step,) = read_steps(tmp_path)
    assert (step["groups"], step["groups_without_variance"], step["changes"]) == (2, 2, 2)
    assert (step["size"], step["from_rollouts"], step["churn"]) == (3, pytest.approx(2 / 3), 2.0)
    assert sum("SUCCESS" in prompt for prompt in extractor.prompts) == 1
    question, docs = make_group([0.0], seed=1)[0].facts["question"], make_group([0.0], seed=1)[0].facts
    assert any(f"EXPECTED: {docs['answers'][0]}" in p and question in p for p in extractor.prompts)


def test_failure_replaces_a_success_as_equation_9_says(tmp_path: Path) -> None:
    evolution = make_evolution(tmp_path, Extractor(("c1 use u1", "failure")), make_lesson("c1 use u1"))
    evolution.learn(make_group([0.0, 0.0]))
    (step,) = read_steps(tmp_path)
    assert (step["size"], step["changes"], step["merges"]) == (1, 1, 1)
    assert step["from_successes"] == 0.0


def test_rollouts_read_the_published_edition_only(tmp_path: Path) -> None:
    evolution = make_evolution(tmp_path, Extractor(("c2 use u2", "success")))
    reader = Editions(tmp_path / "run/editions", tmp_path / "gone.db", WordEmbedder())
    evolution.learn(make_group([1.0, 0.0]))
    assert len(reader.read()) == 1
    evolution.publish()
    assert (len(reader.read()), evolution.edition) == (2, 1)
    evolution.load_state_dict({"edition": 0})  # a checkpoint from before
    assert (len(reader.read()), evolution.edition) == (1, 0)
    assert not evolution.editions.find(1).exists()


def test_lessons_that_never_helped_are_forgotten(tmp_path: Path) -> None:
    bad, good = make_lesson("c1 use u1"), make_lesson("c7 use u4")
    evolution = make_evolution(tmp_path, Extractor(None), bad, good)
    failed, one_success = [0.0] * 3, [1.0, 0.0, 0.0]
    groups = [*make_group(failed, [bad.id]), *make_group(one_success, [good.id], seed=1)]
    evolution = Evolution(
        tmp_path / "run", tmp_path / "start.db", Extractor(None, None), CHAT.read_messages, WordEmbedder()
    )
    evolution.learn(groups)
    (step,) = read_steps(tmp_path)
    assert (step["forgotten"], step["size"], step["groups_without_lessons"]) == (1, 1, 2)
    assert 0 < step["usage"] < 1


def test_failed_servers_teach_nothing(tmp_path: Path) -> None:
    evolution = make_evolution(tmp_path, Extractor())
    evolution.learn([replace(t, outcome="server") for t in make_group([0.0, 0.0])])
    assert read_steps(tmp_path)[0]["groups"] == 0


@pytest.mark.parametrize("exists", [True, False])
def test_refuses_to_start_without_lessons(tmp_path: Path, exists: bool) -> None:
    start = tmp_path / "start.db"
    if exists:
        write_bank(start)
    with pytest.raises(ValueError, match=r"training\.rl\.experience\.start"):
        Evolution(tmp_path / "run", start, Extractor(), CHAT.read_messages, WordEmbedder())


def test_first_bank_comes_from_recorded_rollouts(tmp_path: Path) -> None:
    rows = [
        {"question": f"Problem {n}?", "messages": [{"role": "user", "content": "Hm."}], "reward": n % 2}
        for n in range(3)
    ]
    out, lessons = tmp_path / "bank.db", [("c1 use u1", ""), None, ("c3 use u3", "")]
    facts = make_bank(rows, Extractor(*lessons), out, embedder=WordEmbedder())
    assert facts == {"lessons": 2, "failed": 1}
    again = Extractor(("c9 use u5", ""))  # only the failed one is asked again
    assert make_bank(rows, again, out, embedder=WordEmbedder()) == {"lessons": 3, "failed": 0}
    with closing(ExperienceBank(out, WordEmbedder())) as bank:
        assert {(e.problem, e.success) for e in bank.experiences()} == {
            ("Problem 0?", False),
            ("Problem 1?", True),
            ("Problem 2?", False),
        }
    with pytest.raises(ValueError, match="none of 1 rollouts gave a lesson"):
        make_bank(rows[:1], Extractor(None), tmp_path / "empty.db", embedder=WordEmbedder())


@pytest.mark.parametrize("name", ["rollouts.jsonl", "rollouts.jsonl.gz"])
def test_recorded_runs_without_a_reward_say_how_they_ended(tmp_path: Path, name: str) -> None:
    def make_row(run: str, end: str, **reward: float | None) -> dict[str, Any]:
        messages = [{"role": "user", "content": "Hm."}, {"role": "user", "content": f"Observation: {end}"}]
        return {"id": run, "task": "Problem?", "messages": messages, **reward}

    rows = [
        make_row("train-1", "Episode finished, reward = True", reward=None),
        make_row("train-2", "Episode finished, reward = 0", reward=None),
        make_row("train-3", "Episode finished, reward = True", reward=0.25),
        make_row("train-4", "Nothing was found."),
        make_row("hotpot-dev-1", "Episode finished, reward = True", reward=1.0),
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    # A benchmark may ask the last one's question.
    assert [(r["id"], r["reward"]) for r in read_rollouts(tmp_path / name)] == [
        ("train-1", 1.0),
        ("train-2", 0.0),
        ("train-3", 0.25),
        ("train-4", 1.0),
    ]


def test_demonstrations_for_imitation_recall_lessons(tmp_path: Path) -> None:
    bank = ExperienceBank(write_bank(tmp_path / "bank.db", make_lesson("c1 use u1")), WordEmbedder())
    environment = SearchEnvironment(
        *make_archive(8, 0), CHAT, strategy="transcript", positions=16_000, experience=lambda: bank
    )
    made = keep_good(collect_demonstrations(environment, 3, random.Random(0), flawed=False))
    assert [len(t.facts["recalled"]) for t in made] == [1, 1, 1]
    written = CHAT.read_messages(made[0])
    assert any("retrieve_experience" in m["content"] for m in written if m["role"] == "assistant")
    assert any("c1 use u1" in m["content"] for m in written if m["role"] == "tool")


QUESTION = Question("1", "Who?", ("Ada Lovelace",), ())


def test_judge_decides_what_is_not_an_exact_match() -> None:
    model = ScriptedChat(["Yes.", "<think>Hm.</think>NO"])
    judge = Judge(model)
    assert judge(QUESTION, "ada lovelace.") == 1.0
    assert judge(QUESTION, " ") == 0.0
    assert not model.requests
    assert [judge(QUESTION, a) for a in ("Countess Ada Lovelace", "Babbage", "Babbage")] == [1.0, 0.0, 0.0]
    assert len(model.requests) == 2


def test_judge_that_is_down_ends_the_run() -> None:
    with pytest.raises(ChatError):
        Judge(ScriptedChat([ChatError("down")]))(QUESTION, "Babbage")
    with pytest.raises(ValueError, match="neither YES nor NO"):
        Judge(ScriptedChat(["Hm.", "Maybe."]))(QUESTION, "Babbage")
