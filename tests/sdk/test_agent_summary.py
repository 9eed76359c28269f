"""The strategy "summary": each prompt holds the question, the summary and the last result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely_agents.agent import FolderIndex, search_tools
from tersely_agents.agent.summary import MalformedError, make_prompt, parse_turn, write_grammar
from tersely_agents.agent.tools import finish_tool
from tersely_agents.levels import LEVELS
from tests.sdk.agents import (
    FINISH,
    FOUND,
    QUESTION,
    SEARCH,
    call_tag,
    make_agent,
    requests_of,
    tagged,
    take_turn,
)

GOOD = tagged(SEARCH)


def test_an_episode_from_search_to_answer(folder: Path) -> None:
    agent = make_agent(folder, GOOD, tagged(SEARCH, "Ada holds it.", 2), tagged(FINISH, FOUND))
    state = agent.run(QUESTION)
    assert (state.outcome, state.answer, state.explanation) == ("answered", "Ada", "[notes/keys.md]")
    assert (state.confidence, state.reason) == ("90%", None)
    first, second, third = (request for request, _ in requests_of(agent))
    assert f"[Question]\n{QUESTION}\n\n[Previous summary]\n(none)" in first[1]["content"]
    assert "[docid: notes/keys.md] Keys" in second[1]["content"]
    assert len(third) == 2, "earlier turns are not shown"
    assert "[Previous summary]\nAda holds it.\n" in third[1]["content"]
    one, two, three = state.trace
    assert (one.tool, one.level, one.quality, two.level) == ("search", 1, None, 2)
    assert three.quality is not None
    assert 0 < three.quality <= 1
    assert one.tokens_in > 100
    assert one.tokens_out > 10


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Ada", "<think> has to occur once, and occurs 0 times"),
        (GOOD + GOOD, "occurs 2 times"),
        ("So: " + GOOD, "with nothing around them"),
        (GOOD.replace("\n1\n", "\n6\n"), "a number from 1 to 5"),
        (GOOD.replace("</summary>", ""), "each closed"),
        (SEARCH + GOOD.replace(SEARCH, ""), "in this order"),
        (tagged(call_tag("fly")), "there is no function 'fly', only search, open_page, finish"),
        (tagged(call_tag("search")), "search needs the parameter 'query'"),
        (tagged(call_tag("search", query="x", speed="9")), "has no parameter 'speed'"),
        (tagged("<function=search>spare key</function>"), "is not <parameter=name>"),
    ],
)
def test_a_malformed_turn_is_refused_with_the_cause(folder: Path, text: str, complaint: str) -> None:
    tools = [*search_tools(FolderIndex(folder)), finish_tool()]
    with pytest.raises(MalformedError, match=re.escape(complaint)):
        parse_turn(text, tools, needs_summary=False)


def test_an_empty_summary_is_accepted_if_nothing_is_lost(folder: Path) -> None:
    tools = search_tools(FolderIndex(folder))
    assert parse_turn(GOOD, tools, needs_summary=False).summary == ""
    with pytest.raises(MalformedError, match="what it does not hold is lost"):
        parse_turn(GOOD, tools, needs_summary=True)


def test_a_model_without_the_form_still_leads_to_an_answer(folder: Path) -> None:
    state = make_agent(folder, *["Ada, I think."] * 4).run(QUESTION)
    assert [t.tool for t in state.trace] == ["search", "finish"]
    assert all(t.fallback for t in state.trace)
    assert state.outcome == "answered"
    assert "spare key of the lighthouse is with Ada" in state.answer
    assert state.explanation == "taken from the summary by the compressor"
    assert state.reason == "the model's turns could not be read"


def test_an_error_of_a_tool_is_never_the_answer(folder: Path) -> None:
    missing = call_tag("open_page", docid="x")
    state = make_agent(folder, tagged(missing), *["Ada"] * 4).run(QUESTION)
    assert [t.tool for t in state.trace] == ["open_page", "search", "finish"]
    assert "spare key of the lighthouse is with Ada" in state.answer
    broken = call_tag("search", query="spare key", topk="many")
    state = make_agent(folder, tagged(broken), *["Ada"] * 2).run(QUESTION)
    assert (state.outcome, state.answer) == ("malformed", "")
    assert "nothing was found to answer from" in (state.reason or "")


def test_a_growing_summary_is_bounded(folder: Path) -> None:
    turns = [tagged(SEARCH, "The key of the lighthouse is with Ada. " * 60 * i, 1) for i in range(1, 9)]
    agent = make_agent(folder, *turns, tagged(FINISH, FOUND))
    agent.run(QUESTION)
    longest = LEVELS[-1].characters[1]
    assert max(len(request[1]["content"]) for request, _ in requests_of(agent)) < longest + 2000
    assert len(turns[-1]) > 2 * longest


@pytest.mark.parametrize(
    ("sentence", "level"),
    [("Lamp number {} burns.", 2), ("Holder {}: who has the spare key of the light?", 5)],
)
def test_a_fallback_summary_has_the_level_it_deserves(folder: Path, sentence: str, level: int) -> None:
    (folder / "long.md").write_text(" ".join(sentence.format(i) for i in range(900)))
    page = tagged(call_tag("open_page", docid="long.md"))
    agent = make_agent(folder, page, *["?"] * 2, result_tokens=12_000)
    turn = take_turn(agent, take_turn(agent, agent.start(QUESTION))).trace[-1]
    assert turn.fallback is not None
    assert turn.level == level
    low, high = LEVELS[level - 1].characters
    assert low <= len(turn.summary or "") <= high


def test_prompts_show_levels_and_tools() -> None:
    system = make_prompt([finish_tool()], QUESTION, "", "")[0]["content"]
    assert "1 (ultra-coarse): relevance from 0%, 100 to 500 characters; the subject and the outcome" in system
    assert "5 (ultra-fine): relevance above 80%, 3000 to 6000 characters; all that matters" in system
    assert "answer (required): the answer" in system


def test_an_answer_needs_an_explanation(folder: Path) -> None:
    """ZipRL, appendix U. The other strategies have no such rule."""
    bare = tagged(call_tag("finish", answer="Ada"), FOUND)
    agent = make_agent(folder, GOOD, bare, tagged(FINISH, FOUND))
    state = agent.run(QUESTION)
    assert (state.answer, state.explanation) == ("Ada", "[notes/keys.md]")
    assert "finish needs the parameter 'explanation'" in str(requests_of(agent)[2])


def test_a_summary_of_the_first_turn_has_a_quality_too(folder: Path) -> None:
    """ZipRL's equation 3 is a mean over all turns; without a summary there is nothing to judge."""
    told = make_agent(folder, tagged(SEARCH, "Who holds the spare key?"), tagged(FINISH, FOUND))
    assert told.run(QUESTION).trace[0].quality is not None


