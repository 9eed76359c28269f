"""How the command reads documents and requests, and what it refuses."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tersely.cli.documents import Request, demo_documents, read_documents, read_requests
from tersely.errors import InvalidInputError
from tersely.types import Document


@pytest.fixture
def write_stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a text the standard input."""

    def write(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))

    return write


def test_a_text_file_is_one_document_with_every_character_kept(tmp_path: Path) -> None:
    text = "\r\nFirst line.\r\n\tSecond — naïve — line.\n\n中文。 "
    path = tmp_path / "note.md"
    path.write_bytes(text.encode())
    assert read_documents([str(path)], "auto") == [Document(text, id=str(path))]


def test_a_byte_order_mark_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(b"\xef\xbb\xbfHello.")
    assert read_documents([str(path)], "auto")[0].text == "Hello."


def test_files_are_read_in_order_and_a_suffix_names_json_lines(tmp_path: Path) -> None:
    json_lines, text = tmp_path / "docs.jsonl", tmp_path / "note.txt"
    rows = [
        {"text": "One.", "title": "First", "id": "a"},
        {"text": "Two.", "id": 7, "metadata": {"page": 3}, "source": "web"},
    ]
    json_lines.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    text.write_text("Three.", encoding="utf-8")
    assert read_documents([str(text), str(json_lines)], "auto") == [
        Document("Three.", id=str(text)),
        Document("One.", "First", "a"),
        Document("Two.", None, "7", {"page": 3, "source": "web"}),
    ]


def test_the_format_text_overrides_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"text": "One."}\n', encoding="utf-8")
    assert read_documents([str(path)], "text") == [Document('{"text": "One."}\n', id=str(path))]


def test_the_format_jsonl_overrides_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "docs.txt"
    path.write_text('{"text": "One."}\n', encoding="utf-8")
    assert read_documents([str(path)], "jsonl") == [Document("One.")]


def test_standard_input_is_text_unless_it_starts_with_a_document(write_stdin: Callable[[str], None]) -> None:
    write_stdin('{"level": "info"}\n{"level": "warn"}\n')
    assert read_documents([], "auto") == [Document('{"level": "info"}\n{"level": "warn"}\n')]


def test_standard_input_may_be_text_that_looks_like_deep_json(write_stdin: Callable[[str], None]) -> None:
    write_stdin("[" * 200_000)
    assert len(read_documents([], "auto")[0].text) == 200_000


def test_standard_input_may_be_json_lines(write_stdin: Callable[[str], None]) -> None:
    write_stdin('\n{"text": "One."}\r\n"Two."\n')
    assert read_documents(["-"], "auto") == [Document("One."), Document("Two.")]


def test_line_separators_inside_json_strings_do_not_end_a_line(write_stdin: Callable[[str], None]) -> None:
    write_stdin('{"text": "a\u2028b\x85c"}\n')
    assert read_documents([], "auto") == [Document("a\u2028b\x85c")]


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
        ('{"text": "a", "id": true}', "line 2: has a id that is True"),
        ('{"text": "a", "metadata": "b"}', "metadata"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text(f'{{"text": "good"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(InvalidInputError) as error:
        read_documents([str(path)], "auto")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("naïve".encode("latin-1"), "not UTF-8 text (byte 0xef at 2)"),
        ("text".encode("utf-16"), "not UTF-8 text (byte 0xff at 0)"),
        (b"\x7fELF\x02\x01\x00\x00", "binary file"),
        (b" \n\t\n", "There is no text in the input"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError) as error:
        read_documents([str(path)], "auto")
    assert message in str(error.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"absent\.txt: cannot be read"):
        read_documents([str(tmp_path / "absent.txt")], "auto")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_documents([str(tmp_path)], "auto")


def test_standard_input_cannot_be_given_twice() -> None:
    with pytest.raises(InvalidInputError, match="only once"):
        read_documents(["-", "-"], "auto")


def test_requests_carry_their_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    rows = [
        {"query": "Who?", "documents": ["One.", {"text": "Two.", "title": "T"}]},
        {"query": "Why?", "documents": [], "id": 9},
    ]
    path.write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert list(read_requests(str(path))) == [
        Request(1, "Who?", (Document("One."), Document("Two.", "T")), None),
        Request(3, "Why?", (), 9),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not valid JSON"),
        ('"text"', "line 2: expected a JSON object"),
        ('{"query": 3, "documents": []}', 'line 2: expected {"query": string'),
        ('{"query": "a", "documents": "b"}', 'line 2: expected {"query": string'),
        ('{"query": "a", "documents": ["b", 3]}', "line 2, document 2: is an int"),
    ],
)
def test_a_bad_request_is_refused_after_the_good_ones_were_given(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text(f'{{"query": "a", "documents": ["b"]}}\n{line}\n', encoding="utf-8")
    requests = read_requests(str(path))
    assert next(requests).query == "a"
    with pytest.raises(InvalidInputError) as error:
        next(requests)
    assert message in str(error.value)


def test_demo_documents_have_titles_and_ids() -> None:
    documents = demo_documents()
    assert len(documents) == 12
    assert len({document.id for document in documents}) == 12
    assert all(document.title and len(document.text.split()) > 50 for document in documents)


@pytest.mark.parametrize("answers", [[1912], "", {"text": ["x"], "answer_start": [3]}, None])
def test_a_request_passes_its_answers_on_unchecked(tmp_path: Path, answers: object) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps({"query": "q", "documents": ["a"], "answers": answers}) + "\n")
    (request,) = read_requests(str(path))
    assert request.answers == answers
