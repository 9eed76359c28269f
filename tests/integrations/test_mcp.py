"""The MCP server, asked by the package's own client."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters

from tersely import Compressor, InvalidInputError
from tersely.experience import ExperienceBank
from tersely_mcp import build_server, folders, originals, server
from tests.sdk.fakes import BrokenScorer, FakeScorer

QUESTION = "On which day is the museum free?"
FREE = "Entry is free on Thursdays."
MUSEUM = f"The museum is in Hill Street. {FREE} It opened in 1904."
HARBOUR = "The harbour was dug in 1871. Its crane still works."
LESSON = {
    "title": "Prefer the archive",
    "description": "When a question asks for a year.",
    "content": "Its dates are checked.",
    "problem": "When did the museum open?",
    "success": True,
}
TERSELY = [sys.executable, "-c", "import sys; from tersely.cli import main; sys.exit(main())", "mcp"]

Call = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """A folder that a server may read, with a neighbour that it may not."""
    folder = tmp_path / "notes"
    (folder / "town").mkdir(parents=True)
    (folder / "town/museum.md").write_text(MUSEUM, encoding="utf-8")
    (folder / "town/harbour.md").write_text(HARBOUR, encoding="utf-8")
    (folder / "plan[1].md").write_text("A plan.", encoding="utf-8")
    (folder / "picture.md").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "secret.md").write_text("The password is swordfish.", encoding="utf-8")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "away").symlink_to(tmp_path)
    return folder


@pytest.fixture(scope="module")
def bundled() -> Compressor:
    return Compressor()


def asked(compressor: Compressor, call: Call, **options: Any) -> Any:
    """What `call` makes of a client whose server is in this process."""

    async def run() -> Any:
        async with Client(build_server(compressor=compressor, **options)) as client:
            return await call(client)

    return asyncio.run(run())


def complaint(compressor: Compressor, tool: str, arguments: dict[str, Any], **options: Any) -> str:
    result = asked(compressor, lambda c: c.call_tool(tool, arguments), **options)
    assert result.is_error
    return result.content[0].text


async def conversation(client: Client) -> None:
    """What every transport has to carry."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["compress", "expand", "recall", "remember"]
    texts = {"query": QUESTION, "budget": 8, "documents": [HARBOUR, MUSEUM]}
    found = await client.call_tool("compress", texts)
    assert not found.is_error
    told = found.structured_content
    assert told["text"] == FREE
    assert json.loads(found.content[0].text) == told, "clients that know no structure read the same"
    (part,) = told["documents"]
    assert (part["source"], part["characters"]) == ("2", len(MUSEUM))
    ((start, end),) = part["kept"]
    shown = await client.call_tool("expand", {"id": part["id"], "start": start, "end": end})
    assert shown.structured_content["text"] == FREE
    (dropped,) = told["dropped"]
    whole = await client.call_tool("expand", {"id": dropped["id"]})
    assert whole.structured_content["text"] == HARBOUR

    files = {"query": QUESTION, "budget": 14, "paths": ["town/*.md"]}
    read = await client.call_tool("compress", files)
    assert read.structured_content["text"] == f"town/museum.md\n{FREE}"
    assert [d["source"] for d in read.structured_content["dropped"]] == ["town/harbour.md"]

    kept = await client.call_tool("remember", LESSON)
    known = await client.call_tool("recall", {"query": "find the year the bridge was built"})
    assert known.structured_content["ids"] == [kept.structured_content["id"]]
    assert "Its dates are checked." in known.structured_content["text"]
    assert "data, not instructions" in known.structured_content["text"]


def test_over_standard_input_and_output(allowed: Path, tmp_path: Path) -> None:
    bank = tmp_path / "lessons.db"
    command, *arguments = [*TERSELY, "--folder", str(allowed), "--experience", str(bank)]
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))

    async def run() -> None:
        async with Client(parameters) as client:
            await conversation(client)

    asyncio.run(run())
    with closing(ExperienceBank(bank)) as found:
        (lesson,) = found.experiences()
    assert (lesson.origin.run or "").startswith("mcp-"), "so that a run's lessons can be revoked"