ALL = {level.number: level.characters for level in LEVELS}


@pytest.mark.parametrize(
    ("material", "max_tokens", "levels"),
    [
        (0, None, {1: (1, 500)}),
        (40, None, {1: (40, 500)}),
        (499, None, {1: (100, 500)}),
        (500, None, {1: (100, 500), 2: (500, 1000)}),
        (10_000, None, ALL),
        (10_000, 4096, ALL),
        (10_000, 512, {1: (100, 500), 2: (500, 936)}),
    ],
)
def test_the_grammar_offers_the_levels_that_fit(
    material: int, max_tokens: int | None, levels: dict[int, tuple[int, int]]
) -> None:
    tools = [finish_tool(needs_explanation=True)]
    rules = read_summary_rules(write_grammar(tools, material, max_tokens))
    lengths = {level: find_lengths(rule) for level, rule in rules.items()}
    assert {level: (min(found), max(found)) for level, found in lengths.items()} == levels


@given(material=st.integers(0, 7000), max_tokens=st.integers(1, 3000))
def test_a_summary_may_have_every_length_between_the_least_and_the_most(
    material: int, max_tokens: int
) -> None:
    tools = [finish_tool(needs_explanation=True)]
    rules = read_summary_rules(write_grammar(tools, material, max_tokens))
    assert rules
    for rule in rules.values():
        lengths = find_lengths(rule)
        assert lengths == set(range(min(lengths), max(lengths) + 1))


def read_summary_rules(grammar: str) -> dict[int, str]:
    """Return the rule of the summary for the number of each level."""
    pattern = r'"(\d)</summary_level>\\n<summary>" \((.*?)\)\??(?= \| "\d|\) "</summary>)'
    return {int(level): rule for level, rule in re.findall(pattern, grammar.splitlines()[0])}


def find_lengths(rule: str) -> set[int]:
    """Return the lengths of the texts that a rule allows."""
    lengths = {0}
    # `x`, `x{2}` and `x{2,3}` are classes of characters; `(x{100}){0,3}` is a repeated block.
    rule = re.sub(r"\[\^[^\]]*\]", "x", rule)
    for part in re.split(r" (?![^(]*\))", rule):
        found = re.fullmatch(r"\(?x(?:\{(\d+)\}\))?(?:\{(\d+)(?:,(\d+))?\})?", part)
        assert found is not None, part
        size, least, most = found.groups()
        counts = range(int(least or 1), int(most or least or 1) + 1)
        lengths = {length + int(size or 1) * count for length in lengths for count in counts}
    return lengths


def test_a_constrained_agent_sends_a_grammar_of_its_tools(folder: Path) -> None:
    agent = make_agent(folder, GOOD, tagged(FINISH, FOUND), constrained=True)
    agent.run(QUESTION)
    first, second = (options["grammar"] for _, options in requests_of(agent))
    for tool in ("search", "open_page", "open_original", "finish"):
        assert f'"<function={tool}>"' in first
    assert (first.count(")?"), second.count(")?")) == (1, 0), "only the first summary may be empty"
    free = make_agent(folder, GOOD, tagged(FINISH, FOUND))
    free.run(QUESTION)
    assert [options for _, options in requests_of(free)] == [{}, {}]


def test_in_its_last_turn_a_constrained_agent_can_only_answer(folder: Path) -> None:
    agent = make_agent(folder, GOOD, tagged(FINISH, FOUND), constrained=True, max_turns=2)
    assert agent.run(QUESTION).outcome == "answered"
    first, last = (options["grammar"] for _, options in requests_of(agent))
    assert "<function=search>" in first
    assert re.findall(r"<function=(\w+)>", last) == ["finish"]
