"""Agent memories: replays by hand, the bill of summaries, and the comparison."""

from __future__ import annotations

import pytest

from benchmarks.memory.__main__ import SETS
from benchmarks.memory.comparison import compare, list_memories
from benchmarks.memory.memories import MASK, DropOldest, Everything, MaskObservations, Tersely
from benchmarks.memory.replay import count_orphans, replay, sum_prices
from benchmarks.memory.report import render
from benchmarks.memory.rows import MemoryRun
from benchmarks.memory.stress import run_long_task
from benchmarks.memory.transcripts import Transcript, find_facts
from tersely import Compressor
from tersely.messages import measure_tokens
from tersely_agents.chat import ScriptedChat
from tests.benchmarks.conversations import FIRST, REST, make_call, make_result, make_steps
from tests.benchmarks.fakes import ENVIRONMENT
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer())
COUNT = COMPRESSOR.count_tokens
TRANSCRIPT = Transcript("t", FIRST, REST, find_facts(FIRST, REST))


@pytest.mark.parametrize("name", SETS)
def test_every_memory_has_room_for_a_short_first_prompt(name: str) -> None:
    transcript = Transcript("a", FIRST, [], {})
    for make in list_memories(COMPRESSOR, SETS[name][1]).values():
        assert make(transcript).context() == FIRST


def test_a_replay_counts_tokens_and_facts() -> None:
    account = replay(TRANSCRIPT, Everything(FIRST), COUNT)
    sizes = [measure_tokens([*FIRST, *REST[:n]], COUNT) for n in (0, 3, 5)]
    assert (len(account.calls), account.read, account.cached) == (3, sum(sizes), sizes[0] + sizes[1])
    assert (account.held, account.needed, account.orphans, account.longest) == (4, 4, 0, sizes[2])
    assert sum_prices([account], cache=False) == sum(sizes)
    assert sum_prices([account], cache=True) == pytest.approx(sizes[2] + 0.1 * (sizes[0] + sizes[1]))


def test_masking_hides_all_but_the_last_results() -> None:
    memory = MaskObservations(FIRST, 1)
    for message in REST[:6]:
        memory.append(message)
    results = [message["content"] for message in memory.context() if message["role"] == "tool"]
    assert results == [MASK, "Elsa costs 120, Nora 95."]
    account = replay(TRANSCRIPT, MaskObservations(FIRST, 1), COUNT)
    assert (account.held, account.needed) == (4, 4)
    other = Transcript("t", FIRST, REST, {5: ["BX-771x", "Elsa costs"]})
    assert replay(other, MaskObservations(FIRST, 1), COUNT).held == 1


def test_dropping_the_oldest_keeps_calls_with_their_results() -> None:
    for limit in range(20, 200, 5):
        memory = DropOldest(FIRST, limit, COUNT)
        for message in REST:
            memory.append(message)
            if message["role"] != "assistant":
                assert count_orphans(memory.context()) == 0
        assert measure_tokens(memory.context(), COUNT) < limit or memory.context() == FIRST


def test_calls_without_results_and_results_without_calls_are_orphans() -> None:
    assert count_orphans(REST) == 0
    assert count_orphans([REST[1]]) == 1
    assert count_orphans([REST[0], REST[2]]) == 1
    assert count_orphans([REST[0], REST[1], REST[3]]) == 1


def test_summaries_of_a_model_are_billed() -> None:
    memory = Tersely(FIRST, 600, COMPRESSOR, ScriptedChat(lambda _: "Some notes."))
    account = replay(Transcript("t", FIRST, make_steps(12, "word " * 60), {}), memory, COUNT)
    read, written = memory.summary_tokens
    assert read > 500
    assert written % COUNT("Some notes.") == 0
    assert written > 0
    assert sum_prices([account], cache=False) == account.read + 5 * written
    assert account.longest < 600


def test_langchain_summarises_with_the_same_model() -> None:
    pytest.importorskip("langchain")
    from benchmarks.memory.langchain_memory import LangChainSummaries

    rest = make_steps(30, "word " * 60)
    model = ScriptedChat(lambda _: "Some notes.")
    memory = LangChainSummaries(FIRST, 1500, model, COUNT)
    account = replay(Transcript("t", FIRST, rest, {59: ["Some notes."]}), memory, COUNT)
    assert model.requests
    assert memory.summary_tokens[1] == COUNT("Some notes.") * len(model.requests)
    assert account.orphans == 0
    context = memory.context()
    assert context[0] == FIRST[0]
    assert any("Some notes." in str(m["content"]) for m in context)
    assert len(context) < len(rest)
    assert context[-1]["content"] == rest[-1]["content"]


def test_tersely_is_compared_with_each_other_memory_at_no_higher_bill() -> None:
    rest = [*make_steps(15, "Berth 100{i} is free. " * 20), make_call("x", berth=1007)]
    rest.append(make_result("x", "Done."))
    transcripts = [Transcript("t", FIRST, rest, find_facts(FIRST, rest))] * 2
    compared = compare("some", transcripts, list_memories(COMPRESSOR, (500,)), COMPRESSOR, 13)
    rows = {row.system: row for row in compared.rows}
    everything = rows["everything"]
    assert (everything.held.low, everything.held.value) == (100.0, 100.0)
    assert all(row.orphans == 0 for row in rows.values())
    assert everything.against is not None
    assert rows[everything.against.setting].billed <= everything.billed
    stress = run_long_task(COMPRESSOR, 2000, 13)
    assert stress.longest < 2000
    assert stress.summaries > 10
    text = render(MemoryRun("memory", ENVIRONMENT, "m", None, 13, (compared,), stress))
    assert "| everything |" in text
    assert "| **tersely, 500 tokens** |" in text
