"""The agent as an episode of exact tokens, and the program that trains one on its own rollouts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Document, InvalidInputError
from tersely_agents.agent import Agent, DocumentIndex, StrategyName, reading_tool
from tersely_agents.chat import ScriptedChat
from tersely_agents.levels import LEVELS
from tersely_agents.memory import AgentMemory
from tersely_agents.quality import quality
from tests.sdk.agents import COMPRESSOR, call_tag, tagged
from tests.spare_key import EXAMPLE, KEYS, SEARCH, finish
from tests.training.rl.examples import make_segment
from training.agent.teacher import write_turn
from training.causal import Adapter, add_adapter
from training.rl import agent
from training.rl.agent import Settings, compare, describe
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.environments.turns import TurnsEnvironment
from training.rl.language.chat import Chat
from training.rl.language.episodes import AgentTask
from training.rl.rollout import Generation, run_episodes
from training.rl.trajectory import Trajectory
from training.run import Run, read_runs

CHAT = Chat(make_tokenizer())
QUESTION = "Who holds the spare key?"
INDEX = DocumentIndex(
    {"keys": Document("Ada holds the spare key.", "Keys"), "house": Document("The roof is new.", "House")}
)
FINISH = '<tool_call>{"name": "finish", "arguments": {"answer": "Ada"}}</tool_call>'
LOOK = '<tool_call>{"name": "search", "arguments": {"query": "spare key"}}</tool_call>'


@dataclass
class Scripted:
    """A policy that writes prepared replies letter by letter, with distinct log-probabilities."""

    replies: list[str]
    ends: bool = True
    written: list[list[int]] = field(default_factory=list[list[int]])

    def generate(self, contexts: Mapping[int, Sequence[int]]) -> dict[int, Generation]:
        return {key: self._write() for key in contexts}

    def _write(self) -> Generation:
        tokens = [token for letter in self.replies.pop(0) for token in CHAT.encode(letter)]
        tokens += [CHAT.stop] if self.ends else []
        self.written.append(tokens)
        return Generation(tokens, [-0.5 - 0.001 * i for i in range(len(tokens))])


def make_task(
    strategy: StrategyName, *, positions: int = 9000, index: DocumentIndex = INDEX, **options: Any
) -> AgentTask:
    tools = [reading_tool(index)]
    agent = Agent(ScriptedChat(()), tools, strategy=strategy, compressor=COMPRESSOR, strict=True, **options)
    return AgentTask(
        "task 1", QUESTION, agent, CHAT, lambda state: float(state.answer == "Ada"), positions, 400
    )


def read_turns(trajectory: Any) -> list[list[int]]:
    return [list(s.tokens[t.start : t.end]) for s in trajectory.segments for t in s.turns]


@pytest.mark.parametrize("ends", [False, True])
def test_response_with_searches_is_one_segment_of_exact_tokens(ends: bool) -> None:
    policy = Scripted(["<search>spare key</search>", "Hm.", "<answer>Ada</answer>"], ends)
    (trajectory,) = run_episodes(policy, [make_task("recon")])
    assert (trajectory.outcome, trajectory.reward) == ("answered", 1.0)
    (segment,) = trajectory.segments
    assert read_turns(trajectory) == policy.written
    assert CHAT.encode("search") != [token for letter in "search" for token in CHAT.encode(letter)]
    read = CHAT.tokenizer.decode([t for t, own in zip(segment.tokens, segment.mask, strict=True) if not own])
    assert read.endswith(
        f"Question: {QUESTION}<|end|>\n<|assistant|>"
        "\n<information>(1) Keys: Ada holds the spare key.</information>\n"
        "\nMy action is not correct. Let me rethink.\n"
    )
    assert trajectory.facts["searches"] == 1
    assert trajectory.facts["context"] == len(segment.tokens) - len(policy.written[-1])


def test_turns_with_summaries_are_segments_with_a_quality() -> None:
    summary = "The spare key is held by Ada [docid: keys]. The search has found nothing else about it."
    search, finish = (
        call_tag("search", query="spare key"),
        call_tag("finish", answer="Ada", explanation="keys"),
    )
    policy = Scripted([tagged(search), tagged(finish, summary)])
    (trajectory,) = run_episodes(policy, [make_task("summary")])
    assert (trajectory.reward, len(trajectory.segments)) == (1.0, 2)
    assert read_turns(trajectory) == policy.written
    first, second = (turn.quality for turn in trajectory.turns)
    assert first is None
    assert second is not None
    assert 0 < second <= 1
    assert "Ada holds the spare key." in CHAT.tokenizer.decode(trajectory.segments[1].tokens)


@pytest.mark.parametrize("unreadable", ["", "<tool_call>{no JSON}</tool_call>"])
def test_transcript_is_one_segment(unreadable: str) -> None:
    policy = Scripted([unreadable + LOOK, FINISH])
    (trajectory,) = run_episodes(policy, [make_task("transcript")])
    (segment,) = trajectory.segments
    assert (trajectory.reward, read_turns(trajectory)) == (1.0, policy.written)
    assert json.loads(json.dumps(dict(trajectory.facts)))["searches"] == 1
    assert "<|tool|>(1) Keys: Ada holds the spare key.<|end|>" in CHAT.tokenizer.decode(segment.tokens)


def test_dropped_action_is_in_no_segment() -> None:
    """SUPO drops the pair that fills the context; the summary follows the context before it."""

    def memory(first: list[Any]) -> AgentMemory:
        return AgentMemory(first, limit=512, max_summaries=2, replay=False, compressor=COMPRESSOR)

    long = DocumentIndex({"keys": Document("The key is with Ada. " * 40, "Keys")})
    policy = Scripted([LOOK, LOOK, "Ada has the key.", FINISH])
    (trajectory,) = run_episodes(policy, [make_task("reset", memory=memory, index=long)])
    assert (trajectory.outcome, trajectory.facts["resets"]) == ("answered", 1)
    assert read_turns(trajectory) == [policy.written[0], *policy.written[2:]]
    assert "Ada has the key." in CHAT.tokenizer.decode(trajectory.segments[-1].tokens)


def test_names_how_an_episode_ended() -> None:
    (malformed,) = run_episodes(Scripted(["Ada."]), [make_task("summary")])
    assert (malformed.outcome, malformed.reward, len(malformed.turns)) == ("malformed", 0.0, 1)
    (turns,) = run_episodes(Scripted(["Hm."] * 2), [make_task("recon", max_turns=2)])
    assert (turns.outcome, turns.facts["reason"]) == ("turns", "there is no answer after 2 turns")
    (wrong,) = run_episodes(Scripted(["<answer>Bob</answer>"]), [make_task("recon")])
    assert (wrong.outcome, wrong.reward, wrong.facts["answer"]) == ("answered", 0.0, "Bob")


def test_context_without_room_for_a_reply_is_overlong() -> None:
    policy = Scripted(["Hm. " * 90, "<answer>Ada</answer>"])
    (trajectory,) = run_episodes(policy, [make_task("recon", positions=800)])
    assert (trajectory.outcome, trajectory.reward, len(trajectory.turns)) == ("overlong", 0.0, 1)
    episode = make_task("recon", positions=420).start()
    assert episode.outcome == "overlong"


def test_missing_reply_ends_only_its_episode() -> None:
    class Partial(Scripted):
        def generate(self, contexts: Mapping[int, Sequence[int]]) -> dict[int, Generation]:
            return {key: self._write() for key in contexts if key != 1}

    one, other = run_episodes(Partial(["<answer>Ada</answer>"]), [make_task("recon")] * 2)
    assert (one.outcome, one.reward) == ("answered", 1.0)
    assert (other.outcome, other.reward, other.segments) == ("server", 0.0, ())


def test_refuses_an_agent_that_helps() -> None:
    agent = Agent(ScriptedChat(()), [reading_tool(INDEX)], strategy="recon", compressor=COMPRESSOR)
    with pytest.raises(InvalidInputError, match="strict=True"):
        AgentTask("task 1", QUESTION, agent, CHAT, lambda state: 0.0, 900, 40)


_PIECES = st.sampled_from([*"sear </>", "<search>", "</search>", "<answer>", "</answer>", LOOK])
_TEXTS = st.lists(_PIECES, max_size=9).map("".join)


@settings(max_examples=40)
@given(
    strategy=st.sampled_from(["recon", "transcript", "summary", "reset"]),
    replies=st.lists(_TEXTS, min_size=1, max_size=4),
    ends=st.booleans(),
)
def test_records_every_written_token(strategy: StrategyName, replies: list[str], ends: bool) -> None:
    policy = Scripted([f"{text} a" for text in replies] + ["<answer>Ada</answer>"] * 9, ends)
    (trajectory,) = run_episodes(policy, [make_task(strategy, max_turns=4)])
    assert read_turns(trajectory) == policy.written
    for segment in trajectory.segments:
        own = [p for p, mine in zip(segment.logprobs, segment.mask, strict=True) if mine]
        assert all(p <= -0.5 for p in own)
        assert sum(p != 0 for p in segment.logprobs) == len(own)


pytestmark = pytest.mark.filterwarnings("ignore")
"""trl, peft, transformers and torch warn about parts of themselves."""

SMALL = """
[questions]
max_turns = 2
max_reply = 6
positions = 9000
[updates]
algorithm = "hrr"
count = 2
tasks = 1
group = 2
evaluation_tasks = 1
evaluation_temperature = 0.0
micro_batch = 1
save_every = 1
"""


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Return a configuration, a model and its adapter."""
    (tmp_path / "small.toml").write_text(SMALL)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, positions=9000)
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    add_adapter(model, Adapter(rank=2, layers=1)).save_pretrained(str(tmp_path / "adapter"))
    return {"config": tmp_path / "small.toml", "base": tmp_path / "base", "adapter": tmp_path / "adapter"}