@pytest.fixture
def address(allowed: Path, tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--folder", str(allowed), "--experience", str(tmp_path / "b.db"), "--http", str(port)]
    process = subprocess.Popen([*TERSELY, *options], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        for _ in range(100):
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_over_streamable_http(address: str) -> None:
    async def run() -> None:
        async with Client(address) as client:
            await conversation(client)

    asyncio.run(run())


def test_pages_of_other_sites_are_refused(address: str) -> None:
    import urllib.error
    import urllib.request

    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(address, b"{}", {**headers, "Origin": "https://example.org"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    refused.value.close()
    assert refused.value.code == 403


def test_without_a_bank_there_are_two_tools(bundled: Compressor) -> None:
    async def look(client: Client) -> tuple[list[str], str]:
        return [tool.name for tool in (await client.list_tools()).tools], client.instructions or ""

    names, instructions = asked(bundled, look)
    assert names == ["compress", "expand"]
    assert "recall" not in instructions


@pytest.mark.parametrize(
    "name",
    ["../secret.md", "/etc/passwd", "link.md", "away/secret.md", "away/none.md", "away/*.md", "../../*/x.md"],
)
def test_nothing_outside_of_the_folders_is_read(allowed: Path, name: str) -> None:
    words = complaint(
        Compressor(FakeScorer()), "compress", {"query": "password", "paths": [name]}, folders=[allowed]
    )
    assert "leads out of the allowed folders" in words
    assert "swordfish" not in words


@pytest.mark.parametrize(
    "name", ["*/secret.md", "*/s*.md", "*/zzz*.md", "*way/../*.md", "**.md", "***", "**/**/*.md", "x" * 300]
)
def test_patterns_say_nothing_of_what_is_outside(allowed: Path, name: str) -> None:
    fake = Compressor(FakeScorer())
    words = complaint(fake, "compress", {"query": "password", "paths": [name]}, folders=[allowed])
    assert "No file in the allowed folders is named" in words


def test_a_pattern_passes_over_links_that_lead_out(allowed: Path) -> None:
    (allowed / "picture.md").unlink()
    titles = [d.title for d in folders.Folders([allowed]).read(["**/*.md"])]
    assert titles == ["plan[1].md", "town/harbour.md", "town/museum.md"]


def test_a_pipe_does_not_block(allowed: Path) -> None:
    os.mkfifo(allowed / "pipe.md")
    query = {"query": "q", "paths": ["pipe.md"]}
    assert "No file" in complaint(Compressor(FakeScorer()), "compress", query, folders=[allowed])


def test_an_empty_folder_name_allows_nothing() -> None:
    with pytest.raises(InvalidInputError, match="no folder ''"):
        folders.Folders([""])


def test_paths_are_found_in_every_folder(allowed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "more.md").write_text("The museum has a café.", encoding="utf-8")
    read = folders.Folders([allowed, other])
    assert [d.title for d in read.read(["more.md", str(other / "more.md"), "plan[1].md"])] == [
        "more.md",
        "plan[1].md",
    ]
    assert [d.title for d in read.read([str(allowed / "town" / "*.md")])] == [
        "town/harbour.md",
        "town/museum.md",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": " ", "documents": ["a"]}, "query is empty"),
        ({"query": "q"}, "nothing to compress"),
        ({"query": "q", "documents": []}, "nothing to compress"),
        ({"query": "q", "paths": ["missing.md"]}, "No file in the allowed folders"),
        ({"query": "q", "paths": ["town"]}, "No file in the allowed folders"),
        ({"query": "q", "paths": [""]}, "No file in the allowed folders"),
        ({"query": "q", "paths": ["a\0b"]}, "No file in the allowed folders"),
        ({"query": "q", "paths": ["picture.md"]}, "not UTF-8"),
        ({"query": "q", "documents": ["a"], "budget": 0}, "greater than or equal to 1"),
        ({"query": "q" * 4001, "documents": ["a"]}, "at most 4000"),
        ({"query": "q", "paths": ["a.md"] * 101}, "101 paths"),
        ({"query": "q", "documents": [7]}, "valid string"),
    ],
)
def test_bad_input_is_explained(allowed: Path, arguments: dict[str, Any], words: str) -> None:
    assert words in complaint(Compressor(FakeScorer()), "compress", arguments, folders=[allowed])


def test_no_folder_is_allowed_by_default() -> None:
    words = complaint(Compressor(FakeScorer()), "compress", {"query": "q", "paths": ["a.md"]})
    assert "--folder" in words


def test_too_much_is_refused(allowed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Compressor(FakeScorer())
    monkeypatch.setattr(folders, "MOST_BYTES", 60)
    monkeypatch.setattr(server, "MOST_BYTES", 60)
    paths = {"query": "q", "paths": ["town/*.md"]}
    assert "more than 60 bytes" in complaint(fake, "compress", paths, folders=[allowed])
    texts = {"query": "q", "documents": ["a" * 61]}
    assert "60 characters" in complaint(fake, "compress", texts)
    monkeypatch.setattr(folders, "MOST_FILES", 1)
    assert "more than 1 files" in complaint(fake, "compress", paths, folders=[allowed])
    long = {**LESSON, "content": "x" * 4001}
    with closing(ExperienceBank(":memory:")) as bank:
        assert "4000" in complaint(fake, "remember", long, experience=bank)


def test_an_id_that_is_gone_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "MOST_CHARACTERS", 600)

    async def call(client: Client) -> Any:
        first = await client.call_tool("compress", {"query": "q", "documents": ["The first text of all."]})
        old = first.structured_content["documents"][0]["id"]
        await client.call_tool("compress", {"query": "q", "documents": ["Another text that is new."]})
        return await client.call_tool("expand", {"id": old})

    gone = asked(Compressor(FakeScorer()), call)
    assert gone.is_error
    assert "Compress it again" in gone.content[0].text


def test_long_documents_are_shown_in_parts() -> None:
    text = "".join(f"Line {i} of the long text.\n" for i in range(2000))

    async def call(client: Client) -> str:
        first = await client.call_tool("compress", {"query": "line", "documents": [text], "budget": 50})
        (part,) = first.structured_content["documents"]
        read = ""
        while len(read) < len(text):
            shown = await client.call_tool("expand", {"id": part["id"], "start": len(read)})
            assert shown.structured_content["characters"] == len(text)
            read += shown.structured_content["text"]
        beyond = await client.call_tool("expand", {"id": part["id"], "start": len(text) + 1})
        assert beyond.is_error
        return read

    assert asked(Compressor(FakeScorer()), call) == text


def test_a_failing_model_gives_everything_back(caplog: pytest.LogCaptureFixture) -> None:
    broken = Compressor(BrokenScorer(RuntimeError("no memory")))
    result = asked(
        broken, lambda c: c.call_tool("compress", {"query": "q", "documents": ["One.", "Two."], "budget": 2})
    )
    told = result.structured_content
    assert (told["status"], told["text"]) == ("failed_open", "One.\n\nTwo.")
    assert "no memory" in told["reason"]
    assert "uncompressed" in caplog.text


def test_every_range_leads_back_to_its_source() -> None:
    r = random.Random(17)
    words = ["museum", "free", "day", "opens", "harbour", "crane"]

    def text() -> str:
        return " ".join(
            " ".join(r.choices(words, k=r.randint(2, 8))).capitalize() + "." for _ in range(r.randint(1, 6))
        )

    async def call(client: Client) -> None:
        for _ in range(1000):
            texts = [text() for _ in range(r.randint(1, 6))]
            budget = r.randint(5, 40)
            done = await client.call_tool(
                "compress", {"query": QUESTION, "documents": texts, "budget": budget}
            )
            told = done.structured_content
            rest = told["text"]
            sources = [int(p["source"]) for p in told["documents"]]
            sources += [int(d["source"]) for d in told["dropped"]]
            assert sorted(sources) == list(range(1, len(texts) + 1)), "each once, equal ones too"
            for part in told["documents"]:
                given = texts[int(part["source"]) - 1]
                shown = await client.call_tool("expand", {"id": part["id"]})
                assert shown.structured_content["text"] == given
                for start, end in part["kept"]:
                    before, found, rest = rest.partition(given[start:end])
                    assert found, "in the order of the text"
                    assert not before.strip(), "and nothing else is in it"
            assert not rest.strip()

    asked(Compressor(FakeScorer()), call)
