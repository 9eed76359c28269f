"""Documents and requests that the command reads, and those that it refuses."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from tersely import InvalidInputError
from tersely.cli.read import Request, demo_documents, read_files, read_requests
from tersely.types import Document


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(file: Path, content: str | bytes) -> None:
    file.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize(
    ("name", "form", "content", "documents"),
    [
        (
            "note.md",
            "auto",
            text := "\r\nFirst.\r\n\tSecond — naïve.\n\n中文。 ",
            [Document(text, id="note.md")],
        ),
        ("note.txt", "auto", b"\xef\xbb\xbfHello.", [Document("Hello.", id="note.txt")]),
        ("log.jsonl", "text", '{"text": "One."}', [Document('{"text": "One."}', id="log.jsonl")]),
        ("docs.txt", "jsonl", '{"text": "One."}\n\n"Two."', [Document("One."), Document("Two.")]),
        (
            "docs.JSONL",
            "auto",
            '{"text": "One.", "title": "First", "id": "a"}\n'
            '{"text": "Two.", "id": 7, "metadata": {"page": 3}, "source": "web"}\n',
            [Document("One.", "First", "a"), Document("Two.", None, "7", {"page": 3, "source": "web"})],
        ),
        ("docs.ndjson", "auto", '{"text": "a\u2028b\x85c"}\n', [Document("a\u2028b\x85c")]),
    ],
)
def test_a_file_is_text_or_json_lines(
    folder: Path, name: str, form: Any, content: str | bytes, documents: list[Document]
) -> None:
    write(folder / name, content)
    assert read_files([name], form) == documents


@pytest.mark.parametrize(
    ("content", "documents"),
    [
        ('\n{"text": "One."}\r\n"Two."\n', [Document("One."), Document("Two.")]),
        ('{"level": "info"}\n{"level": "warn"}\n', [Document('{"level": "info"}\n{"level": "warn"}\n')]),
        ("[" * 200_000, [Document("[" * 200_000)]),
    ],
    ids=["documents", "other JSON", "deep JSON"],
)
def test_stdin_is_text_unless_it_starts_with_a_document(
    monkeypatch: pytest.MonkeyPatch, content: str, documents: list[Document]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert read_files([], "auto") == documents


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "broken', "docs.jsonl, line 2: not valid JSON"),
        ('{"text": NaN}', "docs.jsonl, line 2: not valid JSON (NaN is not JSON)"),
        ("[" * 200_000, "docs.jsonl, line 2: the JSON is nested too deeply"),
        ("[1]", "line 2: is a list"),
        ('{"title": "No text"}', "line 2: has no 'text' key"),
        ('{"text": 5}', "line 2: has a text that is an int"),
        ('{"text": "a", "title": true}', "line 2: has a title that is True"),
        ('{"text": "a", "id": true}', "line 2: has an id that is True"),
        ('{"text": "a", "metadata": "b"}', "metadata"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(folder: Path, line: str, message: str) -> None:
    write(folder / "docs.jsonl", f'{{"text": "good"}}\n{line}\n')
    with pytest.raises(InvalidInputError) as error:
        read_files(["docs.jsonl"], "auto")
    assert message in str(error.value)


@pytest.mark.parametrize("names", [[], ["-"]], ids=["no name", "a dash"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "good"}\nbad\n', "standard input, line 2: not valid JSON"),
        (b"a\0b", "standard input: has NUL bytes"),
    ],
)
def test_unusable_standard_input_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, names: list[str], content: bytes, message: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(InvalidInputError) as error:
        read_files(names, "auto")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("naïve".encode("latin-1"), "not UTF-8 text (byte 0xef at 2)"),
        ("text".encode("utf-16"), "not UTF-8 text (byte 0xff at 0)"),
        (b"\xef\xbb\xbfab\xff", "not UTF-8 text (byte 0xff at 5)"),
        (b"\x7fELF\x02\x01\x00\x00", "binary file"),
        (b" \n\t\n", "There is no text in the input"),
    ],
)
def test_a_file_without_text_is_refused(folder: Path, content: bytes, message: str) -> None:
    write(folder / "file.txt", content)
    with pytest.raises(InvalidInputError) as error:
        read_files(["file.txt"], "auto")
    assert message in str(error.value)


def test_a_batch_is_read_line_by_line() -> None:
    lines = """\
{"query": "Who?", "documents": ["One.", {"text": "Two.", "title": "T"}]}

{
"text"
{"query": 3, "documents": [], "id": 9}
{"query": "a", "documents": "b"}
{"query": "a", "documents": ["b", 3]}
{"documents": [], "id": 9, "answers": {"text": ["x"]}}
"""
    file = io.BytesIO(lines.encode())
    file.name = "batch.jsonl"
    first, *bad, last = read_requests(file)
    assert first == Request(1, None, "Who?", (Document("One."), Document("Two.", "T")))
    assert last == Request(8, 9, None, (), {"text": ["x"]})
    assert [request.line for request in bad] == [3, 4, 5, 6, 7]
    assert [request.id for request in bad] == [None, None, 9, None, None]
    expected = [
        "line 3: not valid JSON",
        "line 4: expected a JSON object",
        'line 5: expected {"query": string',
        'line 6: expected {"query": string',
        "line 7, document 2: is an int",
    ]
    errors = [str(request.error).removeprefix("batch.jsonl, ") for request in bad]
    assert [error[: len(text)] for error, text in zip(errors, expected, strict=True)] == expected


def test_demo_documents_have_titles_and_ids() -> None:
    documents = demo_documents()
    assert len({document.id for document in documents}) == len(documents) == 12
    assert all(document.title and len(document.text.split()) > 50 for document in documents)
    # Most of them answer nothing, so that the demo shows a selection and not a copy.
    assert sum("20:40" in document.text for document in documents) == 1