def run_program(
    monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path], out: Path, *options: str
) -> list[dict[str, Any]]:
    named = [part for name, folder in folders.items() for part in (f"--{name}", str(folder))]
    monkeypatch.setattr("sys.argv", ["agent", *named, "--out", str(out), *options])
    agent.main()
    return Run(out).history


def test_run_ends_in_its_time_and_continues_with_more(
    data: Path, folders: dict[str, Path], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    out, own = tmp_path / "run", ("--data", str(data))
    history = run_program(monkeypatch, folders, out, *own, "--max-minutes", "0.0001")
    assert [entry["kind"] for entry in history] == ["evaluation"]
    assert "no time for an update" in capsys.readouterr().out
    history = run_program(monkeypatch, folders, out, *own)
    kinds = [(entry["kind"], entry["update"]) for entry in history]
    assert kinds == [("evaluation", 0), ("update", 1), ("update", 2), ("evaluation", 2)]
    # Six letters are not a turn: nothing is well-formed, and nothing earned.
    assert {(entry["well_formed"], entry["malformed"], entry["reward"]) for entry in history} == {(0, 1, 0)}
    assert (out / "final/adapter_model.safetensors").exists()
    assert "1 held-out questions, before and after 2 updates" in capsys.readouterr().out
    (facts,) = read_runs(out / "final")
    assert (facts["algorithm"], facts["updates"], facts["rollouts"], facts["heldout"]) == ("hrr", 2, 4, 1)
    assert (facts["sets"], facts["questions"], facts["reward"]) == (["hotpotqa"], 2, [0, 0])
    assert run_program(monkeypatch, folders, out, *own)[:3] == history[:3]
    other = add_adapter(make_model(make_tokenizer(), positions=9000), Adapter(rank=4, layers=1))
    other.save_pretrained(str(folders["adapter"]))
    with pytest.raises(ValueError, match="name a new folder"):  # for another adapter
        run_program(monkeypatch, folders, out, *own)


def test_refuses_a_set_without_training_questions(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hotpotqa: 48 questions are held out, and there are 0"):
        agent.train(Settings(), [], Run(tmp_path), None, None)


def test_history_has_shares_of_turns_and_of_tasks() -> None:
    def make(reward: float, quality: float | None, **facts: Any) -> Trajectory:
        segment = make_segment(1, qualities=[quality])
        return Trajectory(f"q{reward}", (segment,), reward, "answered", facts=facts)

    right = make(0.5, 0.5, replies=3, well_formed=3, summaries=2, inside=1, correct=True)
    wrong = make(0.0, None, replies=1, well_formed=0, summaries=0, inside=0, correct=False)
    shares = {"well_formed": 3 / 4, "inside": 1 / 2, "correct": 1 / 2, "quality": 0.5}
    assert describe([right, wrong]) == {**shares, "rewards": [0.5, 0.0]}


def test_comparison_has_an_interval() -> None:
    shares = {"correct": 0.0, "answered": 1.0, "well_formed": 1.0, "inside": 1.0}
    before = {"reward": 0.25, "rewards": [0.0, 0.5] * 10, "update": 0, **shares}
    after = {"reward": 0.5, "rewards": [0.5, 0.5] * 10, "update": 7, **shares}
    said = compare(before, after)
    assert "20 held-out questions, before and after 7 updates" in said
    assert "reward       0.250 -> 0.500" in said
    assert "reward by +0.250 (95 %: +0.1" in said


ENVIRONMENT = TurnsEnvironment(
    CHAT, COMPRESSOR, search_tokens=60, max_turns=3, max_reply=900, positions=20_000
)


def play(*replies: str) -> Any:
    """Return the episode after the replies, and the quality of each."""
    episode = ENVIRONMENT.make_task(EXAMPLE).start()
    qualities = [episode.step([*CHAT.encode(reply), CHAT.stop]) for reply in replies]
    return episode, qualities


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("ada", 1.0),
        ("It is Ada", 0.5),  # of three words one is right, and it is all of "Ada": 2 x 1/3 x 1 / (1/3 + 1)
        ("Ada Holt Quill", 0.8),  # two of three, and all of "Ada Quill": 2 x 2/3 x 1 / (2/3 + 1)
        ("Holt", 0.0),
    ],
)
def test_reward_is_the_f1_of_the_best_answer(answer: str, reward: float) -> None:
    episode, _ = play(SEARCH, finish(answer))
    assert episode.outcome == "answered"
    assert episode.reward == pytest.approx(reward)


def test_broken_form_and_no_answer_earn_nothing() -> None:
    broken, _ = play(SEARCH, "Ada holds it.")
    assert (broken.outcome, broken.reward) == ("malformed", 0.0)
    assert (broken.facts["replies"], broken.facts["well_formed"], broken.facts["correct"]) == (2, 1, False)
    again = write_turn("Hm.", LEVELS[0], KEYS, "search", {"query": "key"})
    endless, _ = play(SEARCH, again, again)
    assert (endless.outcome, endless.reward) == ("turns", 0.0)
    assert (endless.facts["summaries"], endless.facts["inside"]) == (2, 2)


def test_rates_the_summary_of_what_the_selector_keeps() -> None:
    result = play(SEARCH)[0].state.result
    assert KEYS in result
    episode, qualities = play(SEARCH, finish("Ada", "Ada holds the key."))
    assert qualities == [None, quality("Ada holds the key.", result, EXAMPLE.question, LEVELS[0]).total]
    assert (episode.facts["summaries"], episode.facts["inside"]) == (1, 0)
    assert episode.facts["correct"]
