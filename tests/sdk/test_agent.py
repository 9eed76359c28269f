from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor, InvalidInputError
from tersely.agent import Agent, FolderIndex, Tool, ToolError, search_tools, trace, ziprl
from tersely.agent.tools import finish_tool
from tersely.agent.ziprl import MalformedError, parse
from tersely.chat import ChatError, Reply, ScriptedChat, ToolCall, Usage
from tersely.chat.transcript import size
from tersely.experience import Experience, ExperienceBank
from tersely.levels import LEVELS
from tersely.memory import AgentMemory
from tests.sdk.fakes import FakeScorer
from tests.sdk.test_experience import Letters

COMPRESSOR = Compressor(FakeScorer())
QUESTION = "Who holds the spare key of the lighthouse?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "keys.md").write_text(
        "# Keys\n\nThe spare key of the lighthouse is with Ada. The boat house has no lock.", encoding="utf-8"
    )
    (tmp_path / "garden.txt").write_text("The pears are ripe in September.", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "empty.md").write_text("  \n")
    return tmp_path


def ziprl_turn(call: str, summary: str = "", level: int = 1) -> str:
    parts = {"think": "Hm.", "summary_level": level, "summary": summary}
    return "".join(f"<{tag}>\n{text}\n</{tag}>\n" for tag, text in parts.items()) + call


def function(name: str, **parameters: str) -> str:
    body = "".join(f"\n<parameter={key}>{value}</parameter>" for key, value in parameters.items())
    return f"<function={name}>{body}\n</function>"


SEARCH = function("search", query="spare key lighthouse")
FINISH = function("finish", answer="Ada", explanation="[notes/keys.md]", confidence="90%")
FOUND = "The spare key of the lighthouse is with Ada [docid: notes/keys.md]."


def agent(folder: Path, *script: Any, **options: Any) -> Agent:
    return Agent(ScriptedChat(script), search_tools(FolderIndex(folder)), compressor=COMPRESSOR, **options)


def asked(of: Agent) -> list[tuple[list[Any], dict[str, Any]]]:
    assert isinstance(of.model, ScriptedChat)
    return of.model.asked


# Search


def test_a_folder_is_found_by_its_passages(folder: Path) -> None:
    index = FolderIndex(folder)
    assert len(index) == 2
    (hit,) = index.search("spare key", 5)
    assert (hit.docid, hit.title) == ("notes/keys.md", "Keys")
    assert "with Ada" in hit.passage
    assert index.search("zebra", 5) == []
    assert index.open("garden.txt").title == "garden"
    with pytest.raises(KeyError):
        index.open("../secrets.txt")


def test_a_long_document_counts_as_its_best_passage(tmp_path: Path) -> None:
    filler = "\n\n".join(f"Paragraph {i} is about the weather of the coast." * 5 for i in range(40))
    (tmp_path / "long.md").write_text(f"# Coast\n\n{filler}\n\nThe tower is of granite.\n\n{filler}")
    (hit,) = FolderIndex(tmp_path).search("granite tower", 3)
    assert "The tower is of granite." in hit.passage
    assert len(hit.passage) <= 1000


def test_folders_without_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="holds no text"):
        FolderIndex(tmp_path)
    with pytest.raises(InvalidInputError, match="There is no folder"):
        FolderIndex(tmp_path / "missing")


# ZipRL's policy


def test_a_task_from_search_to_answer(folder: Path) -> None:
    able = agent(folder, ziprl_turn(SEARCH), ziprl_turn(FINISH, FOUND, 1))
    state = able.run(QUESTION)
    assert (state.outcome, state.answer, state.explanation) == ("answered", "Ada", "[notes/keys.md]")
    assert (state.confidence, state.reason) == ("90%", None)
    first, second = (request for request, _ in asked(able))
    assert (
        "[Question]\nWho holds the spare key of the lighthouse?\n\n[Previous summary]\n(none)"
        in first[1]["content"]
    )
    assert "[docid: notes/keys.md] Keys" in second[1]["content"]
    assert len(second) == 2, "earlier turns are not shown"
    one, two = state.trace
    assert (one.tool, one.level, one.quality) == ("search", 1, None)
    assert two.quality is not None
    assert 0 < two.quality <= 1
    assert one.tokens_in > 100
    assert one.tokens_out > 10


