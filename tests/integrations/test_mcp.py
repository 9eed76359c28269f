"""The tools of the MCP server, called by the client of the package `mcp`."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
from mcp import Client

from tersely import Compressor
from tersely.options import OPTION_FIELDS
from tersely_agents.experience import ExperienceBank
from tersely_mcp import folders, replies, server
from tests.integrations.mcp_client import call, connect, read_details, read_error
from tests.integrations.samples import EXAMPLES, OPTION_NAMES, QUESTION, RecordingCompressor, all_options
from tests.sdk.fakes import BrokenScorer, FakeScorer


async def read_compress_tool(client: Client) -> Any:
    return next(tool for tool in (await client.list_tools()).tools if tool.name == "compress")


def test_a_server_without_a_bank_has_two_tools() -> None:
    async def look(client: Client) -> tuple[list[str], str]:
        return [tool.name for tool in (await client.list_tools()).tools], client.instructions or ""

    names, instructions = connect(look)
    assert names == ["compress", "expand"]
    assert "recall" not in instructions


def test_the_schema_of_compress_describes_every_option() -> None:
    properties = connect(read_compress_tool).input_schema["properties"]
    for option in OPTION_FIELDS:
        assert properties[option.name]["description"] == option.metadata["help"]


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_every_option_reaches_the_compressor(name: str) -> None:
    compressor = RecordingCompressor()
    arguments = {"query": QUESTION, "documents": ["One.", "Two."], name: EXAMPLES[name]}
    assert not call("compress", arguments, compressor).is_error
    default = {} if name in ("budget", "rate") else {"budget": server.DEFAULT_BUDGET}
    assert compressor.received == [all_options(**default, **{name: EXAMPLES[name]})]


def test_without_a_limit_the_default_budget_applies() -> None:
    assert f"{server.DEFAULT_BUDGET} tokens by default" in connect(read_compress_tool).description
    pages = [f"The museum of town {n} is free on day {n} of the month." for n in range(200)]
    reply = read_details(call("compress", {"query": QUESTION, "documents": pages}))
    assert reply["tokens_before"] > 2 * server.DEFAULT_BUDGET
    assert server.DEFAULT_BUDGET // 2 < reply["tokens_after"] <= server.DEFAULT_BUDGET


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": " ", "documents": ["a"]}, "query is empty"),
        ({"query": "q"}, "nothing to compress"),
        ({"documents": ["a"], "recall": 0.9}, "recall needs a query"),
        ({"query": "q", "documents": []}, "nothing to compress"),
        ({"query": "q", "paths": ["missing.md"]}, "No file in the allowed folders"),
        ({"query": "q", "paths": ["town"]}, "No file in the allowed folders"),
        ({"query": "q", "paths": [""]}, "No file in the allowed folders"),
        ({"query": "q", "paths": ["a\0b"]}, "No file in the allowed folders"),
        ({"query": "q", "paths": ["picture.md"]}, "not UTF-8"),
        ({"query": "q", "documents": ["a"], "budget": 0}, "budget is 0. Pass a whole number of tokens"),
        ({"query": "q", "documents": ["a"], "budget": 5, "rate": 0.5}, "Both budget and rate are given"),
        ({"query": "q" * 4001, "documents": ["a"]}, "at most 4000"),
        ({"query": "q", "paths": ["a.md"] * 101}, "101 paths"),
        ({"query": "q", "documents": [7]}, "valid string"),
    ],
)
def test_bad_input_is_explained(allowed: Path, arguments: dict[str, Any], words: str) -> None:
    assert words in read_error("compress", arguments, folders=[allowed])


def test_without_a_query_an_overview_is_kept() -> None:
    note = "The harbour was dug in 1871. " + "It is there. " * 20
    compressor = Compressor(BrokenScorer(RuntimeError("the model was asked")))
    result = call("compress", {"documents": [note], "budget": 12}, compressor)
    assert result.content[0].text == "The harbour was dug in 1871."


def test_too_much_input_is_refused(allowed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_BYTES", 60)
    monkeypatch.setattr(server, "MAX_BYTES", 60)
    paths = {"query": "q", "paths": ["town/*.md"]}
    assert "more than 60 bytes" in read_error("compress", paths, folders=[allowed])
    assert "60 characters" in read_error("compress", {"query": "q", "documents": ["a" * 61]})
    monkeypatch.setattr(folders, "MAX_FILES", 1)
    assert "more than 1 files" in read_error("compress", paths, folders=[allowed])


def test_a_lesson_that_is_too_long_is_refused() -> None:
    lesson = {
        "title": "Prefer the archive",
        "description": "When a question asks for a year.",
        "content": "x" * 4001,
        "problem": "When did the museum open?",
        "success": True,
    }
    with closing(ExperienceBank(":memory:")) as bank:
        assert "4000" in read_error("remember", lesson, experience=bank)


def test_an_id_that_is_no_longer_known_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "MAX_CHARACTERS", 600)

    async def expand_old_id(client: Client) -> Any:
        first = await client.call_tool("compress", {"query": "q", "documents": ["The first text of all."]})
        old_id = read_details(first)["id"]
        await client.call_tool("compress", {"query": "q", "documents": ["Another text that is new."]})
        return await client.call_tool("expand", {"id": old_id})

    result = connect(expand_old_id)
    assert result.is_error
    assert "Compress its documents again" in result.content[0].text


def test_long_documents_are_shown_in_parts() -> None:
    text = "".join(f"Line {i} of the long text.\n" for i in range(2000))

    async def read_in_parts(client: Client) -> str:
        reply = await client.call_tool("compress", {"query": "line", "documents": [text], "budget": 50})
        key = read_details(reply)["id"]
        read = ""
        while len(read) < len(text):
            part = await client.call_tool("expand", {"id": key, "start": len(read)})
            assert read_details(part)["characters"] == len(text)
            assert len(part.content[0].text) <= 20_000
            assert part.content[1].text.startswith(f"[characters {len(read)} to ")
            read += part.content[0].text
        beyond = await client.call_tool("expand", {"id": key, "start": len(text) + 1})
        assert beyond.is_error
        assert "Pass a smaller start" in beyond.content[0].text
        return read

    assert connect(read_in_parts) == text


def test_a_failing_model_gives_what_matches_within_the_limit(caplog: pytest.LogCaptureFixture) -> None:
    broken = Compressor(BrokenScorer(RuntimeError("no memory")))
    arguments = {"query": "q", "documents": ["One.", "Two."], "budget": 2}
    result = call("compress", arguments, broken)
    reply = read_details(result)
    assert (reply["status"], result.content[0].text) == ("degraded", "One.")
    assert "no memory" in reply["reason"]
    assert "no memory" in caplog.text


def test_a_reply_says_that_the_best_unit_did_not_fit() -> None:
    days = "The museum is free on Thursdays and on the first Sunday of every month."
    text = f"{days} It is old. It is red. It is wide."
    arguments = {"query": "On which days is the museum free?", "documents": [text]}
    tight, wide = (read_details(call("compress", {**arguments, "budget": budget})) for budget in (6, 20))
    assert (tight["best_fits"], wide["best_fits"]) == (False, True)


@pytest.mark.parametrize("budget", [100, 200, 500, 1000])
def test_a_reply_is_plain_text_within_the_budget(budget: int) -> None:
    compressor = Compressor(FakeScorer())
    pages = [f'The museum of "town" {n} is free on day {n} of the month.\nIt is old.' for n in range(200)]
    result = call("compress", {"query": QUESTION, "documents": pages, "budget": budget}, compressor)
    shown = "\n".join(part.text for part in result.content)
    assert result.structured_content is None
    assert compressor.count_tokens(shown) <= budget + 1
    assert '"town"' in shown
    if budget >= replies.LEAST_WITH_NOTES:
        assert read_details(result)["id"] in result.content[1].text


def test_what_fits_the_budget_comes_back_whole_and_alone() -> None:
    text = "The museum is free. It is old."
    result = call("compress", {"query": "What is there?", "documents": [text], "rate": 1.0})
    assert [part.text for part in result.content] == [text]


@pytest.mark.parametrize("tool", ["compress", "expand"])
def test_unknown_arguments_are_refused(tool: str) -> None:
    arguments = {"query": QUESTION, "documents": ["One."], "id": "x", "bugdet": 5}
    known = {"compress": ("query", "documents"), "expand": ("id",)}[tool]
    given = {name: value for name, value in arguments.items() if name in (*known, "bugdet")}
    assert "no argument 'bugdet'" in read_error(tool, given)


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("expand", {}, "argument id: Field required"),
        ("compress", {"query": "q", "documents": ["x"], "budget": "many"}, "argument budget"),
        ("compress", {"query": "q", "documents": "x"}, "argument documents"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(tool: str, given: dict[str, Any], words: str) -> None:
    error = read_error(tool, given)
    assert f"{tool} cannot use its {words}" in error
    assert "pydantic" not in error

    async def read_schema(client: Client) -> Any:
        return {one.name: one.input_schema for one in (await client.list_tools()).tools}[tool]

    assert connect(read_schema)["additionalProperties"] is False


def test_every_range_leads_back_to_its_source() -> None:
    rng = random.Random(17)
    words = ["museum", "free", "day", "opens", "harbour", "crane"]

    def random_text() -> str:
        sentences = [
            " ".join(rng.choices(words, k=rng.randint(2, 8))).capitalize() + "."
            for _ in range(rng.randint(1, 6))
        ]
        return " ".join(sentences)

    async def check_replies(client: Client) -> None:
        for _ in range(300):
            texts = [random_text() for _ in range(rng.randint(1, 6))]
            arguments = {"query": QUESTION, "documents": texts, "budget": rng.randint(5, 40)}
            result = await client.call_tool("compress", arguments)
            reply, rest = read_details(result), result.content[0].text
            sources = [int(document["source"]) for document in reply["documents"] + reply["dropped"]]
            assert sorted(sources) == list(range(1, len(texts) + 1)), "each once, also equal ones"
            for document in reply["documents"]:
                original = texts[int(document["source"]) - 1]
                part = {"id": reply["id"], "document": document["number"]}
                assert (await client.call_tool("expand", part)).content[0].text == original
                for start, end in document["kept"]:
                    before, piece, rest = rest.partition(original[start:end])
                    assert piece, "in the order of the text"
                    assert not before.strip(), "and nothing else is in it"
            assert not rest.strip()

    connect(check_replies, Compressor(FakeScorer()))
