"""The agent as an episode of exact tokens, in every strategy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Document, InvalidInputError
from tersely_agents.agent import Agent, DocumentIndex, StrategyName, reading_tool
from tersely_agents.chat import ScriptedChat
from tersely_agents.memory import AgentMemory
from tests.sdk.agents import COMPRESSOR, call_tag, tagged
from training.rl.engines.random_model import make_tokenizer
from training.rl.language.chat import Chat
from training.rl.language.episodes import AgentTask
from training.rl.rollout import Generation, run_episodes

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