def test_the_summary_is_what_the_next_turn_knows(folder: Path) -> None:
    able = agent(
        folder, ziprl_turn(SEARCH), ziprl_turn(SEARCH, "Ada holds it.", 2), ziprl_turn(FINISH, FOUND)
    )
    state = able.run(QUESTION)
    assert "[Previous summary]\nAda holds it.\n" in asked(able)[2][0][1]["content"]
    assert state.trace[1].level == 2


GOOD = ziprl_turn(SEARCH)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Ada", "<think> has to occur once, and occurs 0 times"),
        (GOOD + GOOD, "occurs 2 times"),
        ("So: " + GOOD, "with nothing around them"),
        (GOOD.replace("\n1\n", "\n6\n"), "a number from 1 to 5"),
        (GOOD.replace("</summary>", ""), "each closed"),
        (SEARCH + GOOD.replace(SEARCH, ""), "in this order"),
        (ziprl_turn(function("fly")), "there is no function 'fly', only search, open_page, finish"),
        (ziprl_turn(function("search")), "search needs the parameter 'query'"),
        (ziprl_turn(function("search", query="x", speed="9")), "has no parameter 'speed'"),
        (ziprl_turn("<function=search>spare key</function>"), "is no <parameter=name>"),
    ],
)
def test_turns_that_are_none_are_named(folder: Path, text: str, complaint: str) -> None:
    tools = [*search_tools(FolderIndex(folder)), finish_tool()]
    with pytest.raises(MalformedError, match="(?s)" + complaint.replace("(", "\\(").replace("[", "\\[")):
        parse(text, tools, something_to_keep=False)


def test_an_empty_summary_is_fine_only_where_nothing_is_lost(folder: Path) -> None:
    tools = search_tools(FolderIndex(folder))
    assert parse(GOOD, tools, something_to_keep=False).summary == ""
    with pytest.raises(MalformedError, match="what it does not hold is lost"):
        parse(GOOD, tools, something_to_keep=True)


def test_a_malformed_turn_is_corrected_once(folder: Path) -> None:
    able = agent(folder, "I will search.", ziprl_turn(SEARCH), ziprl_turn(FINISH, FOUND))
    state = able.run(QUESTION)
    assert state.answer == "Ada"
    assert [t.retried for t in state.trace] == [True, False]
    assert [t.fallback for t in state.trace] == [None, None]
    request = asked(able)[1][0]
    assert request[-2] == {"role": "assistant", "content": "I will search."}
    assert "occurs 0 times" in request[-1]["content"]


def test_a_model_that_never_speaks_the_format_still_leads_to_an_answer(folder: Path) -> None:
    state = agent(folder, *["Ada, I think."] * 4).run(QUESTION)
    assert [t.tool for t in state.trace] == ["search", "finish"]
    assert all(t.fallback for t in state.trace)
    assert state.outcome == "answered"
    assert "spare key of the lighthouse is with Ada" in state.answer
    assert state.explanation == "taken from the summary by the compressor"
    assert state.reason == "the model's turns could not be read"


def test_a_complaint_of_a_tool_is_no_answer(folder: Path) -> None:
    missing = function("open_page", docid="x")
    state = agent(folder, ziprl_turn(missing), *["Ada"] * 4).run(QUESTION)
    assert [t.tool for t in state.trace] == ["open_page", "search", "finish"]
    assert "spare key of the lighthouse is with Ada" in state.answer
    broken = function("search", query="spare key", topk="many")
    state = agent(folder, ziprl_turn(broken), *["Ada"] * 2).run(QUESTION)
    assert (state.outcome, state.answer) == ("failed", "")
    assert state.reason is not None
    assert "nothing was found to answer from" in state.reason


def test_a_summary_that_only_grows_is_bounded(folder: Path) -> None:
    turns = [ziprl_turn(SEARCH, "The key of the lighthouse is with Ada. " * 60 * i, 1) for i in range(1, 9)]
    able = agent(folder, *turns, ziprl_turn(FINISH, FOUND))
    able.run(QUESTION)
    longest = LEVELS[-1].characters[1]
    sizes = [len(request[1]["content"]) for request, _ in asked(able)]
    assert max(sizes) < longest + 2000
    assert len(turns[-1]) > 2 * longest


def test_of_a_malformed_turn_the_call_is_used_where_it_can_be_read(folder: Path) -> None:
    state = agent(folder, *[f"Let me look. {SEARCH}"] * 2, ziprl_turn(FINISH, FOUND)).run(QUESTION)
    assert state.trace[0].arguments == {"query": "spare key lighthouse"}
    assert state.trace[0].fallback is not None


def test_a_fallback_keeps_to_the_level_of_the_material(folder: Path) -> None:
    (folder / "long.md").write_text(" ".join(f"Key number {i} is of brass." for i in range(900)))
    able = agent(
        folder,
        *["?"] * 2,
        ziprl_turn(function("open_page", docid="long.md"), FOUND),
        *["?"] * 2,
        result_tokens=6000,
    )
    state = able.start(QUESTION)
    for _ in range(3):
        state = able.step(state)
    turn = state.trace[-1]
    assert turn.level is not None
    assert turn.summary is not None
    low, high = LEVELS[turn.level - 1].characters
    assert low <= len(turn.summary) <= high


def test_tools_that_fail_are_data(folder: Path) -> None:
    def broken(_: Mapping[str, str]) -> str:
        raise ConnectionError("the archive is closed")

    tools = [Tool("archive", "asks the archive", {}, broken), *search_tools(FolderIndex(folder))]
    script = [
        ziprl_turn(function("archive")),
        ziprl_turn(function("open_page", docid="x"), "Nothing yet."),
        ziprl_turn(FINISH, FOUND),
    ]
    able = Agent(ScriptedChat(script), tools, compressor=COMPRESSOR)
    state = able.run(QUESTION)
    assert [t.error for t in state.trace] == [
        "ConnectionError: the archive is closed",
        "there is no document 'x'; take a docid from a search result",
        None,
    ]
    assert "[error: ConnectionError" in asked(able)[1][0][1]["content"]


def test_large_results_are_compressed_for_the_question(folder: Path) -> None:
    text = (
        " ".join(f"Filler {i} says nothing." for i in range(400))
        + " The spare key of the lighthouse is with Ada."
    )
    (folder / "long.md").write_text(text)
    able = agent(
        folder,
        ziprl_turn(function("open_page", docid="long.md")),
        ziprl_turn(FINISH, FOUND),
        result_tokens=200,
    )
    state = able.run(QUESTION)
    shown = asked(able)[1][0][1]["content"].split("[Tool result]\n")[1]
    assert COMPRESSOR.count_tokens(shown) <= 200
    assert "spare key of the lighthouse is with Ada" in shown
    assert state.trace[0].result_tokens > 1000


@pytest.mark.parametrize("policy", ["ziprl", "react"])
def test_what_was_shortened_can_be_opened(folder: Path, policy: Any) -> None:
    text = " ".join(f"Filler {i} says nothing." for i in range(400))
    (folder / "long.md").write_text(text)

    def speak(messages: Any) -> Any:
        said = str(messages[-1]["content"])
        if "id of the original: " in said:
            key = said.split("id of the original: ")[1][:12]
            if policy == "ziprl":
                return ziprl_turn(function("open_original", id=key, part="2"), "Nothing yet.")
            return calls(("open_original", {"id": key, "part": 2}))
        if "[part 2 of " in said:
            return ziprl_turn(FINISH, FOUND) if policy == "ziprl" else Reply("Ada")
        page = {"docid": "long.md"}
        return ziprl_turn(function("open_page", **page)) if policy == "ziprl" else calls(("open_page", page))

    tools = search_tools(FolderIndex(folder))
    able = Agent(
        ScriptedChat(speak), tools, policy=policy, result_tokens=200, compressor=COMPRESSOR, max_turns=5
    )
    state = able.run(QUESTION)
    assert state.outcome == "answered"
    assert [t.tool for t in state.trace][:2] == ["open_page", "open_original"]
    assert [t.error for t in state.trace] == [None] * 3
    assert text[600:700] in str(asked(able)[-1][0])


def test_turns_are_limited(folder: Path) -> None:
    state = agent(folder, *[ziprl_turn(SEARCH, FOUND)] * 5, max_turns=3).run(QUESTION)
    assert (state.outcome, len(state.trace)) == ("turns", 3)
    assert state.reason == "there is no answer after 3 turns"


def test_a_model_that_is_down_ends_the_task(folder: Path) -> None:
    state = agent(folder, ziprl_turn(SEARCH), ChatError("small cannot be reached")).run(QUESTION)
    assert (state.outcome, state.reason) == ("failed", "small cannot be reached")
    assert [(t.tool, t.error) for t in state.trace] == [("search", None), (None, "small cannot be reached")]


@pytest.mark.parametrize("policy", ["supo", "react"])
def test_a_model_that_says_nothing_is_asked_once_more(folder: Path, policy: Any) -> None:
    state = agent(folder, "<think>Hm.</think>", "Ada has it.", policy=policy).run(QUESTION)
    assert (state.outcome, state.answer) == ("answered", "Ada has it.")
    able = agent(folder, "", Reply("", finish="length"), policy=policy)
    state = able.run(QUESTION)
    assert (state.outcome, state.answer) == ("failed", "")
    assert state.reason == "scripted twice said nothing"
    paid = sum(size(messages, COMPRESSOR.count_tokens) for messages, _ in asked(able))
    assert state.trace[0].tokens_in == paid, "both calls are paid"
    assert state.memory is not None
    assert state.memory.transcript.messages[-1]["content"] == QUESTION, "the reminder is not kept"


def test_steps_are_a_function_of_the_state(folder: Path) -> None:
    able = agent(folder, *[ziprl_turn(SEARCH), ziprl_turn(SEARCH)])
    start = able.start(QUESTION)
    one, other = able.step(start), able.step(start)
    assert (one.result, one.summary) == (other.result, other.summary)
    assert start.trace == ()
    done = agent(folder, ziprl_turn(FINISH)).run(QUESTION)
    assert able.step(done) is done


def test_experience_is_recalled_by_a_tool(folder: Path) -> None:
    bank = ExperienceBank(":memory:", Letters())
    bank.add(
        Experience("Ask for keys", "When a key is wanted.", "Search for the object first.", QUESTION, True)
    )
    able = agent(
        folder,
        ziprl_turn(function("retrieve_experience", query="find a key")),
        ziprl_turn(FINISH, FOUND),
        experience=bank,
    )
    state = able.run(QUESTION)
    assert state.outcome == "answered"
    assert "retrieve_experience: recalls" in asked(able)[0][0][0]["content"]
    assert "Search for the object first." in asked(able)[1][0][1]["content"]
    (lesson,) = bank.experiences()
    assert state.recalled == (lesson.id,)
    bank.record_use(state.recalled, True)
    assert bank.get(lesson.id).wins == 1


# Policies with a transcript


def calls(*named: tuple[str, Any], text: str = "") -> Reply:
    made = tuple(
        ToolCall(f"c{i}-{name}", name, a if isinstance(a, str) else json.dumps(a))
        for i, (name, a) in enumerate(named)
    )
    return Reply(text, made, "tool_calls", Usage(100, 10))


def test_calls_of_one_reply_are_one_turn(folder: Path) -> None:
    five = [("search", {"query": word}) for word in ("spare", "key", "lighthouse", "Ada", "lock")]
    able = agent(folder, calls(*five), calls(("finish", {"answer": "Ada"})), policy="react", max_turns=2)
    state = able.run(QUESTION)
    assert (state.outcome, state.turns) == ("answered", 2)
    assert [t.turn for t in state.trace] == [1] * 5 + [2]


def test_a_step_that_broke_between_call_and_result_can_be_repeated(folder: Path) -> None:
    able = agent(folder, calls(("finish", {"answer": "Ada"})), policy="react")
    state = able.start(QUESTION)
    assert state.memory is not None
    state.memory.append({"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]})
    assert able.step(state).answer == "Ada"


TOOL_CALL = {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}


@pytest.mark.parametrize("policy", ["react", "supo"])
def test_transcripts_use_tool_calls(folder: Path, policy: Any) -> None:
    able = agent(
        folder,
        calls(("search", {"query": "spare key"}), ("open_page", {"docid": "garden.txt"}), text="Let me see."),
        calls(("finish", {"answer": "Ada", "confidence": 90})),
        policy=policy,
    )
    state = able.run(QUESTION)
    assert (state.outcome, state.answer, state.confidence) == ("answered", "Ada", "90")
    assert [t.tool for t in state.trace] == ["search", "open_page", "finish"]
    assert sum(t.tokens_in for t in state.trace) == 200, "a turn with two calls is paid once"
    request, options = asked(able)[1]
    assert [m["role"] for m in request] == ["system", "user", "assistant", "tool", "tool"]
    assert {t["function"]["name"] for t in options["tools"]} == {
        "search",
        "open_page",
        "open_original",
        "finish",
    }
    assert state.memory is not None
    assert state.memory.transcript.ending == "finished"
    (part,) = state.memory.transcript.trajectory()
    assert sum(part.mask) == 2


def test_text_without_a_call_is_the_answer(folder: Path) -> None:
    state = agent(folder, Reply("Ada holds it."), policy="react").run(QUESTION)
    assert (state.outcome, state.answer) == ("answered", "Ada holds it.")


def test_bad_calls_are_answered_with_what_is_wrong(folder: Path) -> None:
    able = agent(
        folder,
        calls(("fly", {}), ("search", "{"), ("search", "[]"), ("search", {})),
        Reply("Ada"),
        policy="react",
    )
    state = able.run(QUESTION)
    errors = [m["content"] for m in asked(able)[1][0] if m["role"] == "tool"]
    assert "there is no tool 'fly'" in errors[0]
    assert "no JSON" in errors[1]
    assert "no JSON object" in errors[2]
    assert "needs the parameter 'query'" in errors[3]
    assert all(t.error for t in state.trace[:4])


def test_a_memory_that_resets_carries_a_long_task(folder: Path) -> None:
    (folder / "long.md").write_text(" ".join(f"Key number {i} is of brass." for i in range(300)))
    page = calls(("open_page", {"docid": "long.md"}))
    script: list[Any] = []
    for _ in range(30):
        script.append(page)

    def speak(messages: Any) -> Any:
        if "Write the notes only" in messages[-1]["content"]:
            return "Looked at keys; none is the spare one."
        return script.pop() if len(script) > 5 else calls(("finish", {"answer": "Ada"}))

    def memory(first: list[Any]) -> AgentMemory:
        return AgentMemory(first, limit=1000, compressor=COMPRESSOR)

    able = Agent(
        ScriptedChat(speak),
        search_tools(FolderIndex(folder)),
        policy="supo",
        memory=memory,
        max_turns=100,
        result_tokens=300,
        compressor=COMPRESSOR,
    )
    state = able.run(QUESTION)
    assert (state.outcome, len(state.trace)) == ("answered", 26)
    assert state.memory is not None
    assert state.memory.transcript.resets > 5
    notes = [m for m, _ in asked(able) if "Write the notes only" in m[-1]["content"]]
    paid = 26 * 100 + sum(size(messages, COMPRESSOR.count_tokens) for messages in notes)
    assert sum(t.tokens_in for t in state.trace) == paid, "summaries are paid too"
    for messages, _ in asked(able):
        assert QUESTION in messages[1]["content"]


def test_an_overlong_memory_ends_the_task(folder: Path) -> None:
    def memory(first: list[Any]) -> AgentMemory:
        return AgentMemory(first, limit=600, max_summaries=1, compressor=COMPRESSOR)

    (folder / "long.md").write_text(" ".join(f"Key number {i} is of brass." for i in range(300)))
    script = [calls(("open_page", {"docid": "long.md"})), "Notes."] * 9
    state = agent(folder, *script, policy="supo", memory=memory).run(QUESTION)
    assert state.outcome == "overlong"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"policy": "magic"}, "Pass one of 'ziprl', 'supo', 'react'"),
        ({"memory": lambda first: AgentMemory(first, limit=600)}, "Pass policy='supo'"),
        ({"max_turns": 0}, "1 or more"),
        ({"memory": "my memory", "policy": "supo"}, "Pass a function that makes one"),
    ],
)
def test_bad_settings(folder: Path, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        agent(folder, **options)
    with pytest.raises(InvalidInputError, match="a name of its own"):
        Agent(ScriptedChat([]), [finish_tool()], compressor=COMPRESSOR)
    with pytest.raises(InvalidInputError, match="The query is empty"):
        agent(folder).run(" ")


def test_tools_complain_in_words(folder: Path) -> None:
    search = search_tools(FolderIndex(folder))[0]
    with pytest.raises(ToolError, match="whole number"):
        search.run({"query": "x", "topk": "many"})
    assert search.run({"query": "zebra"}) == "Nothing was found. Try other words."
    assert search.schema()["function"]["parameters"]["required"] == ["query"]


# Traces


def test_traces_are_json_lines_and_a_table(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    state = agent(folder, "?", ziprl_turn(SEARCH), ziprl_turn(FINISH, FOUND), trace_file=file).run(QUESTION)
    assert trace.read(file) == list(state.trace)
    shown = trace.table(trace.read(file))
    assert "search(spare key lighthouse) [retried]" in shown
    assert "finish(Ada" in shown
    assert shown.splitlines()[-1].split()[0] == "all"
    assert all(len(line) <= 100 for line in shown.splitlines())
    again = agent(folder, ziprl_turn(FINISH), trace_file=file).run(QUESTION)
    assert [t.task for t in trace.read(file)] == [state.task, state.task, again.task]
    assert "" in trace.table(trace.read(file)).splitlines()
    file.write_text("")
    assert trace.read(file) == []
    file.write_text('{"turn": 1}\n')
    with pytest.raises(InvalidInputError, match="line 1 is no turn"):
        trace.read(file)


def test_prompts_show_levels_and_tools(folder: Path) -> None:
    system = ziprl.messages([finish_tool()], QUESTION, "", "")[0]["content"]
    assert "1 (ultra-coarse): relevance from 0%, 100 to 500 characters" in system
    assert "answer (required): the answer" in system


def test_servers_and_tools_that_are_careless_do_not_stop_the_task(folder: Path) -> None:
    tools = [Tool("clock", "tells the time", {}, lambda _: None), *search_tools(FolderIndex(folder))]
    made = (ToolCall("", "clock", ""), ToolCall("", "open_page", '{"docid": null, "url": "notes/keys.md"}'))
    script = [Reply("", made), Reply("<think>Hm.</think>Ada")]
    able = Agent(ScriptedChat(script), tools, policy="react", compressor=COMPRESSOR)
    state = able.run(QUESTION)
    assert state.answer == "Ada"
    results = [m for m in asked(able)[1][0] if m["role"] == "tool"]
    assert len({m["tool_call_id"] for m in results}) == 2
    assert "clock gave a NoneType" in results[0]["content"]
    assert "spare key" in results[1]["content"]


def test_a_trace_may_hold_any_text(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    odd = ziprl_turn(function("search", query="key\u2028 \ud800"))
    state = agent(folder, odd, ziprl_turn(FINISH, FOUND), trace_file=file).run(QUESTION)
    assert trace.read(file) == list(state.trace)
